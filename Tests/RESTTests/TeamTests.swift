import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

private let teams = "/api/v1/admin/teams"

@Suite struct TeamTests {
  @Test func `administrators create, change and delete teams, and operators read them`()
    async throws
  {
    let world = try await World()
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", teams, as: admin,
      json: #"""
        {"name":"Billing","assign":"round_robin","capacity":2,"overflow_after_minutes":0,
         "languages":["de","pt-BR"],"hours":{"time_zone":"Europe/Berlin","always":false,
         "days":[{"day":1,"from":"09:00","to":"24:00"}]}}
        """#)
    #expect(made.status == 201, "\(made.body)")
    let id = try #require(made.string("team.id"))
    #expect(made.string("team.hours.time_zone") == "Europe/Berlin")
    #expect(made.objects("team.members").isEmpty)
    for (method, path, body) in [
      ("POST", teams, #"{"name":"x"}"#), ("PATCH", "\(teams)/\(id)", "{}"),
      ("PUT", "\(teams)/\(id)/members", #"{"members":[]}"#), ("DELETE", "\(teams)/\(id)", nil),
    ] as [(String, String, String?)] {
      #expect(try await world.call(method, path, json: body).status == 403, "\(method)")
    }
    let joined = try await world.call(
      "PUT", "\(teams)/\(id)/members", as: admin,
      json: #"{"members":["\#(world.mika.id)","\#(world.mika.id)"]}"#)
    #expect(joined.objects("team.members").map { $0["name"] as? String } == ["Mika"])
    // Null is the workspace's value; what is missing stays.
    let changed = try await world.call(
      "PATCH", "\(teams)/\(id)", as: admin,
      json: #"{"assign":null,"hours":null,"languages":[],"name":"Invoices"}"#)
    #expect(changed.status == 200, "\(changed.body)")
    let listed = try await world.call("GET", teams).objects("teams")
    #expect(listed.count == 1)
    let team = try #require(listed.first)
    #expect(team["name"] as? String == "Invoices" && team["capacity"] as? Int == 2)
    #expect(team["assign"] is NSNull && team["hours"] is NSNull)
    #expect(team["overflow_after_minutes"] as? Int == 0 && team["waiting"] as? Int == 0)

    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)"
    let given = try await world.call("POST", path + "/transfer", json: #"{"to_team":"\#(id)"}"#)
    #expect(given.string("conversation.team.name") == "Invoices")
    #expect(try await world.call("GET", "\(conversations)?team=\(id)").int("total") == 1)
    #expect(try await world.call("GET", "\(conversations)?team=none").int("total") == 0)
    for status in ["waiting", "open", "closed", "all"] {
      let page = try await world.call("GET", "\(conversations)?team=\(id)&status=\(status)")
      #expect(page.objects("conversations").count == (status == "closed" ? 0 : 1))
    }
    #expect(try await world.call("DELETE", "\(teams)/\(id)", as: admin).status == 204)
    #expect(try await world.call("DELETE", "\(teams)/\(id)", as: admin).status == 404)
    #expect(try await world.call("GET", "\(conversations)?team=none").int("total") == 1)
    #expect(world.sessions.hints.withLock { $0.last } == session)
    let owner = try await world.member(.owner)
    let audit = try await world.call("GET", "/api/v1/admin/audit-log", as: owner)
      .objects("audit_log").compactMap { $0["action"] as? String }
    #expect(
      audit.filter { $0.hasPrefix("team.") }
        == ["team.deleted", "team.changed", "team.members_changed", "team.added"])
  }

  @Test(arguments: [
    (#"{}"#, "name"), (#"{"name":""}"#, "name"), (#"{"name":" x"}"#, "name"),
    (#"{"name":"x","assign":"all"}"#, "assign"), (#"{"name":"x","capacity":0}"#, "capacity"),
    (#"{"name":"x","overflow_after_minutes":10081}"#, "overflow_after_minutes"),
    (#"{"name":"x","languages":["d e"]}"#, "languages"),
    (#"{"name":"x","hours":{"days":[{"day":8,"from":"09:00","to":"17:00"}]}}"#, "hours"),
    (#"{"name":"x","hours":{"time_zone":"Europe/Nowhere"}}"#, "hours/time_zone"),
  ])
  func `a wrong member is refused with its name`(body: String, pointer: String) async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let answer = try await world.call("POST", teams, as: admin, json: body)
    #expect(answer.status == 400)
    #expect(answer.string("pointer") == "/" + pointer, "\(answer.body)")
  }

  @Test func `names are unique, and members and their number are checked`() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    func add(_ name: String) async throws -> Answer {
      try await world.call("POST", teams, as: admin, json: #"{"name":"\#(name)"}"#)
    }
    let first = try #require(try await add("0").string("team.id"))
    #expect(try await add("0").status == 409)
    for number in 1..<Teams.countMax { #expect(try await add("\(number)").status == 201) }
    let full = try await add("one more")
    #expect(full.status == 409 && full.problem == "too_many")
    let renamed = try await world.call(
      "PATCH", "\(teams)/\(first)", as: admin, json: #"{"name":"1"}"#)
    #expect(renamed.status == 409)
    let other = try await World()
    let foreign = try await world.call(
      "PUT", "\(teams)/\(first)/members", as: admin,
      json: #"{"members":["\#(world.mika.id)","\#(other.mika.id)"]}"#)
    #expect(foreign.status == 422 && foreign.problem == "no_such_member")
    let crowd = (0...Teams.membersMax).map { _ in #""\#(World.identifier())""# }
    let many = try await world.call(
      "PUT", "\(teams)/\(first)/members", as: admin,
      json: #"{"members":[\#(crowd.joined(separator: ","))]}"#)
    #expect(many.status == 400 && many.string("pointer") == "/members")
    let page = try await world.call("GET", "\(teams)?limit=30")
    let cursor = try #require(page.string("next_cursor"))
    let rest = try await world.call("GET", "\(teams)?limit=30&cursor=\(cursor)")
    #expect(rest.objects("teams").count == 20)
    #expect(page.objects("teams").allSatisfy { ($0["members"] as? [Any])?.isEmpty == true })
  }

  @Test func `a transfer names an operator or a team`() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)/transfer"
    let both = try await world.call(
      "POST", path, json: #"{"to":"\#(world.mika.id)","to_team":null}"#)
    #expect(both.status == 400 && both.string("pointer") == "/to_team")
    let unknown = try await world.call(
      "POST", path, json: #"{"to_team":"\#(World.identifier())"}"#)
    #expect(unknown.status == 422 && unknown.problem == "no_such_team")
    #expect(try await world.call("GET", "\(conversations)?team=x").status == 400)
  }

  @Test func `a page or a visitor chooses the team before the first message only`() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let made = try await world.call("POST", teams, as: admin, json: #"{"name":"Billing"}"#)
    let id = try #require(made.string("team.id"))
    func begin(_ team: String) async throws -> Identifier {
      let answer = await world.send(
        "POST", "/api/v1/widget/token", [("Content-Type", "application/json")],
        #"{"workspace":"\#(world.workspace.publicKey)","team":"\#(team)"}"#)
      return try #require(answer.string("session").flatMap { Identifier($0) }, "\(answer.body)")
    }
    func team(of session: Identifier) async throws -> Identifier? {
      try await world.place.read(session).team
    }
    for name in ["Billing", id] {
      #expect(try await team(of: try await begin(name)) == Identifier(id))
    }
    let session = try await begin("Gone")
    #expect(try await team(of: session) == nil, "an unknown team is ignored")
    func choose(_ team: String) async throws -> Int {
      await world.send(
        "PUT", "/api/v1/widget/profile",
        [
          ("Authorization", try await world.visitorBearer(session)),
          ("Content-Type", "application/json"),
        ], #"{"team":"\#(team)"}"#
      ).status
    }
    #expect(try await choose("Billing") == 200)
    #expect(try await team(of: session) == Identifier(id))
    let other = try await world.call("POST", teams, as: admin, json: #"{"name":"Sales"}"#)
    #expect(other.status == 201)
    await world.place.say("hello", in: session)
    #expect(try await choose("Sales") == 200)
    #expect(try await team(of: session) == Identifier(id), "the conversation has begun")
    let foreign = try await World()
    let stranger = await foreign.send(
      "POST", "/api/v1/widget/token", [("Content-Type", "application/json")],
      #"{"workspace":"\#(foreign.workspace.publicKey)","team":"\#(id)"}"#)
    let theirs = try #require(stranger.string("session").flatMap { Identifier($0) })
    #expect(try await foreign.place.read(theirs).team == nil)
  }

  @Test func `a question about the team has the names of the teams as its choices`() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let field = #"{"key":"team","label":"Department","type":"team","required":true}"#
    let saved = try await world.call(
      "PATCH", "/api/v1/admin/settings", as: admin,
      json: #"{"settings":{"prechat":{"enabled":true,"fields":[\#(field)]}}}"#)
    #expect(saved.status == 200, "\(saved.body)")
    func fields() async throws -> [[String: Any]] {
      let config = await world.send(
        "GET", "/api/v1/widget/config?workspace=\(world.workspace.publicKey)")
      return config.objects("prechat.fields")
    }
    #expect(try await fields().isEmpty, "there is no team to choose")
    for name in ["Sales", "Billing"] {
      _ = try await world.call("POST", teams, as: admin, json: #"{"name":"\#(name)"}"#)
    }
    let shown = try #require(try await fields().first)
    #expect(shown["type"] as? String == "select" && shown["label"] as? String == "Department")
    #expect(shown["options"] as? [String] == ["Billing", "Sales"])
  }

  @Test func `the first rule of the workspace that matches gives a new conversation its team`()
    async throws
  {
    let world = try await World()
    let admin = try await world.member(.admin)
    for name in ["Billing", "Deutsch"] {
      _ = try await world.call("POST", teams, as: admin, json: #"{"name":"\#(name)"}"#)
    }
    let rules = #"""
      [{"page":"/billing","team":"Billing"},{"language":"de","page":"","team":"Deutsch"}]
      """#
    let saved = try await world.call(
      "PATCH", "/api/v1/admin/settings", as: admin,
      json: #"{"settings":{"routing":{"rules":\#(rules)}}}"#)
    #expect(saved.status == 200, "\(saved.body)")
    for (page, locale, choice, team) in [
      ("https://example.com/billing/2026", "de", "", "Billing"),
      ("https://example.com/billing", "en", #","team":"Deutsch""#, "Deutsch"),
      ("https://example.com/", "de-AT", "", "Deutsch"), ("https://example.com", "den", "", ""),
      ("https://example.com/shop?x=/billing", "en-GB", "", ""),
    ] {
      let answer = await world.send(
        "POST", "/api/v1/widget/token", [("Content-Type", "application/json")],
        #"""
        {"workspace":"\#(world.workspace.publicKey)"\#(choice),
         "context":{"page":"\#(page)","locale":"\#(locale)"}}
        """#)
      let session = try #require(answer.string("session").flatMap { Identifier($0) })
      #expect(try await world.place.read(session).teamName == team, "\(page) \(locale)")
    }
    for rule in [#"{"page":"x","team":"a"}"#, #"{"page":"/x"}"#, #"{"language":"d e","team":"a"}"#]
    {
      let refused = try await world.call(
        "PATCH", "/api/v1/admin/settings", as: admin,
        json: #"{"settings":{"routing":{"rules":[\#(rule)]}}}"#)
      #expect(refused.status == 400 && refused.body.contains("rules[0]"), "\(refused.body)")
    }
  }

  @Test func `a rule by language chooses among the teams by the languages that they speak`()
    async throws
  {
    let world = try await World()
    let admin = try await world.member(.admin)
    for (name, languages) in [
      ("Alps", #""de-AT","de-CH""#), ("Deutsch", #""de""#), ("Everybody", ""),
      ("Germany", #""de""#), ("Iberia", #""pt-BR","ES""#),
    ] {
      let made = try await world.call(
        "POST", teams, as: admin, json: #"{"name":"\#(name)","languages":[\#(languages)]}"#)
      #expect(made.status == 201, "\(made.body)")
    }
    let rules = #"[{"page":"/shop","team":"*"},{"page":"/shop/sale","team":"Everybody"}]"#
    let saved = try await world.call(
      "PATCH", "/api/v1/admin/settings", as: admin,
      json: #"{"settings":{"routing":{"rules":\#(rules)}}}"#)
    #expect(saved.status == 200, "\(saved.body)")
    func team(_ page: String, _ locale: String) async throws -> String {
      let answer = await world.send(
        "POST", "/api/v1/widget/token", [("Content-Type", "application/json")],
        #"""
        {"workspace":"\#(world.workspace.publicKey)",
         "context":{"page":"https://example.com\#(page)","locale":"\#(locale)"}}
        """#)
      let session = try #require(answer.string("session").flatMap { Identifier($0) })
      return try await world.place.read(session).teamName
    }
    for (locale, name) in [
      ("de-at", "Alps"), ("de-CH-1996", "Alps"), ("de-DE", "Deutsch"), ("de", "Deutsch"),
      ("es-MX", "Iberia"), ("pt-BR", "Iberia"), ("pt-PT", ""), ("den", ""), ("d", ""), ("", ""),
      ("%", ""),
    ] {
      #expect(try await team("/shop", locale) == name, "\(locale)")
    }
    #expect(try await team("/about", "de") == "", "no rule is for this page")
    #expect(try await team("/shop/sale", "de") == "Deutsch")
    #expect(try await team("/shop/sale", "fr") == "Everybody", "the next rule counts")
    // Of two that speak it, the one with an available member comes first.
    let germany = try #require(
      try await world.call("GET", teams, as: admin).objects("teams")
        .first { $0["name"] as? String == "Germany" }?["id"] as? String)
    _ = try await world.call(
      "PUT", "\(teams)/\(germany)/members", as: admin,
      json: #"{"members":["\#(world.mika.id)"]}"#)
    try await world.place.present([world.mika])
    #expect(try await team("/shop", "de-DE") == "Germany")
    #expect(try await team("/shop", "de-AT") == "Alps", "the exact language comes first")
  }
}
