import Chat
import Journal
import Logging
import Postgres
import Primitives

/// Logs refused messages at most once a minute, so that a client that sends many does not fill the
/// log.
struct QuarantineReports {
  private static let milliseconds: Int64 = 60_000

  private var next = Instant.zero

  mutating func report(_ row: QuarantinedRow, _ logger: Logger, now: Instant) {
    guard now >= next else { return }
    next = now.advanced(byMilliseconds: QuarantineReports.milliseconds)
    logger.warning(
      "PostgreSQL refused a message because of its content; see chirrup quarantine show",
      metadata: ["message": "\(row.record.id)", "sqlstate": "\(row.refusal.state.code)"])
  }
}
