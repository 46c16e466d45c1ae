import Conversations
import Directory
import DomainFixtures
import Foundation
import JSON
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

@Suite struct RoutingTests {
  @Test(
    "an unknown path is not found",
    arguments: [
      "/", "/api/v1", "/api/v1/", "/api/v2/auth/login", "/api/v1/auth/login/",
      "//api/v1/auth/login",
      "/api/v1/admin/live-chat/conversations/7", "/api/v1/admin/live-chat/conversations/../x",
      "/api/v1/widget/%74oken", "api/v1/widget/token",
      "/api/v1/admin/live-chat/conversations/0190f0e1-2345-7abc-8def-0123456789ab/delete",
      "/" + String(repeating: "a", count: 100_000), String(repeating: "/", count: 200),
    ])
  func unknown(path: String) async throws {
    let world = try await World()
    let answer = await world.send("GET", path)
    #expect(answer.status == 404)
    #expect(answer.problem == "not_found")
    #expect(answer.header("Cache-Control") == "no-store")
  }

  @Test("a path with another method responds with its methods")
  func methods() async throws {
    let world = try await World()
    let id = World.identifier()
    for (path, allowed) in [
      ("/api/v1/widget/config", "GET, HEAD"), ("/api/v1/auth/login", "POST"),
      (conversations, "GET, HEAD, POST"),
      ("\(conversations)/\(id)/messages", "GET, HEAD, POST"),
      ("\(conversations)/\(id)/claim", "POST"),
    ] {
      for method in ["DELETE", "PUT", "get", ""] {
        let answer = await world.send(method, path)
        #expect(answer.status == 405)
        #expect(answer.header("Allow") == allowed)
      }
    }
    let one = await world.send("PUT", "\(conversations)/\(id)")
    #expect(one.status == 405)
    #expect(one.header("Allow") == "GET, HEAD, PATCH, DELETE")
  }

  @Test("HEAD has the response of GET (RFC 9110 §9.3.2)")
  func heads() async throws {
    let world = try await World()
    for path in [conversations, "/api/v1/widget/config", "/api/v1/widget/config?workspace=x"] {
      #expect(await world.send("HEAD", path).status == (await world.send("GET", path).status))
    }
    #expect(await world.send("HEAD", "/api/v1/auth/login").status == 405)
  }

  @Test("a problem has the members of RFC 9457")
  func problems() async throws {
    let world = try await World()
    let answer = await world.send("GET", conversations)
    #expect(answer.header("Content-Type") == "application/problem+json")
    #expect(Set(answer.json.keys) == ["type", "title", "status", "detail"])
    #expect(answer.int("status") == 401)
  }

