import Chat
import Conversations
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@Suite struct StateChangeTests {
  @Test("close and reopen are applied once each; a reopened conversation keeps its operator")
  func closeAndReopen() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["hello"])
    _ = try await place.claim(session)
    for isApplied in [true, false] {
      #expect(try await place.change(.closed, session)?.isApplied == isApplied)
    }
    let closed = try await place.read(session)
    #expect(closed.status == "closed" && closed.closedAt != nil)
    for isApplied in [true, false] {
      #expect(try await place.change(.reopened, session)?.isApplied == isApplied)
    }
    let open = try await place.read(session)
    #expect(open.status == "active" && open.assignee == place.mika.id)
    #expect(open.closedAt == nil && open.waitingSince == nil)
    let events = try await place.events(session).map { JSONValue($0)?["event"]?.string }
    #expect(events == ["claimed", "closed", "reopened"])
  }

  @Test("reopened within seconds, a waiting conversation has its position again; later the last")
  func position() async throws {
    let place = try await Workplace()
    let first = try await place.conversation(messages: ["one"])
    let second = try await place.conversation(messages: ["two"])
    func closed(_ time: StaticString) async throws {
      try await place.change(.closed, first)
      _ = try await place.database.run(Query(time, [.uuid(first)]))
    }
    // In the future, so that a slow machine does not let the seconds pass.
    try await closed("UPDATE chat_sessions SET closed_at = now() + interval '1 hour' WHERE id = $1")
    #expect(try await place.read(second).queuePosition == 1)
    try await place.change(.reopened, first)
    #expect(try await place.read(first).queuePosition == 1)
    try await closed(
      "UPDATE chat_sessions SET closed_at = now() - interval '1 minute' WHERE id = $1")
    try await place.change(.reopened, first)
    #expect(try await place.read(first).queuePosition == 2)
  }

  @Test("the reason of a close is a note; a conversation of another workspace is not found")
  func reason() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["hello"])
    let other = try await Workplace()
    #expect(try await other.change(.closed, session) == nil)
    try await place.change(.closed, session, reason: "spam")
    let log = try await place.log(session)
    #expect(log.map(\.kind) == [.text, .event, .note])
    #expect(log.last?.body == Array("spam".utf8))
  }

  @Test("the waiting conversations of a blocked visitor are closed once, and no others")
  func blocked() async throws {
    let place = try await Workplace()
    let waiting = try await place.conversation(messages: ["hello"])
    let other = try await place.conversation(messages: ["hello"])
    let visitor = try #require(try await place.read(waiting).visitor)
    func close() async throws -> [Identifier] {
      try await place.database.ask(BlockedVisitor.close(visitor, of: place.id))
    }
    #expect(try await close().isEmpty, "the visitor is not blocked")
    _ = try await place.database.ask(
      Visitor.setBlocked(visitor, true, by: place.actor, now: Workplace.now))
    #expect(try await close() == [waiting])
    #expect(try await close().isEmpty)
    #expect(try await place.read(waiting).status == "closed")
    #expect(try await place.read(other).status == "waiting")
    #expect(try await place.events(waiting).last?.contains("blocked") == true)
    _ = try await place.claim(other)
    let held = try #require(try await place.read(other).visitor)
    _ = try await place.database.ask(
      Visitor.setBlocked(held, true, by: place.actor, now: Workplace.now))
    #expect(try await place.database.ask(BlockedVisitor.close(held, of: place.id)).isEmpty)
  }
}
