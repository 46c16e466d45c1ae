import Automation
import Directory
import DomainFixtures
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

private let admin = "/api/v1/admin"

@Suite struct IntentTests {
  @Test("an intent is added once, changed in part, listed in order and deleted")
  func life() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    func put(_ name: String, _ json: String) async throws -> Answer {
      try await world.call("PUT", "\(admin)/intents/\(name)", as: owner, json: json)
    }
    for (name, position) in [("late", 2), ("early", 1)] {
      let json = #"{"name":"\#(name)","keyword":"k","position":\#(position)}"#
      let made = try await world.call("POST", "\(admin)/intents", as: owner, json: json)
      #expect(made.status == 201 && made.string("intent.match_kind") == "contains")
      let twin = try await world.call("POST", "\(admin)/intents", as: owner, json: json)
      #expect(twin.status == 409)
    }
    let changed = try await put("late", #"{"replies":[{"text":"Hi"}],"is_enabled":false}"#)
    #expect(changed.string("intent.keyword") == "k" && changed.int("intent.position") == 2)
    #expect(changed["intent.is_enabled"] as? Bool == false)
    let list = try await world.call("GET", "\(admin)/intents")
    #expect(list.objects("intents").map { $0["name"] as? String } == ["early", "late"])
    #expect(try await put("nobody", #"{"keyword":"k"}"#).status == 404)
    for status in [204, 404] {
      let gone = try await world.call("DELETE", "\(admin)/intents/late", as: owner)
      #expect(gone.status == status)
    }
    #expect(
      try await world.audit() == [
        "intent.added", "intent.added", "intent.changed", "intent.deleted",
      ])
  }

  @Test(
    "an invalid intent is refused",
    arguments: [
      "{}", #"{"name":"a"}"#, #"{"keyword":"a"}"#, #"{"name":"","keyword":"a"}"#,
      #"{"name":"a/b","keyword":"a"}"#, #"{"name":"a\\b","keyword":"a"}"#,
      #"{"name":"..","keyword":"a"}"#, #"{"name":"a\u007f","keyword":"a"}"#,
      #"{"name":"a","keyword":""}"#, #"{"name":"a","keyword":7}"#,
      #"{"name":"a","keyword":"(","match_kind":"regex"}"#,
      #"{"name":"a","keyword":"a","match_kind":"poem"}"#,
      #"{"name":"a","keyword":"a","position":-1}"#, #"{"name":"a","keyword":"a","position":1.5}"#,
      #"{"name":"a","keyword":"a","replies":{}}"#, #"{"name":"a","keyword":"a","replies":[7]}"#,
      #"{"name":"a","keyword":"a","replies":[{}]}"#,
      #"{"name":"a","keyword":"a","replies":[{"handover":false}]}"#,
      #"{"name":"a","keyword":"a","replies":[{"text":"x","object":"y"}]}"#,
    ])
  func wrong(body: String) async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let answer = try await world.call("POST", "\(admin)/intents", as: owner, json: body)
    #expect(answer.status == 400, "\(answer.body)")
    #expect(try await world.audit().isEmpty)
  }

  @Test("a pattern over its budget is refused with 422, alone and together with others")
  func budgets() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    func add(_ name: String, _ keyword: String) async throws -> Int {
      let json = #"{"name":"\#(name)","keyword":"\#(keyword)","match_kind":"regex"}"#
      let answer = try await world.call("POST", "\(admin)/intents", as: owner, json: json)
      if answer.status != 201 {
        #expect(answer["type"] as? String == "urn:chirrup:problem:pattern_too_large")
      }
      return answer.status
    }
    #expect(try await add("evil", "(((((){200}){200}){200}){200}){200}") == 422)
    for number in 0..<25 { #expect(try await add("i\(number)", "(a{111}){9}") == 201) }
    #expect(try await add("last", "(a{111}){9}") == 422)
    let json = #"{"keyword":"(a{111}){9}b"}"#
    let answer = try await world.call("PUT", "\(admin)/intents/i3", as: owner, json: json)
    #expect(answer.status == 422)
    // It may replace itself.
    let same = #"{"keyword":"(b{111}){9}"}"#
    let changed = try await world.call("PUT", "\(admin)/intents/i3", as: owner, json: same)
    #expect(changed.status == 200)
  }

  @Test("a change to the kind regex checks the stored keyword")
  func combined() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    for (name, keyword, kind) in [("pattern", "a+", "regex"), ("text", "(", "contains")] {
      let json = #"{"name":"\#(name)","keyword":"\#(keyword)","match_kind":"\#(kind)"}"#
      let made = try await world.call("POST", "\(admin)/intents", as: owner, json: json)
      #expect(made.status == 201)
    }
    for (name, json, status) in [
      ("pattern", #"{"keyword":"("}"#, 400), ("text", #"{"match_kind":"regex"}"#, 400),
      ("pattern", #"{"keyword":"(","match_kind":"exact"}"#, 200),
      ("text", #"{"keyword":"b?","match_kind":"regex"}"#, 200), ("text", "{}", 200),
    ] {
      let answer = try await world.call("PUT", "\(admin)/intents/\(name)", as: owner, json: json)
      #expect(answer.status == status, "\(name) \(json)")
    }
  }

  @Test("intents, menus and credentials are limited; existing ones can still be changed")
  func limits() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    _ = try await world.database.run(
      Query(
        """
        WITH i AS (INSERT INTO intents (workspace_id, name, keyword)
            SELECT $1::uuid, 'i' || n, 'k' FROM generate_series(1, $2::bigint) n),
          m AS (INSERT INTO rich_menus (workspace_id, id, name)
            SELECT $1::uuid, gen_random_uuid(), 'm' FROM generate_series(1, $3::bigint))
        INSERT INTO credentials (workspace_id, provider, name, key_id, ciphertext)
        SELECT $1::uuid, 'c' || n, 'default', 'x', decode(repeat('00', 40), 'hex')
        FROM generate_series(1, $4::bigint) n
        """,
        [
          .uuid(world.workspace.id), .int(Intents.countMax), .int(RichMenus.countMax),
          .int(Credentials.countMax),
        ]))
    for (method, path, json, status) in [
      ("POST", "intents", #"{"name":"new","keyword":"k"}"#, 409),
      ("PUT", "intents/i1", #"{"keyword":"other"}"#, 200),
      ("POST", "rich-menus", #"{"name":"new"}"#, 409),
      ("PUT", "credentials/new", #"{"secret":"s"}"#, 409),
      ("PUT", "credentials/c1", #"{"secret":"s"}"#, 200),
    ] {
      let answer = try await world.call(method, "\(admin)/\(path)", as: owner, json: json)
      #expect(answer.status == status, "\(path): \(answer.body)")
    }
  }
}

@Suite struct MenuTests {
  @Test("one menu is published at a time; the audit log records each change")
  func published() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let path = "\(admin)/rich-menus"
    var ids: [String] = []
    for status in ["draft", "published", "published"] {
      let json =
        #"{"name":"M","status":"\#(status)","actions":[{"label":"A","type":"operator"}]}"#
      let made = try await world.call("POST", path, as: owner, json: json)
      ids.append(try #require(made.string("rich_menu.id")))
    }
    func states() async throws -> [String] {
      try await world.call("GET", path).objects("rich_menus").compactMap { $0["status"] as? String }
    }
    #expect(try await states().sorted() == ["draft", "inactive", "published"])
    let changed = try await world.call(
      "PATCH", "\(path)/\(ids[0])", as: owner, json: #"{"status":"published","name":"N"}"#)
    #expect(changed.string("rich_menu.name") == "N")
    #expect(changed.objects("rich_menu.actions").count == 1)
    #expect(try await states().sorted() == ["inactive", "inactive", "published"])
    for status in [204, 404] {
      #expect(
        try await world.call("DELETE", "\(path)/\(ids[0])", as: owner).status == status)
    }
    #expect(
      try await world.audit() == [
        "rich_menu.added", "rich_menu.added", "rich_menu.added", "rich_menu.changed",
        "rich_menu.deleted",
      ])
  }

  @Test(
    "an invalid action of a menu is refused",
    arguments: [
      "{}", #"{"name":""}"#, #"{"name":"M","status":"sent"}"#, #"{"name":"M","actions":{}}"#,
      #"{"name":"M","actions":[7]}"#, #"{"name":"M","actions":[{"label":"A"}]}"#,
      #"{"name":"M","actions":[{"type":"operator"}]}"#,
      #"{"name":"M","actions":[{"label":"A","type":"poem"}]}"#,
      #"{"name":"M","actions":[{"label":"A","type":"message"}]}"#,
      #"{"name":"M","actions":[{"label":"A","type":"url","value":"javascript:alert(1)"}]}"#,
      #"{"name":"M","actions":[{"label":"A","type":"url","value":"https://a b"}]}"#,
      #"{"name":"M","actions":["#
        + Array(repeating: #"{"label":"A","type":"operator"}"#, count: 13).joined(separator: ",")
        + "]}",
    ])
  func wrong(body: String) async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let answer = try await world.call("POST", "\(admin)/rich-menus", as: owner, json: body)
    #expect(answer.status == 400, "\(answer.body)")
    #expect(try await world.audit().isEmpty)
  }
}

@Suite struct CredentialTests {
  @Test("a credential is written, replaced and deleted; its secret is encrypted and never returned")
  func life() async throws {
    var options = APIOptions()
    let reports = Reports()
    options.report = { reports.add($0) }
    let world = try await World(options)
    let owner = try await world.member(.owner)
    let secret = "secret-\(World.identifier())"
    var seen = ""
    for (method, path, json, status) in [
      ("PUT", "credentials/line", #"{"secret":"\#(secret)"}"#, 200),
      ("PUT", "credentials/line", #"{"secret":"\#(secret)2"}"#, 200),
      ("PUT", "credentials/line", #"{"secret":"\#(secret)","name":"second"}"#, 200),
      ("PUT", "credentials/line", #"{"secret":["\#(secret)"]}"#, 400),
      ("PUT", "credentials/Line", #"{"secret":"\#(secret)"}"#, 400),
      ("PUT", "credentials/line", #"{"secret":"\#(secret)","name":"a\u0007"}"#, 400),
      ("GET", "credentials", "", 200), ("DELETE", "credentials/line?name=second", "", 204),
      ("DELETE", "credentials/line?name=second", "", 404), ("GET", "credentials", "", 200),
      ("GET", "audit-log", "", 200),
    ] {
      let answer = try await world.call(
        method, "\(admin)/\(path)", as: owner, json: json.isEmpty ? nil : json)
      #expect(answer.status == status, "\(path) \(answer.body)")
      seen += answer.body
    }
    #expect(!seen.contains(secret))
    #expect(!reports.all.contains { $0.contains(secret) })
    let rows = try await world.database.run(
      Query(
        "SELECT key_id, ciphertext FROM credentials WHERE workspace_id = $1",
        [.uuid(world.workspace.id)]))
    #expect(rows.count == 1)
    let sealed = SecretBox.Sealed(keyID: rows.text(0, 0) ?? "", bytes: rows.bytes(0, 1) ?? [])
    #expect(!String(decoding: sealed.bytes, as: UTF8.self).contains(secret))
    let place = "credential:\(world.workspace.id):line:default"
    #expect(options.secrets.open(sealed, place: place) == Array("\(secret)2".utf8))
    #expect(options.secrets.open(sealed, place: place + "x") == nil)
  }
}

@Suite struct AuditTests {
  @Test("the audit log pages from the newest entry on, names actors, and has no secrets and texts")
  func log() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let mark = "\(World.identifier())"
    let key = try await world.key([.settingsWrite, .auditRead])
    let server = [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")]
    for (path, json) in [
      (
        "members",
        #"{"email":"\#(mark)@example.com","name":"\#(mark)","password":"\#(mark) and words"}"#
      ),
      ("api-keys", #"{"name":"\#(mark)","scopes":["audit:read"]}"#),
      ("webhooks", #"{"url":"https://hooks.example.com/\#(mark)"}"#),
    ] {
      let made = try await world.call("POST", "\(admin)/\(path)", as: owner, json: json)
      #expect(made.status == 201)
    }
    let menu = await world.send(
      "POST", "\(admin)/rich-menus", server,
      #"{"name":"\#(mark)","actions":[{"label":"\#(mark)","type":"operator"}]}"#)
    #expect(menu.status == 201)
    var lines: [[String: Any]] = []
    var cursor = ""
    repeat {
      let page = await world.send("GET", "\(admin)/audit-log?limit=1\(cursor)", server)
      #expect(page.status == 200 && !page.body.contains(mark))
      lines += page.objects("audit_log").filter { $0["actor"] as? String != "command" }
      cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
    } while !cursor.isEmpty && lines.count < 9
    let actions = lines.compactMap { $0["action"] as? String }
    #expect(
      actions == ["rich_menu.added", "webhook.created", "api_key.added", "member.added"])
    #expect(lines.compactMap { $0["actor"] as? String }.first == "api_key")
    #expect(lines.first?["actor_name"] as? String == "key of a test")
    #expect(lines.last?["actor_id"] as? String == owner.id.description)
    let agent = try await world.call("GET", "\(admin)/audit-log")
    #expect(agent.status == 403)
  }
}

/// The reports of the API to the log.
private final class Reports: Sendable {
  private let kept = Mutex<[String]>([])

  var all: [String] { kept.withLock { $0 } }

  func add(_ line: String) { kept.withLock { $0.append(line) } }
}
