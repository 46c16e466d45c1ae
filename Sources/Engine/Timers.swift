import Chat
import Primitives
import Wire

/// Actions that time alone causes. One sweep over all connections, twice a second, replaces a
/// timer for each, and no order has to be kept. The sweep reads one word of an idle connection
/// (`CheckSchedule`), so 20,000 of them take some microseconds; their records would have to be
/// fetched from memory line by line.
extension Engine {
  public static let sweepMilliseconds: Int64 = 500

  public mutating func sweep() {
    sweepChecks = 0
    connections.checks.extend(to: connections.indices.upperBound)
    for connection in connections.indices
    where connections.checks.isDue(connection, now) && connections.isOccupied(connection) {
      sweepChecks += 1
      if let expiry = connections.check(connection, sessions, now: now) {
        close(connection, expiry.code, expiry.reason)
      }
      connections.checks.set(connection, connections.nextCheck(connection, sessions))
    }
    for index in sessions.indices where sessions.isOccupied(index) { checkSession(index) }
    presence.sweep(sessions, &connections, &effects, now: now)
    sending.expire(sessions, &connections, &effects, now: now)
    sending.quotas.settle(now: now)
  }

  private mutating func checkSession(_ index: SessionIndex) {
    if isStoreReachable {
      sessions.storeMarks(index, &effects, now: now)
      if sessions[index].isStale, sessions[index].phase == .ready {
        sessions.reread(index, &effects)
      }
    }
    sessions.forgetRecent(index, now: now)
    guard sessions[index].isIdle, !sessions[index].isDirty,
      now.milliseconds(since: sessions[index].idleSince) >= Limits.sessionIdleMilliseconds
    else { return }
    sessions.evict(index, &presence, &effects)
  }
}
