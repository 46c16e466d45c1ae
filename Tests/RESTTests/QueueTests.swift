import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

let nextInLine = "/api/v1/admin/live-chat/next"

extension World {
  func events(_ session: Identifier) async throws -> [[String: Any]] {
    try await call("GET", "\(conversations)/\(session)/messages").objects("messages")
      .compactMap { $0["payload"] as? [String: Any] }.filter { $0["event"] != nil }
  }
}

@Suite struct QueueTests {
  @Test(
    "claiming the next conversation takes the one that has waited longest, until the queue is empty"
  )
  func firstInFirstOut() async throws {
    let world = try await World()
    // Opened first, but nobody has written in it: it is behind all others.
    let silent = try await world.conversation()
    var waiting: [Identifier] = []
    for number in 1...3 {
      waiting.append(try await world.conversation(messages: ["hello \(number)"]))
    }
    for session in waiting + [silent] {
      let answer = try await world.call("POST", nextInLine)
      #expect(answer.status == 200)
      #expect(answer.string("conversation.id") == session.description)
      #expect(answer.string("conversation.status") == "active")
      #expect(answer.string("conversation.assignee.id") == world.mika.id.description)
    }
    let none = try await world.call("POST", nextInLine)
    #expect(none.status == 404)
    #expect(none.problem == "queue_empty")
    #expect(world.sessions.hints.withLock { $0 } == waiting + [silent])
  }

  @Test("an operator at the capacity cannot claim another conversation, and keeps the open ones")
  func capacity() async throws {
    let world = try await World()
    try await world.place.set(queue: #"{"capacity":1}"#)
    let first = try await world.conversation(messages: ["one"])
    let second = try await world.conversation(messages: ["two"])
    #expect(try await world.call("POST", "\(conversations)/\(first)/claim").status == 200)
    for path in ["\(conversations)/\(second)/claim", nextInLine] {
      let full = try await world.call("POST", path)
      #expect(full.status == 409)
      #expect(full.problem == "at_capacity")
      #expect(full.int("capacity") == 1)
    }
    #expect(try await world.call("POST", "\(conversations)/\(first)/claim").status == 200)
    _ = try await world.call("POST", "\(conversations)/\(first)/close")
    #expect(try await world.call("POST", nextInLine).status == 200)
  }

  @Test("a transfer changes the operator and adds an event; its reason is a note")
  func transfer() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)"
    _ = try await world.call("POST", path + "/claim")
    let answer = try await world.call(
      "POST", path + "/transfer", json: #"{"to":"\#(ivo.id)","reason":" knows bikes "}"#)
    #expect(answer.status == 200)
    #expect(answer.string("conversation.assignee.name") == "Ivo")
    #expect(answer.string("conversation.status") == "active")
    #expect(answer.int("conversation.last_seq") == 4)
    let event = try #require(try await world.events(session).last)
    #expect(event["event"] as? String == "transferred")
    #expect((event["from"] as? [String: Any])?["name"] as? String == "Mika")
    #expect((event["to"] as? [String: Any])?["id"] as? String == ivo.id.description)
    #expect(event["reason"] == nil)
    let note = try #require(
      try await world.call("GET", path + "/messages").objects("messages").last)
    #expect(note["kind"] as? String == "note")
    #expect(note["body"] as? String == "knows bikes")
    #expect((note["sender"] as? [String: Any])?["name"] as? String == "Mika")

    // The same again changes nothing.
    let again = try await world.call("POST", path + "/transfer", json: #"{"to":"\#(ivo.id)"}"#)
    #expect(again.int("conversation.last_seq") == 4)
    let rows = try await world.database.run(
      Query(
        "SELECT transfer_count::bigint FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)]))
    #expect(rows.int(0, 0) == 1)
  }

  @Test("a conversation that returns to the queue has its old position")
  func returned() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    let first = try await world.conversation(messages: ["one"])
    let second = try await world.conversation(messages: ["two"])
    let since = try await world.call("GET", "\(conversations)/\(first)")
      .string("conversation.waiting_since")
    _ = try await world.call("POST", nextInLine)
    let back = try await world.call(
      "POST", "\(conversations)/\(first)/transfer", json: #"{"to":null}"#)
    #expect(back.string("conversation.status") == "waiting")
    #expect(back["conversation.assignee"] == nil)
    #expect(back.string("conversation.waiting_since") == since)
    #expect(try await world.events(first).last?["to"] is NSNull)
    for session in [first, second] {
      let next = try await world.call("POST", nextInLine, as: ivo)
      #expect(next.string("conversation.id") == session.description)
    }
  }

  @Test("a transfer to a non-member, or of a closed conversation, is refused")
  func transferRefusals() async throws {
    let world = try await World()
    let other = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)"
    for id in [World.identifier(), other.mika.id] {
      let answer = try await world.call("POST", path + "/transfer", json: #"{"to":"\#(id)"}"#)
      #expect(answer.status == 422)
      #expect(answer.problem == "no_such_member")
    }
    _ = try await world.database.ask(Operator.setDisabled(ivo.id, true))
    let disabled = try await world.call("POST", path + "/transfer", json: #"{"to":"\#(ivo.id)"}"#)
    #expect(disabled.status == 422)
    #expect(
      try await other.call("POST", path + "/transfer", json: #"{"to":"\#(other.mika.id)"}"#).status
        == 404)
    _ = try await world.call("POST", path + "/close", json: #"{"reason":"spam"}"#)
    let closed = try await world.call(
      "POST", path + "/transfer", json: #"{"to":"\#(world.mika.id)"}"#)
    #expect(closed.status == 409)
    #expect(closed.problem == "session_closed")
    let note = try await world.call("GET", path + "/messages").objects("messages").last
    #expect(note?["kind"] as? String == "note")
    #expect(note?["body"] as? String == "spam")
  }
}
