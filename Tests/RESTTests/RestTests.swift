import Chat
import Conversations
import Directory
import DomainFixtures
import Foundation
import OpenSSL
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

private let admin = "/api/v1/admin"
private let search = "/api/v1/admin/live-chat/messages/search"

@Suite struct SearchTests {
  @Test("search ignores case and events, and pages from the newest conversation on")
  func pages() async throws {
    let world = try await World()
    let old = try await world.conversation(messages: ["Blue bike", "red car", "BLUE car"])
    let new = try await world.conversation(messages: ["a blue_ boat 100%"])
    _ = try await world.call("POST", "\(conversations)/\(old)/claim")
    let all = try await world.call("GET", "\(search)?q=blue")
    #expect(all.objects("hits").map { $0["seq"] as? Int } == [1, 3, 1])
    let first = try #require(all.objects("hits").first)
    #expect(first["session"] as? String == new.description)
    #expect(first["snippet"] as? String == "a blue_ boat 100%")
    #expect((first["conversation"] as? [String: Any])?["status"] as? String == "waiting")
    #expect((first["sender"] as? [String: Any])?["name"] as? String == "Ada")
    var seen: [Int] = []
    var cursor = ""
    repeat {
      let page = try await world.call("GET", "\(search)?q=blue&limit=1\(cursor)")
      seen += page.objects("hits").compactMap { $0["seq"] as? Int }
      cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
    } while !cursor.isEmpty && seen.count < 9
    #expect(seen == [1, 3, 1])
    #expect(try await world.call("GET", "\(search)?q=joined").objects("hits").isEmpty)
    #expect(try await world.call("GET", "\(search)?q=blue_").objects("hits").count == 1)
    #expect(try await world.call("GET", "\(search)?q=100%25").objects("hits").count == 1)
    for query in [
      "", "?q=", "?q=x&cursor=x", "?q=x&limit=0", "?q=" + String(repeating: "x", count: 201),
    ] {
      #expect(try await world.call("GET", search + query).status == 400, "\(query)")
    }
    let other = try await World()
    #expect(try await other.call("GET", "\(search)?q=blue").objects("hits").isEmpty)
  }

  @Test("a snippet shows the text in its context")
  func snippets() {
    let body =
      String(repeating: "before ", count: 40) + "NEEDLE" + String(repeating: " after", count: 40)
    let found = snippet(body, around: "needle")
    #expect(found.contains("NEEDLE"))
    #expect(found.hasPrefix("…") && found.hasSuffix("…"))
    #expect(found.count <= APILimits.snippetCharacters + 2)
    #expect(snippet("a\n b", around: "b") == "a b")
    #expect(snippet(String(repeating: "x", count: 500), around: "y").count <= 162)
  }

  @Test("`around` returns the messages before a seq, its own, and those after it")
  func around() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: (1...20).map { "m\($0)" })
    for (seq, limit, expected) in [(10, 6, 7...12), (1, 6, 1...6), (20, 6, 17...20)] {
      let page = try await world.call(
        "GET", "\(conversations)/\(session)/messages?around=\(seq)&limit=\(limit)")
      #expect(page.objects("messages").compactMap { $0["seq"] as? Int } == Array(expected))
    }
  }
}

