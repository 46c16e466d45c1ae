public import Postgres

/// Runs each statement as a transaction of its own, without blocking a thread. On the gateway's
/// loops it uses the connection of the caller's loop.
public protocol Database: Sendable {
  func run(_ query: Query) async throws(QueryFailure) -> Rows

  /// The same over connections of their own, for statements that read much: no other statement
  /// waits for them.
  var forExpensiveStatements: any Database { get }
}

extension Database {
  public var forExpensiveStatements: any Database { self }

  public func run<Answer>(
    _ statement: Statement<Answer>
  ) async throws(QueryFailure) -> Answer {
    statement.answer(try await run(statement.query))
  }
}
