import Chat
import Journal
import Logging
import Postgres
import Primitives

/// Messages that PostgreSQL will never take go into the table `quarantine`, over the reader's
/// connection: whether that works or not, the log does not wait for it.
extension EventLoop {
  /// A client that sends nothing but poison does not fill the log of the gateway.
  private static let quarantineRemarkMilliseconds: Int64 = 60_000

  mutating func keepQuarantined() {
    let quarantined = writer.takeQuarantined()
    metrics.quarantineDropped &+= quarantined.dropped
    guard let first = quarantined.rows.first else { return }
    if now >= nextQuarantineRemark {
      nextQuarantineRemark = now.advanced(byMilliseconds: EventLoop.quarantineRemarkMilliseconds)
      logger.warning(
        "PostgreSQL refuses a message for what is in it; chirrup quarantine show tells more",
        metadata: ["message": "\(first.record.id)", "sqlstate": "\(first.refusal.state.code)"])
    }
    for row in quarantined.rows
    where !queries.ask(Quarantine.storeQuery(row), for: .quarantine, of: &reader, now: now) {
      metrics.quarantineDropped &+= 1
    }
  }

  /// No row was touched: the workspace has its share in the table already.
  mutating func noteQuarantined(_ result: Result<Rows, QueryFailure>) {
    if case .success(let rows) = result, rows.affected > 0 {
      metrics.quarantined &+= 1
    } else {
      metrics.quarantineDropped &+= 1
    }
  }
}