@Suite struct VisitorRouteTests {
  private func visitor(_ world: World, _ session: Identifier) async throws -> String {
    let row = try await world.call("GET", "\(conversations)/\(session)")
    return "\(admin)/visitors/" + (try #require(row.string("conversation.visitor.id")))
  }

  private func isShutOut(_ world: World, _ path: String) async throws -> Bool {
    let id = try #require(Identifier(String(path.suffix(Identifier.textByteCount))))
    let subject = Standing.Subject.visitor(id, workspace: world.workspace.id)
    return try await world.database.ask(Standing.shutOut(of: [subject])) == [subject: .banned]
  }

  @Test("a visitor is read, changed, blocked and unblocked; each block is an event")
  func block() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let path = try await visitor(world, session)
    let changed = try await world.call(
      "PATCH", path, json: #"{"name":"Ada L","email":"ada@example.com"}"#)
    #expect(changed.string("visitor.name") == "Ada L")
    #expect(changed.string("visitor.email") == "ada@example.com")
    #expect(changed.int("visitor.conversations") == 1)
    #expect(world.sessions.hints.withLock { $0 == [session] })
    for step in ["block", "block", "unblock"] {
      let answer = try await world.call("POST", "\(path)/\(step)")
      #expect(answer.status == 200)
      #expect((answer.string("visitor.banned_at") != nil) == (step == "block"))
      #expect(try await isShutOut(world, path) == (step == "block"))
    }
    let rows = try await world.database.run(
      Query(
        "SELECT event FROM friend_events WHERE workspace_id = $1 ORDER BY created_at, event",
        [.uuid(world.workspace.id)]))
    #expect((0..<rows.count).compactMap { rows.text($0, 0) } == ["block", "unblock"])
    #expect(
      try await world.audit() == ["visitor.changed", "visitor.blocked", "visitor.unblocked"])
    #expect(try await !isShutOut(world, path))
  }

  @Test("a visitor's data is exported and erased; the log keeps its seq")
  func erase() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let session = try await world.conversation(messages: ["my secret", "more"])
    let path = try await visitor(world, session)
    let copy = try await world.call("GET", "\(path)/export", as: owner)
    #expect(copy.body.contains("my secret"))
    #expect(copy.header("Content-Disposition")?.hasPrefix("attachment") == true)
    #expect(try await world.call("DELETE", path, as: owner).status == 204)
    #expect(try await world.call("GET", path).status == 404)
    let log = try await world.call("GET", "\(conversations)/\(session)/messages")
    #expect(log.objects("messages").map { $0["body"] as? String } == ["[erased]", "[erased]"])
    #expect(log.objects("messages").map { $0["seq"] as? Int } == [1, 2])
    #expect(world.sessions.hints.withLock { $0.contains(session) })
    let rows = try await world.database.run(
      Query(
        "SELECT details::text FROM audit_log WHERE workspace_id = $1 AND action = 'visitor.erased'",
        [.uuid(world.workspace.id)]))
    #expect(rows.text(0, 0) == #"{"messages": 2, "sessions": 1}"#)
    #expect(
      try await world.audit() == ["visitor.exported", "visitor.erasing", "visitor.erased"])
    #expect(try await isShutOut(world, path), "the revocation applies after the row was deleted")
  }
}

@Suite struct IdempotencyTests {
  private func post(
    _ world: World, _ path: String, key: String, _ json: String
  ) async throws -> Answer {
    await world.send(
      "POST", path,
      [
        ("Authorization", try world.bearer(world.mika)), ("Content-Type", "application/json"),
        ("Idempotency-Key", key),
      ], json)
  }

