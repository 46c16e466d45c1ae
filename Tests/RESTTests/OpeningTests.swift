import Chat
import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

/// Conversations that operators and programs begin.
@Suite struct OpeningTests {
  func open(
    _ world: World, _ json: String, as member: Operator? = nil, key: String? = nil
  ) async throws -> Answer {
    var headers = [
      ("Authorization", try world.bearer(member ?? world.mika)),
      ("Content-Type", "application/json"),
    ]
    if let key { headers.append(("Idempotency-Key", key)) }
    return await world.send("POST", conversations, headers, json)
  }

  func messages(_ world: World, of session: String) async throws -> [[String: Any]] {
    try await world.call("GET", "\(conversations)/\(session)/messages").objects("messages")
  }

  @Test("a new visitor, an external one and an existing one get a conversation")
  func visitors() async throws {
    let world = try await World()
    let anonymous = try await open(world, "{}")
    #expect(anonymous.status == 201)
    #expect(anonymous.string("conversation.status") == "waiting")
    #expect(anonymous.string("conversation.waiting_since") == nil, "it is outside the queue")
    #expect(anonymous.string("conversation.visitor.name")?.isEmpty == true)

    let external = #"""
      {"title":" Order 20418 ",
       "visitor":{"external_id":"c-1","name":"Ada","email":"ada@example.com"}}
      """#
    let first = try await open(world, external)
    #expect(first.status == 201)
    #expect(first.string("conversation.title") == "Order 20418")
    #expect(first.string("conversation.visitor.external_id") == "c-1")
    #expect(first.string("conversation.visitor.email") == "ada@example.com")
    let second = try await open(world, #"{"visitor":{"external_id":"c-1","name":"Other"}}"#)
    #expect(second.string("conversation.visitor.id") == first.string("conversation.visitor.id"))
    #expect(second.string("conversation.visitor.name") == "Ada")
    #expect(second.string("conversation.id") != first.string("conversation.id"))

    let id = try #require(first.string("conversation.visitor.id"))
    let third = try await open(world, #"{"visitor":{"id":"\#(id)"}}"#)
    #expect(third.status == 201 && third.int("conversation.visitor.conversations") == 3)
    let log = try await world.call(
      "GET", "/api/v1/admin/audit-log", as: try await world.member(.admin))
    let noted = log.objects("audit_log").filter {
      $0["action"] as? String == "conversation.created"
    }
    #expect(
      noted.count == 4 && noted.first?["target_id"] as? String == third.string("conversation.id"))
    #expect(world.sessions.hints.withLock { $0.count } == 4)
  }

  @Test("the first message is the caller's; a repeated request stores it once")
  func firstMessage() async throws {
    let world = try await World()
    let body = #"{"visitor":{"external_id":"c-2"},"message":{"body":"It has left Rotterdam."}}"#
    let first = try await open(world, body, key: "order-1")
    #expect(first.status == 201 && first.int("conversation.last_seq") == 1)
    let again = try await open(world, body, key: "order-1")
    #expect(again.header("Idempotency-Replayed") == "true" && again.body == first.body)
    let session = try #require(first.string("conversation.id"))
    let stored = try await messages(world, of: session)
    #expect(stored.filter { $0["kind"] as? String == "text" }.count == 1)
    #expect((stored.first?["sender"] as? [String: Any])?["id"] as? String == "\(world.mika.id)")
    #expect(
      try await world.call("GET", conversations + "?status=all").int("total") == 1,
      "one conversation")
  }

  @Test("with an id of its own a request continues where the message failed")
  func continued() async throws {
    let world = try await World()
    let id = World.identifier()
    let body = #"{"id":"\#(id)","message":{"body":"Hello"}}"#
    world.sessions.scripted.withLock { $0 = Outcome(verdict: .unavailable) }
    #expect(try await open(world, body, key: "k").status == 503)
    world.sessions.scripted.withLock { $0 = nil }
    let repeated = try await open(world, body, key: "k")
    #expect(repeated.status == 200 && repeated.string("conversation.id") == "\(id)")
    #expect(try await open(world, body).status == 200)
    let stored = try await messages(world, of: "\(id)")
    #expect(stored.filter { $0["kind"] as? String == "text" }.count == 1)
    let visitors = try await world.database.ask(
      Statement(
        Query(
          "SELECT count(*) FROM visitors WHERE workspace_id = $1::uuid",
          [.uuid(world.workspace.id)])
      ) { $0.int(0, 0) })
    #expect(visitors == 1)
  }

  @Test("what cannot be begun is refused with a reason, and nothing is stored")
  func refused() async throws {
    var options = APIOptions()
    options.conversationsPerVisitor = 1
    let world = try await World(options)
    let other = try await World()
    let foreign = try await other.conversation()
    let session = try await world.conversation(messages: ["hello"])
    let visitor = try await world.place.read(session).visitor
    let cases: [(String, Int, String)] = [
      (#"{"visitor":{"id":"\#(World.identifier())"}}"#, 404, "no_such_visitor"),
      (#"{"visitor":{"id":"\#(try #require(visitor))"}}"#, 409, "too_many_conversations"),
      (#"{"visitor":{"id":"\#(try #require(visitor))","name":"Ada"}}"#, 400, "invalid_request"),
      (#"{"visitor":{"external_id":""}}"#, 400, "invalid_request"),
      (#"{"visitor":{"email":"nowhere"}}"#, 400, "invalid_request"),
      (#"{"visitor":1}"#, 400, "invalid_request"),
      (#"{"title":"a\nb"}"#, 400, "invalid_request"),
      (#"{"message":{}}"#, 400, "invalid_request"),
      (#"{"message":{"body":"x","kind":"event"}}"#, 400, "invalid_request"),
      (#"{"id":"\#(session)"}"#, 200, ""),
      (#"{"id":"\#(foreign)"}"#, 409, "id_conflict"),
      (#"{"id":"\#(session)","visitor":{"external_id":"c-9"}}"#, 409, "id_conflict"),
    ]
    for (json, status, problem) in cases {
      let answer = try await open(world, json)
      #expect(answer.status == status, "\(json): \(answer.body)")
      if status >= 400 { #expect(answer.problem == problem, "\(json)") }
    }
    #expect(try await world.call("GET", conversations + "?status=all").int("total") == 1)
    let blocked = try await open(world, #"{"visitor":{"external_id":"c-3"}}"#)
    let id = try #require(blocked.string("conversation.visitor.id"))
    _ = try await world.call("POST", "/api/v1/admin/visitors/\(id)/block", json: "{}")
    #expect(try await open(world, #"{"visitor":{"external_id":"c-3"}}"#).problem == "banned")
  }

  @Test("two requests for one external visitor at once create one visitor")
  func atOnce() async throws {
    let world = try await World()
    let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
      for _ in 0..<8 {
        group.addTask { try await open(world, #"{"visitor":{"external_id":"c-4"}}"#) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.allSatisfy { $0.status == 201 })
    #expect(Set(answers.compactMap { $0.string("conversation.visitor.id") }).count == 1)
    #expect(Set(answers.compactMap { $0.string("conversation.id") }).count == 8)
  }
}