  static let wrongMembers: [(path: String, body: String, pointer: String, reason: String?)] = [
    ("/reply-objects/x", "{}", "/payload", "is missing or empty. Send it in the JSON body."),
    ("/reply-objects/x", #"{"payload":{"text":7}}"#, "/payload/text", "must be a string."),
    (
      "/reply-objects/x",
      #"{"object_type":"buttons","payload":{"text":"x","buttons":[{"label":"a","value":"b"},{}]}}"#,
      "/payload/buttons/1/label", "is missing or empty. Send it in the JSON body."
    ),
    (
      "/reply-objects/x",
      #"{"object_type":"carousel","payload":{"cards":[{"title":"x","image_url":"javascript:x"}]}}"#,
      "/payload/cards/0/image_url",
      "must be a URL that begins with https:// or http://, without spaces."
    ),
    (
      "/tags/x", ##"{"colour":"#FF0000"}"##, "/colour", "must be a colour as #rrggbb in lower case."
    ),
    ("/settings", #"{"settings":{"a/b~c":{}}}"#, "/settings/a~1b~0c", nil),
    ("/settings", #"{"settings":{"queue":{"capacity":0}}}"#, "/settings/queue", nil),
    ("/settings", #"{"allowed_origins":["x y"]}"#, "/allowed_origins", nil),
  ]

  @Test("a problem of one member has its JSON Pointer (RFC 6901)", arguments: wrongMembers)
  func pointers(path: String, body: String, pointer: String, reason: String?) async throws {
    let world = try await World()
    let method = path == "/settings" ? "PATCH" : "PUT"
    let chief = try await world.member(.admin)
    let answer = try await world.call(method, "/api/v1/admin\(path)", as: chief, json: body)
    #expect(answer.status == 400)
    #expect(answer.string("pointer") == pointer)
    #expect(answer.string("reason") == reason)
    if let reason { #expect(answer.string("detail")?.hasSuffix(reason) == true) }
  }
}

/// A database on which every statement fails.
struct BrokenDatabase: Database {
  var failure: QueryFailure
  func run(_ query: Query) async throws(QueryFailure) -> Rows { throw failure }
}

@Suite struct FailureTests {
  @Test(
    "an unavailable database is a 503 with Retry-After; a refused statement is reported",
    arguments: [
      (QueryFailure.unavailable(reason: "gone"), 503), (.overloaded, 503),
      (.refused(SQLState("57P01"), message: "m"), 503),
      (.refused(SQLState("40001"), message: "m"), 503),
      (.refused(SQLState("53300"), message: "m"), 503),
      (.refused(SQLState("25006"), message: "m"), 503),
      (.refused(SQLState("22021"), message: "m"), 422),
      (.refused(SQLState("42P01"), message: "secret detail"), 500),
    ])
  func failures(failure: QueryFailure, status: Int) async throws {
    let world = try await World()
    let reports = Reports()
    var options = APIOptions()
    options.report = { reports.add($0) }
    let api = API(
      database: BrokenDatabase(failure: failure), sessions: world.sessions, tokens: world.tokens,
      options: options)
    let authorization = try world.bearer(world.mika)
    for (method, path, body) in [
      ("GET", conversations, ""), ("POST", "\(conversations)/\(World.identifier())/claim", ""),
      ("POST", "/api/v1/widget/token", #"{"workspace":"x"}"#),
      ("POST", "/api/v1/auth/login", #"{"email":"a@b","password":"x"}"#),
    ] {
      let answer = Answer(
        await api.handle(
          APIRequest(
            method: method, path: path,
            headers: [("Authorization", authorization), ("Content-Type", "application/json")],
            body: Array(body.utf8), peer: "192.0.2.1", now: World.now)))
      #expect(answer.status == status)
      #expect((answer.header("Retry-After") != nil) == (status == 503))
      #expect(!answer.body.contains("secret detail"))
    }
    #expect(reports.isEmpty == (status != 500))
  }

  final class Reports: Sendable {
    private let texts = Mutex<[String]>([])
    func add(_ text: String) { texts.withLock { $0.append(text) } }
    var isEmpty: Bool { texts.withLock { $0.isEmpty } }
  }
}

@Suite struct IsolationTests {
  @Test("another workspace's conversation has the response of a missing one on every route (A09)")
  func conversationsOfOthers() async throws {
    let world = try await World()
    let other = try await World()
    let foreign = try await other.conversation(messages: ["secret"])
    let missing = World.identifier()
    for (method, suffix, body) in [
      ("GET", "", nil), ("GET", "/messages", nil), ("GET", "/messages?after=0", nil),
      ("POST", "/messages", #"{"body":"x"}"#), ("POST", "/claim", nil), ("POST", "/close", nil),
      ("POST", "/reopen", nil),
    ] {
      let first = try await world.call(method, "\(conversations)/\(foreign)\(suffix)", json: body)
      let second = try await world.call(method, "\(conversations)/\(missing)\(suffix)", json: body)
      #expect(first.status == 404)
      #expect(first.problem == "no_such_session")
      #expect(first.response.body == second.response.body)
    }
    #expect(world.sessions.hints.withLock { $0.isEmpty })
    #expect(world.sessions.appended.withLock { $0.isEmpty })
    let untouched = try await other.call("GET", "\(conversations)/\(foreign)")
    #expect(untouched.string("conversation.status") == "waiting")
    #expect(untouched.int("conversation.last_seq") == 1)
    #expect(try await world.call("GET", conversations).int("total") == 0)
    let search = try await world.call("GET", "\(conversations)?q=secret")
    #expect(search.int("total") == 0)
    #expect(search.int("waiting_count") == 0)
  }

  @Test("a member of two workspaces acts in the workspace of the token")
  func twoWorkspaces() async throws {
    let world = try await World()
    let other = try await World()
    _ = try await world.database.ask(
      Operator.join(world.mika.id, workspace: other.workspace.id, membership: "agent"))
    let session = try await other.conversation()
    #expect(try await world.call("GET", "\(conversations)/\(session)").status == 404)
    var there = world.mika
    there.workspace = other.workspace.id
    #expect(try await world.call("GET", "\(conversations)/\(session)", as: there).status == 200)
    there.workspace = World.identifier()
    #expect(try await world.call("GET", conversations, as: there).status == 401)
  }
}

@Suite struct LiteralTests {
  /// Texts that must be returned unchanged (P14, P16, X01).
  static let texts = [
    "'; DROP TABLE chats; --", "\\'", "%s%n%d", "$1", "${jndi:x}", "{{7*7}}", "#{x}", "E'\\n'",
    "<script>alert(1)</script>", "\u{202E}rtl", "สวัสดี مرحبا 😀👨‍👩‍👧", "\u{FFFE}\u{1}\u{7F}",
    "a\u{0301}\u{0301}", "$$ $1::text $$", "\"quoted\\\"",
  ]

  func json(_ text: String) -> String {
    let object = [UInt8].object { $0.appendMember("x", text) }
    return String(String(decoding: object, as: UTF8.self).dropFirst(5).dropLast())
  }

  @Test("SQL, templates and markup are stored and returned unchanged", arguments: texts)
  func messages(text: String) async throws {
    let world = try await World()
    let visitor = await world.send(
      "POST", "/api/v1/widget/token", [("Origin", "https://x.example")],
      """
      {"workspace":"\(world.workspace.publicKey)","refresh":\(json(text)),
       "context":{"page":\(json(text)),"title":\(json(text)),"user_agent":\(json(text))}}
      """)
    let session = try #require(visitor.string("session"))
    let path = "\(conversations)/\(session)"
    let sent = try await world.call(
      "POST", path + "/messages",
      json: #"{"body":\#(json(text)),"payload":{"text":\#(json(text))}}"#)
    #expect(sent.status == 201)
    let message = try #require(
      try await world.call("GET", path + "/messages").objects("messages").first)
    #expect(message["body"] as? String == text)
    #expect((message["payload"] as? [String: Any])?["text"] as? String == text)
    let row = try await world.call("GET", path)
    #expect(row.string("conversation.context.page") == text)
    #expect(row.string("conversation.last_message.preview") == text)
    var parameter = ""
    for byte in text.utf8 { parameter += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    let found = try await world.call("GET", "\(conversations)?q=\(parameter)")
    #expect(found.int("total") == 1)
  }

  @Test("names of operators and titles are stored unchanged", arguments: texts)
  func names(text: String) async throws {
    let world = try await World()
    let named = try await World.addOperator(text, to: world.workspace, world.database)
    let session = try await world.conversation(visitor: text, title: text)
    let claim = try await world.call("POST", "\(conversations)/\(session)/claim", as: named)
    #expect(claim.string("conversation.assignee.name") == text)
    #expect(claim.string("conversation.title") == text)
    #expect(claim.string("conversation.visitor.name") == text)
    let lost = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(lost.string("winner.name") == text)
    let line = try await world.call("GET", "\(conversations)/\(session)/messages")
    #expect(line.objects("messages").first?["body"] as? String == "\(text) joined")
  }

  @Test("a percent sign in a search matches a percent sign")
  func search() async throws {
    let world = try await World()
    _ = try await world.conversation(title: "100% sure")
    _ = try await world.conversation(title: "100 sure")
    _ = try await world.conversation(title: "a_b")
    _ = try await world.conversation(title: "axb")
    #expect(try await world.call("GET", "\(conversations)?q=0%25").int("total") == 1)
    #expect(try await world.call("GET", "\(conversations)?q=a_b").int("total") == 1)
    #expect(try await world.call("GET", "\(conversations)?q=%25").int("total") == 1)
  }
}