  @Test("a repeated request gets the first response; another request with its key is refused")
  func repetition() async throws {
    let world = try await World()
    let path = "\(conversations)/\(try await world.conversation())/notes"
    let first = try await post(world, path, key: "a", #"{"body":"once"}"#)
    let again = try await post(world, path, key: "a", #"{"body":"once"}"#)
    #expect(first.status == 201 && again.status == 201)
    #expect(again.response.body == first.response.body)
    #expect(again.header("Idempotency-Replayed") == "true")
    #expect(world.sessions.appended.withLock { $0.count } == 1)
    let other = try await post(world, path, key: "a", #"{"body":"twice"}"#)
    #expect(other.status == 422 && other.problem == "idempotency_conflict")
    // An error response is stored too.
    let refused = try await post(world, path, key: "b", "{}")
    #expect(refused.status == 400)
    #expect(try await post(world, path, key: "b", "{}").header("Idempotency-Replayed") == "true")
    for key in ["", "a b", "ü", String(repeating: "x", count: 256)] {
      #expect(try await post(world, path, key: key, "{}").status == 400)
    }
  }

  @Test("of simultaneous requests with one key one runs")
  func twins() async throws {
    let world = try await World()
    let path = "\(conversations)/\(try await world.conversation())/notes"
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<6 {
        group.addTask { try await post(world, path, key: "twin", #"{"body":"x"}"#).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.allSatisfy { $0 == 201 || $0 == 409 }, "\(statuses)")
    #expect(statuses.contains(201))
    #expect(world.sessions.appended.withLock { $0.count } == 1)
  }

  @Test("requests run again after a 5xx, after a day, and after a crash of the gateway")
  func again() async throws {
    let world = try await World()
    let path = "\(conversations)/\(try await world.conversation())/notes"
    world.sessions.scripted.withLock { $0 = Outcome(verdict: .unavailable) }
    #expect(try await post(world, path, key: "a", #"{"body":"x"}"#).status == 503)
    world.sessions.scripted.withLock { $0 = nil }
    #expect(try await post(world, path, key: "a", #"{"body":"x"}"#).status == 201)
    _ = try await world.database.run(
      Query(
        """
        UPDATE idempotency_keys SET created_at = now() - interval '25 hours'
        WHERE workspace_id = $1
        """,
        [.uuid(world.workspace.id)]))
    #expect(try await post(world, path, key: "z", #"{"body":"x"}"#).status == 201)
    let left = try await world.database.run(
      Query(
        "SELECT key FROM idempotency_keys WHERE workspace_id = $1", [.uuid(world.workspace.id)]))
    #expect(left.count == 1 && left.text(0, 0) == "z")
    _ = try await world.database.run(
      Query(
        """
        UPDATE idempotency_keys SET created_at = now() - interval '2 minutes', status = NULL,
          body = NULL WHERE workspace_id = $1
        """, [.uuid(world.workspace.id)]))
    #expect(try await post(world, path, key: "z", #"{"body":"x"}"#).status == 201)
  }

  @Test("a secret is in the first response only, and not in the table")
  func secret() async throws {
    let options = APIOptions()
    let world = try await World(options)
    let owner = try await world.member(.owner)
    let webhook = #"{"url":"https://hooks.example.com/in"}"#
    for (path, json, name) in [
      ("/api-keys", #"{"name":"k","scopes":["audit:read"]}"#, "key"),
      ("/webhooks", webhook, "webhook.secret"),
      ("/identity-secrets", "{}", "secret"),
    ] {
      let headers = [
        ("Authorization", try world.bearer(owner)), ("Content-Type", "application/json"),
        ("Idempotency-Key", path),
      ]
      let made = await world.send("POST", admin + path, headers, json)
      let secret = try #require(made.string(name))
      let again = await world.send("POST", admin + path, headers, json)
      #expect(again.status == 201 && again.header("Idempotency-Replayed") == "true")
      #expect(again.string(name) == nil && !again.body.contains(secret))
      let id =
        made.string("webhook.id") ?? made.string("api_key.id")
        ?? made.string("identity_secret.id")
      #expect(again.body.contains(try #require(id)))
      // Not even encrypted.
      let rows = try await world.database.run(
        Query(
          "SELECT key_id, body FROM idempotency_keys WHERE workspace_id = $1 AND key = $2",
          [.uuid(world.workspace.id), .text(path)]))
      let sealed = SecretBox.Sealed(keyID: rows.text(0, 0) ?? "", bytes: rows.bytes(0, 1) ?? [])
      let kept = try #require(
        options.secrets.open(
          sealed, place: "idempotency:\(world.workspace.id):\(owner.id):\(path)"))
      #expect(kept == again.response.body)
    }
    let list = try await world.call("GET", "\(admin)/api-keys", as: owner)
    #expect(list.objects("api_keys").count == 1)
  }

  @Test("the stored digest of a request does not allow to guess its password")
  func digest() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let json = #"{"email":"\#(World.identifier())@example.com","name":"B","password":"password 1"}"#
    let headers = [
      ("Authorization", try world.bearer(owner)), ("Content-Type", "application/json"),
      ("Idempotency-Key", "k"),
    ]
    #expect(await world.send("POST", "\(admin)/members", headers, json).status == 201)
    let rows = try await world.database.run(
      Query(
        "SELECT request_hash FROM idempotency_keys WHERE workspace_id = $1",
        [.uuid(world.workspace.id)]))
    let plain = SHA256.digest(Array("POST\n\(admin)/members\n\n\(json)".utf8))
    #expect(rows.count == 1 && rows.bytes(0, 0)?.count == plain.count)
    #expect(rows.bytes(0, 0) != plain)
    // After a rotation of the key earlier requests are still recognized.
    let text = Array("a request".utf8)
    let old = SecretBox(configured: ["first"], signingKey: [1])
    let new = SecretBox(configured: ["second", "first"], signingKey: [1])
    #expect(new.recognises(text, by: old.digest(of: text)))
    #expect(!SecretBox(configured: [], signingKey: [2]).recognises(text, by: old.digest(of: text)))
  }
}

@Suite struct OpenAPITests {
  @Test("the document has every route once and the named schemas, nothing else")
  func document() async throws {
    let world = try await World()
    let answer = await world.send("GET", "/api/v1/openapi.json")
    #expect(answer.status == 200)
    #expect(answer.string("openapi") == "3.1.0")
    let paths = try #require(answer.json["paths"] as? [String: [String: Any]])
    var operations: Set<String> = []
    for (path, item) in paths {
      for method in item.keys { operations.insert("\(method.uppercased()) \(path)") }
    }
    #expect(operations == Set(API.routes.map { "\($0.method) \($0.path)" }))
    let ids = paths.values.flatMap {
      $0.values.compactMap { ($0 as? [String: Any])?["operationId"] as? String }
    }
    #expect(Set(ids).count == API.routes.count)
    let components = try #require(answer["components.schemas"] as? [String: Any])
    #expect(Set(components.keys) == Set(OpenAPIDocument.components.keys))
    for reference in answer.body.split(separator: "#/components/schemas/").dropFirst() {
      let name = String(reference.prefix { $0 != "\"" })
      #expect(OpenAPIDocument.components[name] != nil, "the schema \(name) is missing")
    }
    // Of two schemas with one name the document would keep one.
    for route in API.routes {
      for schema in [route.body, route.response].compactMap({ $0 }) {
        guard let name = schema.name else { continue }
        #expect(OpenAPIDocument.components[name]?.definition == schema.definition, "\(name)")
      }
    }
  }

  @Test("every operation has a description, and every description an operation")
  func descriptions() {
    let ids = Set(API.routes.map { OpenAPIDocument.operationID($0) })
    #expect(Set(OperationTexts.descriptions.keys) == ids)
    for (id, text) in OperationTexts.descriptions {
      #expect(text.hasSuffix(".") && !text.contains("\n"), "\(id)")
    }
  }

  @Test("every body has an example, which its schema allows")
  func examples() throws {
    for route in API.routes {
      guard let body = route.body else { continue }
      let name = try #require(body.name, "\(route.path)")
      let example = try #require(Examples.request(name), "\(name)")
      #expect(Promises.fault(example, body.json, name) == nil)
    }
    #expect(
      Set(Examples.requests.keys) == Set(API.routes.compactMap { $0.body?.name }),
      "an example of a body that does not exist")
  }

  @Test("examples of responses are what the tests of all responses accept")
  func answers() {
    for route in API.routes {
      guard let response = route.response, !route.path.hasSuffix("openapi.json") else { continue }
      let example = Examples.value(of: response.json)
      #expect(Promises.fault(example, response.json, route.path) == nil)
    }
    for (status, problems) in Examples.problems {
      for problem in problems {
        #expect(Promises.fault(problem, Schema.problem.json, "\(status)") == nil)
      }
    }
  }

  @Test("the server is the configured address, or else that of the document")
  func servers() async throws {
    let world = try await World()
    let answer = await world.send("GET", "/api/v1/openapi.json")
    let servers = try #require(answer.json["servers"] as? [[String: String]])
    #expect(servers.map { $0["url"] } == ["/"])
    let named = OpenAPIDocument.text(servedFrom: "https://chat.example.com")
    #expect(
      String(decoding: named.prefix(80), as: UTF8.self).hasPrefix(
        #"{"servers":[{"description":"This gateway.","url":"https://chat.example.com"}],"#))
  }
}
