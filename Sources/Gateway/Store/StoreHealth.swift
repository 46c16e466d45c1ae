import Logging
import Postgres

/// What the log says of PostgreSQL: when it stops to answer and when it answers again, and which
/// of the statements that a loop repeats it refuses. Each fact once, however often it comes again.
struct StoreHealth {
  private let logger: Logger
  private var wasReady = false
  private var outage = Outage()
  /// By what each statement is for.
  private var refusals: [PendingQueries.Purpose: Outage] = [:]
  private var hasNotedScope = false

  init(logger: Logger) { self.logger = logger }

  /// Ready: PostgreSQL can be written and read.
  ///
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

  /// Logs once that row security does not bind the readers.
  mutating func noteScope(isFirstLoop: Bool, _ isPooled: Bool, canScope: Bool) {
    guard !hasNotedScope else { return }
    hasNotedScope = true
    guard isFirstLoop else { return }
    if isPooled {
      logger.info(
        "PostgreSQL is reached through a pooler: statements are not prepared, but parsed each time")
    }
    guard !canScope else { return }
    logger.warning(
      """
      readers run as the owner of the tables: the role chirrup_reader is missing or not granted; \
      chirrup migrate verify says what mends it
      """)
  }

  /// A statement that PostgreSQL refuses is a mistake of ours, whoever asked.
  func note(_ result: Result<Rows, QueryFailure>) {
    guard case .failure(.refused(let state, let message)) = result else { return }
    logger.error("PostgreSQL refused a statement: \(state.code) \(message)")
  }

  /// The same for one that comes again and again.
  mutating func note(
    _ result: Result<Rows, QueryFailure>, of purpose: PendingQueries.Purpose
  ) {
    switch result {
    case .success:
      guard !refusals.isEmpty, refusals.removeValue(forKey: purpose) != nil else { return }
      logger.info("PostgreSQL takes the statement again", metadata: ["for": "\(purpose.rawValue)"])
    case .failure(.refused(let state, let message)):
      let reason = "\(state.code) \(message)"
      guard refusals[purpose, default: Outage()].note(reason) != nil else { return }
      logger.error(
        "PostgreSQL refused a statement: \(reason)", metadata: ["for": "\(purpose.rawValue)"])
    case .failure: break
    }
  }
}
