import Directory
import Logging
import Postgres
import Synchronization

/// Statements of timed work, for which nobody waits: a failure is no error, since a later round
/// tries again. A refusal is logged once until the statement succeeds.
final class TimedStatements: Sendable {
  private let database: any Database
  private let logger: Logger
  private let refusals = Mutex<[String: Outage]>([:])

  init(database: any Database, logger: Logger) {
    self.database = database
    self.logger = logger
  }

  /// - Parameters:
  ///   - purpose: of a closed list; it is in the log.
  ///   - other: instead of the database of all statements.
  func answer<Answer>(
    _ statement: Statement<Answer>, for purpose: String, on other: (any Database)? = nil
  ) async -> Answer? {
    await rows(of: statement.query, for: purpose, on: other).map(statement.answer)
  }

  func rows(
    of query: Query, for purpose: String, on other: (any Database)? = nil
  ) async -> Rows? {
    do throws(QueryFailure) {
      let rows = try await (other ?? database).run(query)
      let wasRefused = refusals.withLock { $0.removeValue(forKey: purpose) != nil }
      if wasRefused {
        logger.info("PostgreSQL accepts the statement again", metadata: ["for": "\(purpose)"])
      }
      return rows
    } catch .refused(let state, let message) where !state.isTransient {
      let reason = "\(state.code) \(message)"
      let isNew = refusals.withLock { $0[purpose, default: Outage()].note(reason) != nil }
      if isNew {
        logger.error(
          "PostgreSQL refused a statement: \(reason)", metadata: ["for": "\(purpose)"])
      }
      return nil
    } catch {
      return nil
    }
  }
}
