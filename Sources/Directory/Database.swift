public import Postgres

/// Runs one statement as a transaction of its own, without blocking: on the gateway's loops the
/// connection of the loop that the caller runs on.
public protocol Database: Sendable {
  func run(_ query: Query) async throws(QueryFailure) -> Rows
}

extension Database {
  public func run<Answer>(
    _ statement: Statement<Answer>
  ) async throws(QueryFailure) -> Answer {
    statement.answer(try await run(statement.query))
  }
}
