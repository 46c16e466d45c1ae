import Chat
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

@Suite("Who is on the site") struct WatchTests {
  static let secret = "q8Zt1vXcq8Zt1vXcq8Zt1v"
  static let visitors = "/api/v1/admin/live-chat/visitors"
  static let proactive = "/api/v1/admin/proactive-messages"

  func world(origins: [String]? = nil) async throws -> World {
    let world = try await World(origins: origins)
    try await world.place.set("watching", #"{"enabled":true}"#)
    return world
  }

  func beacon(
    _ world: World, _ members: String, secret: String = secret,
    headers: [(String, String)] = [], key: String? = nil
  ) async -> Answer {
    await world.send(
      "POST", "/api/v1/widget/visit", headers,
      #"{"workspace":"\#(key ?? world.workspace.publicKey)","secret":"\#(secret)",\#(members)}"#)
  }

  /// Stores what a gateway would, in the name of one that runs. It never renews its row, so that is
  /// of tomorrow.
  func exchange(_ world: World) async throws {
    let gateway = World.identifier()
    _ = try await world.database.run(
      Query(
        "INSERT INTO gateways (id, seen_at) VALUES ($1::uuid, now() + interval '1 day')",
        [.uuid(gateway)]))
    await world.api.watched.exchange(as: gateway, now: World.now)
  }

  static let visit = #"""
    "tab":"a","visit":{"age":60,"visits":2,"pages":2,"referrer":"https://search.example/",
    "campaign":"spring","trail":[{"page":"https://shop.example/","title":"Shop","age":60},
    {"page":"https://shop.example/hose","title":"Hose","age":5}]}
    """#

  @Test("operators see the page, the trail, the source and the country of a visitor")
  func list() async throws {
    let world = try await world()
    let answer = await beacon(
      world, Self.visit, headers: [("Accept-Language", "de-CH,en;q=0.5")])
    #expect(answer.status == 200 && answer.int("next_seconds") == 10)
    #expect(answer["needs_visit"] == nil)
    try await exchange(world)
    let list = try await world.call("GET", Self.visitors)
    #expect(list.int("total") == 1 && list["enabled"] as? Bool == true)
    let one = try #require(list.objects("visitors").first)
    #expect(one["page"] as? String == "https://shop.example/hose")
    #expect(one["country"] as? String == "CH" && one["visits"] as? Int == 2)
    #expect(one["campaign"] as? String == "spring" && one["state"] as? String == "here")
    let id = try #require(one["id"] as? String)
    let shown = try await world.call("GET", "\(Self.visitors)/\(id)")
    #expect(shown.objects("visitor.trail").map { $0["title"] as? String } == ["Shop", "Hose"])
    #expect(try await world.call("GET", "\(Self.visitors)?q=HOSE").int("total") == 1)
    #expect(try await world.call("GET", "\(Self.visitors)?q=pads").int("total") == 0)
    let other = try await World()
    #expect(try await other.call("GET", "\(Self.visitors)/\(id)").status == 404)
    #expect(await world.send("GET", Self.visitors).status == 401)
  }

  @Test("a beacon that is wrong gets its answer and leaves nothing behind")
  func refused() async throws {
    let world = try await world(origins: ["https://shop.example"])
    let home = [("Origin", "https://shop.example")]
    #expect(await beacon(world, #""tab":"a""#, headers: home, key: "pk_no").status == 404)
    let foreign = [("Origin", "https://evil.example")]
    #expect(await beacon(world, #""tab":"a""#, headers: foreign).problem == "origin")
    #expect(await beacon(world, #""tab":"a""#).problem == "origin")
    #expect(await beacon(world, #""tab":"""#, headers: home).status == 400)
    #expect(await beacon(world, #""tab":"a""#, secret: "short", headers: home).status == 400)
    #expect(await beacon(world, #""tab":"a","state":"up""#, headers: home).status == 400)
    #expect(await beacon(world, #""tab":"a","visit":{}"#, headers: home).status == 400)
    #expect(await beacon(world, #""tab":"a","visit":[]"#, headers: home).status == 400)
    #expect(await beacon(world, #""tab":"a","show":"x""#, headers: home).status == 400)
    let steps = Array(repeating: "{}", count: 21).joined(separator: ",")
    let long = #""tab":"a","visit":{"trail":[\#(steps)]}"#
    #expect(await beacon(world, long, headers: home).status == 400)
    let large = #""tab":"a","x":"\#(String(repeating: "x", count: 8_192))""#
    #expect(await beacon(world, large, headers: home).status == 413)
    let nul = #""tab":"a","visit":{"trail":[{"page":"\u0000"}]}"#
    #expect(await beacon(world, nul, headers: home).status == 422)
    try await exchange(world)
    #expect(try await world.call("GET", Self.visitors).int("total") == 0)
  }

  @Test("a workspace that does not watch keeps nothing")
  func disabled() async throws {
    let world = try await World()
    let answer = await beacon(world, Self.visit)
    #expect(answer["enabled"] as? Bool == false && answer["next_seconds"] == nil)
    try await exchange(world)
    let list = try await world.call("GET", Self.visitors)
    #expect(list.int("total") == 0 && list["enabled"] as? Bool == false)
  }

  @Test("a browser that objects to tracking is not watched", arguments: ["Sec-GPC", "DNT"])
  func objection(header: String) async throws {
    let world = try await world()
    let answer = await beacon(world, Self.visit, headers: [(header, "1")])
    #expect(answer.status == 200 && answer["enabled"] as? Bool == false)
    try await exchange(world)
    #expect(try await world.call("GET", Self.visitors).int("total") == 0)
    #expect(await beacon(world, Self.visit, headers: [(header, "0")])["enabled"] as? Bool == true)
  }

  @Test("more beacons than a browser needs get 429 with the time to wait")
  func limited() async throws {
    let world = try await world()
    for _ in 0..<20 { #expect(await beacon(world, #""tab":"a""#).status == 200) }
    let answer = await beacon(world, #""tab":"a""#)
    #expect(answer.status == 429 && answer.string("limit") == "visitor")
    #expect(answer.header("Retry-After") != nil)
  }

  @Test("a conversation that an operator begins reaches a browser that never opened the chat")
  func start() async throws {
    let world = try await world()
    _ = await beacon(world, Self.visit)
    try await exchange(world)
    let id = try #require(
      try await world.call("GET", Self.visitors).objects("visitors").first?["id"] as? String)
    let begun = try await world.call(
      "POST", "\(Self.visitors)/\(id)/conversation", json: #"{"body":"Can I help?"}"#)
    #expect(begun.status == 201)
    let session = try #require(begun.string("conversation.id"))
    let next = await beacon(world, #""tab":"a""#)
    #expect(next.string("invitation.session") == session)
    #expect(next.string("invitation.body") == "Can I help?")
    let token = await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(world.workspace.publicKey)","refresh":"\#(Self.secret)"}"#)
    #expect(token.status == 200 && token.string("session") == session)
    #expect(token["fresh"] == nil)
    let one = try await world.call("GET", "\(Self.visitors)/\(id)")
    #expect(one.string("visitor.visitor_id") == token.string("visitor.id"))
    let gone = try await world.call(
      "POST", "\(Self.visitors)/\(World.identifier())/conversation", json: #"{"body":"Hi"}"#)
    #expect(gone.status == 404 && gone.problem == "visitor_has_left")
    let empty = try await world.call(
      "POST", "\(Self.visitors)/\(id)/conversation", json: "{}")
    #expect(empty.status == 400)
  }

  @Test("a token request with the browser's secret names the visitor in the list")
  func link() async throws {
    let world = try await world()
    _ = await beacon(world, Self.visit)
    let token = await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(world.workspace.publicKey)","watcher":"\#(Self.secret)"}"#)
    try await exchange(world)
    let one = try #require(
      try await world.call("GET", Self.visitors).objects("visitors").first)
    #expect(one["visitor_id"] as? String == token.string("visitor.id"))
  }

  @Test("proactive messages are added, sent to pages, changed and deleted")
  func messages() async throws {
    let world = try await world()
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", Self.proactive, as: admin,
      json: #"{"name":"Checkout","body":"A question?","is_enabled":true,"#
        + #""conditions":{"path":"/checkout*","seconds":30,"unknown":1}}"#)
    #expect(made.status == 201)
    let id = try #require(made.string("proactive_message.id"))
    #expect(made.string("proactive_message.conditions.path") == "/checkout*")
    #expect(made["proactive_message.conditions.once"] as? Bool == true)
    #expect(made["proactive_message.conditions.unknown"] == nil)
    let page = await beacon(world, #""tab":"a","page":true,"show":"\#(id)""#)
    #expect(page.objects("page.messages").map { $0["id"] as? String } == [id])
    #expect(page["may_show"] as? Bool == true)
    try await exchange(world)
    let list = try await world.call("GET", Self.proactive)
    #expect(list.objects("proactive_messages").first?["shown"] as? Int == 1)
    let changed = try await world.call(
      "PATCH", "\(Self.proactive)/\(id)", as: admin, json: #"{"is_enabled":false}"#)
    #expect(changed["proactive_message.is_enabled"] as? Bool == false)
    #expect(changed.string("proactive_message.body") == "A question?")
    #expect(try await world.call("DELETE", "\(Self.proactive)/\(id)", as: admin).status == 204)
    #expect(try await world.call("DELETE", "\(Self.proactive)/\(id)", as: admin).status == 404)
    let log = try await world.call("GET", "/api/v1/admin/audit-log?limit=3", as: admin)
    let entries = log.objects("audit_log")
    #expect(
      entries.map { $0["action"] as? String } == [
        "proactive_message.deleted", "proactive_message.changed", "proactive_message.added",
      ])
    let names = entries.map { ($0["details"] as? [String: Any])?["name"] as? String }
    #expect(names == ["Checkout", "Checkout", "Checkout"])
  }

  @Test(
    "a proactive message that is wrong is refused with its member",
    arguments: [
      (#"{"body":"x"}"#, "/name"), (#"{"name":"x"}"#, "/body"),
      (#"{"name":"x","body":""}"#, "/body"),
      (#"{"name":"x","body":"x","conditions":{"path":"checkout"}}"#, "/conditions/path"),
      (#"{"name":"x","body":"x","conditions":{"seconds":3601}}"#, "/conditions/seconds"),
      (
        #"{"name":"x","body":"x","conditions":{"scroll_percent":101}}"#,
        "/conditions/scroll_percent"
      ),
      (#"{"name":"x","body":"x","conditions":{"audience":"all"}}"#, "/conditions/audience"),
      (
        #"{"name":"x","body":"x","conditions":{"attributes":{"a":[]}}}"#,
        "/conditions/attributes/a"
      ),
    ])
  func wrongMessage(body: String, pointer: String) async throws {
    let world = try await world()
    let admin = try await world.member(.admin)
    let answer = try await world.call("POST", Self.proactive, as: admin, json: body)
    #expect(answer.status == 400 && answer.string("pointer") == pointer)
  }

  /// The id of an enabled message with these conditions.
  func message(_ world: World, _ conditions: String) async throws -> String {
    let made = try await world.call(
      "POST", Self.proactive, as: world.member(.admin),
      json: #"{"name":"Checkout","body":"A question?","is_enabled":true,"#
        + #""conditions":\#(conditions)}"#)
    return try #require(made.string("proactive_message.id"))
  }

  /// Whether the browser with this secret may show a message.
  func mayShow(_ world: World, _ id: String, secret: String = secret) async throws -> Bool {
    let answer = await beacon(world, #""tab":"a","show":"\#(id)""#, secret: secret)
    return try #require(answer["may_show"] as? Bool)
  }

  @Test("a message is shown once a visitor, whatever the browser has kept")
  func once() async throws {
    let world = try await world()
    let id = try await message(world, "{}")
    let (second, third) = ("second-browser-of-theirs", "a-browser-of-another-one")
    #expect(try await mayShow(world, id))
    #expect(try await !mayShow(world, id))
    // Another browser of the same visitor, who has logged in there.
    let key = world.workspace.publicKey
    let token = await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(key)","watcher":"\#(Self.secret)"}"#)
    let refresh = try #require(token.string("refresh"))
    let again = await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(key)","watcher":"\#(second)","refresh":"\#(refresh)"}"#)
    #expect(again.string("visitor.id") == token.string("visitor.id"))
    #expect(try await !mayShow(world, id, secret: second))
    #expect(try await mayShow(world, id, secret: third))
    let other = try await message(world, "{}")
    #expect(try await mayShow(world, other))
    try await exchange(world)
    let list = try await world.call("GET", Self.proactive)
    #expect(list.objects("proactive_messages").map { $0["shown"] as? Int } == [2, 1])
  }

  @Test("a message that need not be shown once is shown again; a disabled or unknown one is not")
  func again() async throws {
    let world = try await world()
    let id = try await message(world, #"{"once":false}"#)
    #expect(try await mayShow(world, id))
    #expect(try await mayShow(world, id))
    let changed = try await world.call(
      "PATCH", "\(Self.proactive)/\(id)", as: world.member(.admin), json: #"{"is_enabled":false}"#)
    #expect(changed.status == 200)
    #expect(try await !mayShow(world, id))
    #expect(try await !mayShow(world, "\(World.identifier())"))
    let other = try await self.world()
    #expect(try await !mayShow(other, id))
  }

  @Test("a showing is forgotten after a year, with a browser of which nothing else is known")
  func forgotten() async throws {
    let world = try await world()
    let id = try await message(world, "{}")
    #expect(try await mayShow(world, id))
    try world.database.asOwner(
      Query(
        """
        UPDATE proactive_showings SET shown_at = now() - interval '366 days'
        WHERE workspace_id = $1::uuid
        """, [.uuid(world.workspace.id)]))
    try await world.database.run(ProactiveMessages.prune)
    let rows = try await world.database.run(
      Query(
        "SELECT count(*) FROM watchers WHERE workspace_id = $1::uuid",
        [.uuid(world.workspace.id)]))
    #expect(rows.int(0, 0) == 0)
    #expect(try await mayShow(world, id))
  }

  @Test("the twenty-first proactive message is refused")
  func tooMany() async throws {
    let world = try await world()
    let admin = try await world.member(.admin)
    for number in 1...20 {
      let made = try await world.call(
        "POST", Self.proactive, as: admin, json: #"{"name":"\#(number)","body":"x"}"#)
      #expect(made.status == 201)
    }
    let answer = try await world.call(
      "POST", Self.proactive, as: admin, json: #"{"name":"21","body":"x"}"#)
    #expect(answer.status == 409 && answer.problem == "too_many")
  }

  @Test("a conversation that replies to a proactive message begins with it, once")
  func reply() async throws {
    let world = try await world()
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", Self.proactive, as: admin,
      json: #"{"name":"Checkout","body":"A question?","is_enabled":true}"#)
    let id = try #require(made.string("proactive_message.id"))
    let token = await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(world.workspace.publicKey)","proactive":"\#(id)"}"#)
    #expect(token.status == 200)
    let appended = world.sessions.appended.withLock { $0 }
    #expect(appended.map { String(decoding: $0.body, as: UTF8.self) } == ["A question?"])
    let session = try #require(token.string("session"))
    let messages = try await world.call("GET", "\(conversations)/\(session)/messages")
    #expect(messages.objects("messages").map { $0["body"] as? String } == ["A question?"])
    try await exchange(world)
    let list = try await world.call("GET", Self.proactive)
    #expect(list.objects("proactive_messages").first?["answered"] as? Int == 1)
  }
}
