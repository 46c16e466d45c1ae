public import Directory
public import Postgres

/// Why something from outside, such as a channel's event or a reply by e-mail, stays where it is
/// instead of going into the log.
public enum InboxDelay: Error {
  case query(QueryFailure)
  /// The store is unavailable, or the conversation changed too often meanwhile.
  case later

  /// PostgreSQL's words, if it refuses the statement and would again. An unavailable or overloaded
  /// one is not logged here.
  public var refusal: String? {
    guard case .query(.refused(let state, let message)) = self, !state.isTransient else {
      return nil
    }
    return "PostgreSQL refused a statement: \(state.code) \(message)"
  }
}

extension Database {
  public func bring<Answer>(
    _ statement: Statement<Answer>
  ) async throws(InboxDelay) -> Answer {
    do throws(QueryFailure) {
      return try await run(statement)
    } catch {
      throw .query(error)
    }
  }
}
