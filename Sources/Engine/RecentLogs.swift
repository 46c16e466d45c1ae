import Chat
import Primitives

/// How much all sessions of a loop hold of their recent messages, and which gives its up when that
/// is more than `Configuration.recentBytesMax`: one to which nothing was said since the hand came
/// by the last time (the clock algorithm), so that a message costs no more than a flag, and no
/// list. What is not in memory is read from the database.
struct RecentLogs {
  var byteCount = 0
  /// Slot of the session that is looked at next.
  var hand = 0
}

extension Engine {
  /// Bytes of recent messages of this loop's sessions.
  public var recentByteCount: Int { recent.byteCount }

  /// Counts what a session's log has gained or lost.
  mutating func countLog(_ index: Int) { recent.byteCount += sessions[at: index].log.recount() }

  /// Forgets the recent messages of a session.
  mutating func emptyLog(_ index: Int) {
    recent.byteCount -= sessions[at: index].log.countedByteCount
    sessions[index].log = RecentLog(head: sessions[index].head)
  }

  /// Makes room, somewhat more than is needed, so that it need not be made for every message. Call
  /// it when no session has anything that its followers were not told.
  mutating func dropRecent() {
    guard recent.byteCount > configuration.recentBytesMax else { return }
    let goal = configuration.recentBytesMax / 8 * 7
    // Each is looked at twice: once to take its flag away.
    var looks = 2 * sessions.endIndex
    while recent.byteCount > goal, looks > 0 {
      looks -= 1
      recent.hand = recent.hand + 1 < sessions.endIndex ? recent.hand + 1 : 0
      let index = recent.hand
      guard sessions.isOccupied(index), !sessions[at: index].log.isEmpty,
        !sessions[at: index].isDirty, !sessions[at: index].log.takeFreshness()
      else { continue }
      emptyLog(index)
      counters.recentDrops += 1
    }
  }
}
