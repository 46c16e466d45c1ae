import Logging
import Postgres

/// Logs the state of PostgreSQL: when it stops answering and when it answers again, and which
/// periodic statements it refuses. Each fact is logged once.
struct StoreHealth {
  private let logger: Logger
  private var wasReady = false
  private var outage = Outage()
  /// Messages are not stored, although PostgreSQL answers.
  private(set) var isPostponing = false
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

  /// - Parameter reason: why messages are not stored, although PostgreSQL answers; nil: they are.
  mutating func note(postponement reason: String?) {
    isPostponing = reason != nil
    guard let reason else { return logger.info("PostgreSQL stores messages again") }
    logger.warning(
      """
      PostgreSQL answers, but does not store messages; their senders try again, and chirrup doctor \
      --only locks says what holds them up: \(reason)
      """)
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

  /// Logs a refused statement of the loop's own, or of the engine (purpose `clients`), once until
  /// one of that purpose succeeds. It is a bug of the gateway or a missing privilege, unless the
  /// server is in a state that passes. That the database is read-only is the reason of an outage,
  /// see `StoreDriver`: its line says it.
  mutating func note(
    _ result: Result<Rows, QueryFailure>, of purpose: PendingQueries.Purpose
  ) {
    switch result {
    case .success:
      guard !refusals.isEmpty, refusals.removeValue(forKey: purpose) != nil else { return }
      logger.info(
        "PostgreSQL accepts the statement again", metadata: ["for": "\(purpose.rawValue)"])
    case .failure(.refused(.readOnlyTransaction, _)): break
    case .failure(.refused(let state, let message)):
      let reason = "\(state.code) \(message)"
      guard refusals[purpose, default: Outage()].note(reason) != nil else { return }
      let metadata: Logger.Metadata = ["for": "\(purpose.rawValue)"]
      if state.isTransient {
        logger.warning(
          "PostgreSQL cannot do this now, and it is tried again: \(reason)", metadata: metadata)
      } else {
        logger.error("PostgreSQL refused a statement: \(reason)", metadata: metadata)
      }
    case .failure: break
    }
  }
}
