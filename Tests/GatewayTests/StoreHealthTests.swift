/// What the log says about statements that PostgreSQL does not run.
import Postgres
import Testing

@testable import Gateway

@Suite struct StoreHealthTests {
  private func refusal(_ code: String, _ message: String) -> Result<Rows, QueryFailure> {
    .failure(.refused(SQLState(code), message: message))
  }

  @Test("a read-only database is no refused statement: the line about the outage says it")
  func readOnly() {
    let book = LogBook()
    var health = StoreHealth(logger: book.logger)
    let result = refusal("25006", "cannot execute UPDATE in a read-only transaction")
    for purpose in [PendingQueries.Purpose.clients, .generation, .presence] {
      health.note(result, of: purpose)
    }
    #expect(book.lines(with: "").isEmpty)
    health.note("cannot execute UPDATE in a read-only transaction", work: "reading")
    #expect(
      book.lines(with: "") == [
        "PostgreSQL does not answer: cannot execute UPDATE in a read-only transaction for=reading"
      ])
  }

  @Test("a state that passes is told from a refused statement; each is logged once")
  func states() {
    let book = LogBook()
    var health = StoreHealth(logger: book.logger)
    for _ in 0..<3 {
      health.note(refusal("53100", "could not extend file"), of: .presence)
      health.note(refusal("42501", "permission denied for table chats"), of: .clients)
    }
    #expect(
      book.lines(with: "") == [
        """
        PostgreSQL cannot do this now, and it is tried again: 53100 could not extend file \
        for=storing operators' presence
        """,
        """
        PostgreSQL refused a statement: 42501 permission denied for table chats \
        for=reading and marking conversations for clients
        """,
      ])
  }

  @Test("the log says when messages are not stored although PostgreSQL answers, and the end of it")
  func postponed() {
    let book = LogBook()
    var health = StoreHealth(logger: book.logger)
    health.note(postponement: "canceling statement due to lock timeout")
    #expect(health.isPostponing)
    health.note(postponement: nil)
    #expect(!health.isPostponing)
    #expect(
      book.lines(with: "") == [
        """
        PostgreSQL answers, but does not store messages; their senders try again, and chirrup \
        doctor --only locks says what holds them up: canceling statement due to lock timeout
        """,
        "PostgreSQL stores messages again",
      ])
  }
}
