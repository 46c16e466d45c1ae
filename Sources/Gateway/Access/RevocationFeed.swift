import Chat
import Directory
import Postgres
import Primitives

/// What was revoked in the database, read by one loop for all: at once when it is announced
/// (NOTIFY), and twice a second in any case.
struct RevocationFeed {
  /// See `Standing.revoked`.
  private var horizon: String?
  /// The database of the horizon.
  private var database = ""
  private var isUnderWay = false
  private var next = Instant.zero

  static let pollMilliseconds: Int64 = 400

  /// Something was revoked just now.
  mutating func announce(_ store: inout StoreDriver, now: Instant) {
    next = now
    poll(&store, now: now)
  }

  mutating func poll(_ store: inout StoreDriver, now: Instant) {
    guard store.canRead, !isUnderWay, now >= next else { return }
    if database != store.readerDatabase {
      // Another database has other transactions, and may have lost the last ones.
      database = store.readerDatabase
      horizon = nil
    }
    next = now.advanced(byMilliseconds: RevocationFeed.pollMilliseconds)
    let statement = Standing.revoked(since: horizon)
    isUnderWay = store.enqueue(statement.query, for: .revocations(statement), now: now)
  }

  /// - Returns: the mail to all loops, if connections have to be checked again.
  mutating func finish(
    _ found: Standing.Revoked?, _ store: inout StoreDriver, now: Instant
  ) -> RevocationMail? {
    isUnderWay = false
    guard let found, let current = found.horizon else { return nil }
    // The first read says only where to go on, and nothing of what came before it.
    let isFirst = horizon == nil
    horizon = current
    // It was announced while the statement was under way.
    if now >= next { poll(&store, now: now) }
    if isFirst { return .recheck(nil, nil) }
    return found.subjects?.isEmpty == true ? nil : .recheck(found.subjects, nil)
  }
}
