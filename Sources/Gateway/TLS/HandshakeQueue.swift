import Primitives

/// The TLS handshakes of one loop: connections with a whole ClientHello that wait for their turn or
/// for room (`limits.handshakes`), oldest first, and the number of handshakes under way.
/// Bounded by the connections that are accepted in `handshakeMilliseconds`: each enters once, is
/// closed when that time is over, and is skipped afterwards.
struct HandshakeQueue {
  private var waiting: [SocketID] = []
  private var head = 0
  /// Entries that `Admission` refused in a row: once all of them were, the loop may sleep.
  private var refusedInARow = 0
  var underWay = 0

  /// Entries tried in one iteration; each try takes a lock.
  static let looksPerTurn = 32
  /// While others wait, a handshake whose client has not answered for this long ends.
  static let patienceMilliseconds: Int64 = 3_000
  /// Entries that have left and are still kept in front of the others.
  private static let goneMax = 1_024

  var count: Int { waiting.count - head }
  var isEmpty: Bool { count == 0 }
  /// An entry waits that was not refused since the last handshake ended.
  var isDue: Bool { refusedInARow < count }

  mutating func append(_ id: SocketID) { waiting.append(id) }

  mutating func takeFirst() -> SocketID? {
    guard !isEmpty else { return nil }
    let id = waiting[head]
    head += 1
    if head == waiting.count {
      waiting = []
      head = 0
    } else if head == HandshakeQueue.goneMax {
      waiting.removeFirst(head)
      head = 0
    }
    return id
  }

  /// There is no room at all (`limits.handshakes`).
  mutating func putBack(_ id: SocketID) {
    if head > 0 {
      head -= 1
      waiting[head] = id
    } else {
      waiting.insert(id, at: 0)
    }
    refusedInARow = count
  }

  /// Its address has no room: it goes behind the others.
  mutating func refuse(_ id: SocketID) {
    waiting.append(id)
    refusedInARow += 1
  }

  mutating func began() {
    underWay += 1
    refusedInARow = 0
  }

  mutating func ended() {
    underWay -= 1
    refusedInARow = 0
  }
}
