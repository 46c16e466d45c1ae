import Conversations
import Directory
import DomainFixtures
import Postgres
import Testing

/// Other tests use the same database at the same time, so the figures are compared with those of
/// this test's own workspace.
@Suite struct BacklogTests {
  private func read(_ place: Workplace) async throws -> Backlog {
    try #require(Backlog.read.answer(try await place.database.run(Backlog.read.query)))
  }

  @Test("waiting conversations, their oldest wait, and present operators are counted")
  func counts() async throws {
    let place = try await Workplace()
    let operators = try await place.operators(2)
    try await place.present(operators)
    let waiting = try await place.conversation(messages: ["hello"])
    _ = try await place.conversation(messages: ["hello"])
    _ = try await place.database.run(
      Query(
        """
        UPDATE chat_sessions SET waiting_since = now() - interval '1 hour' WHERE id = $1
        """, [.uuid(waiting)]))
    let backlog = try await read(place)
    #expect(backlog.waiting >= 2 && backlog.waiting <= Backlog.countedMax)
    #expect(backlog.oldestSeconds >= 3_600)
    #expect(backlog.operatorsOnline >= 2 && backlog.operatorsAvailable >= 2)
    #expect(backlog.operatorsAvailable <= backlog.operatorsOnline)
  }
}
