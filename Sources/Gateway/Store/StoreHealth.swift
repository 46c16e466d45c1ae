import Logging
import Postgres

/// Logs the state of PostgreSQL: when it stops answering and when it answers again, and which
/// periodic statements it refuses. Each fact is logged once.
struct StoreHealth {
  private let logger: Logger
  private var wasReady = false
  private var outage = Outage()
  /// Refused periodic statements.
  private var refusals: [PendingQueries.Purpose: Outage] = [:]
  private var hasNotedScope = false

  init(logger: Logger) { self.logger = logger }

  /// - Parameter isReady: PostgreSQL can be written and read.
  /// - Returns: whether that has changed.
  mutating func note(isReady: Bool) -> Bool {
    guard isReady != wasReady else { return false }
    wasReady = isReady
    if isReady {
      _ = outage.end()
      logger.info("PostgreSQL answers")
    }
    return true
  }

  mutating func note(_ reason: String, work: String) {
    switch outage.note(reason) {
    case .begins:
      logger.warning("PostgreSQL does not answer: \(reason)", metadata: ["for": "\(work)"])
    case .changes:
      logger.warning("PostgreSQL still does not answer: \(reason)", metadata: ["for": "\(work)"])
    case nil: break
    }
  }

  /// Logs once if there is a pooler, or if row security does not apply to the readers.
  mutating func noteScope(isFirstLoop: Bool, _ isPooled: Bool, canScope: Bool) {
    guard !hasNotedScope else { return }
    hasNotedScope = true
    guard isFirstLoop else { return }
    if isPooled {
      logger.info(
        "PostgreSQL is behind a pooler: statements are parsed each time instead of prepared")
    }
    guard !canScope else { return }
    logger.warning(
      """
      readers run as the owner of the tables: the role chirrup_reader is missing or not granted; \
      chirrup migrate verify shows how to fix that
      """)
  }

  /// Logs a refused statement, which is a bug of the gateway.
  func note(_ result: Result<Rows, QueryFailure>) {
    guard case .failure(.refused(let state, let message)) = result else { return }
    logger.error("PostgreSQL refused a statement: \(state.code) \(message)")
  }

  /// The same for a periodic statement, once until it succeeds.
  mutating func note(
    _ result: Result<Rows, QueryFailure>, of purpose: PendingQueries.Purpose
  ) {
    switch result {
    case .success:
      guard !refusals.isEmpty, refusals.removeValue(forKey: purpose) != nil else { return }
      logger.info(
        "PostgreSQL accepts the statement again", metadata: ["for": "\(purpose.rawValue)"])
    case .failure(.refused(let state, let message)):
      let reason = "\(state.code) \(message)"
      guard refusals[purpose, default: Outage()].note(reason) != nil else { return }
      logger.error(
        "PostgreSQL refused a statement: \(reason)", metadata: ["for": "\(purpose.rawValue)"])
    case .failure: break
    }
  }
}
