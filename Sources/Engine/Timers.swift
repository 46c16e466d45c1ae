import Chat
import Primitives
import Wire

/// Everything that happens because time passed. One sweep over all connections, twice a second,
/// instead of a timer for each: nothing has to be kept in order. Of an idle connection the sweep
/// reads one word (`ConnectionTable.isCheckDue`): 20,000 of them in some microseconds, where their
/// records would have to come from memory, line by line.
extension Engine {
  public static let sweepMilliseconds: Int64 = 500

  public mutating func sweep() {
    sweepChecks = 0
    connections.prepareSweep()
    for connection in connections.indices where connections.isCheckDue(connection, now) {
      sweepChecks += 1
      if let expiry = connections.check(connection, sessions, now: now) {
        close(connection, expiry.code, expiry.reason)
      }
      connections.setNextCheck(connection, connections.nextCheck(connection, sessions))
    }
    for index in sessions.indices where sessions.isOccupied(index) { checkSession(index) }
    sending.expire(sessions, &connections, &effects, now: now)
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
    evict(index)
  }
}
