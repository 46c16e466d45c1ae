import Chat
import Directory
import Postgres
import Primitives

/// Reads revocations from the database, on the first loop for all: at once after a notification,
/// and otherwise twice a second.
struct RevocationFeed {
  /// See `Standing.revoked`.
  private var horizon: String?
  /// The database to which `horizon` belongs.
  private var database = ""
  private var isInFlight = false
  private var next = Instant.zero

  static let pollMilliseconds: Int64 = 400

  /// Reads at once, after a notification.
  mutating func announce(_ store: inout StoreDriver, now: Instant) {
    next = now
    poll(&store, now: now)
  }

  mutating func poll(_ store: inout StoreDriver, now: Instant) {
    guard store.canRead, !isInFlight, now >= next else { return }
    if database != store.readerDatabase {
      // Another database has other transaction ids, and may lack the last transactions.
      database = store.readerDatabase
      horizon = nil
    }
    next = now.advanced(byMilliseconds: RevocationFeed.pollMilliseconds)
    let statement = Standing.revoked(since: horizon)
    isInFlight = store.enqueue(statement.query, for: .revocations(statement), now: now)
  }

  /// - Returns: the mail to all loops, if connections have to be checked again.
  mutating func finish(
    _ found: Standing.Revoked?, _ store: inout StoreDriver, now: Instant
  ) -> RevocationMail? {
    isInFlight = false
    guard let found, let current = found.horizon else { return nil }
    // The first read gives only the horizon; earlier revocations are unknown.
    let isFirst = horizon == nil
    horizon = current
    // A notification came while the statement was in flight.
    if now >= next { poll(&store, now: now) }
    if isFirst { return .recheck(nil, nil) }
    return found.subjects?.isEmpty == true ? nil : .recheck(found.subjects, nil)
  }
}
