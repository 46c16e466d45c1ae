import Chat
import Journal
import Logging
import Postgres
import Primitives

/// When the log last named a message that PostgreSQL refuses: a client that sends nothing else
/// does not fill the log of the gateway.
struct QuarantineReports {
  private static let milliseconds: Int64 = 60_000

  private var next = Instant.zero

  mutating func report(_ row: QuarantinedRow, _ logger: Logger, now: Instant) {
    guard now >= next else { return }
    next = now.advanced(byMilliseconds: QuarantineReports.milliseconds)
    logger.warning(
      "PostgreSQL refuses a message for what is in it; chirrup quarantine show tells more",
      metadata: ["message": "\(row.record.id)", "sqlstate": "\(row.refusal.state.code)"])
  }
}
