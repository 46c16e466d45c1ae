import Primitives

/// Connections of one loop with a complete ClientHello that wait for a place among the handshakes
/// (`limits.handshakes`), oldest first, and the number of handshakes under way. Bounded by the
/// connections accepted in `TLSDriver.handshakeMilliseconds`: each enters once, is closed after
/// that time, and is skipped afterwards.
struct HandshakeQueue {
  private var waiting: [SocketID] = []
  private var head = 0
  /// Entries that `Admission` refused in a row. When all were refused, the loop may sleep.
  private var refusedInARow = 0
  var underWay = 0

  /// Entries tried in one turn; each takes a lock.
  static let triesPerTurn = 32
  /// Time for a handshake while others wait for its place.
  static let patienceMilliseconds: Int64 = 3_000
  /// Taken entries at the front of the array before it is compacted.
  private static let takenMax = 1_024

  var count: Int { waiting.count - head }
  var isEmpty: Bool { count == 0 }
  /// Whether an entry waits that was not refused since the last handshake ended.
  var isDue: Bool { refusedInARow < count }

  mutating func append(_ id: SocketID) { waiting.append(id) }

  mutating func takeFirst() -> SocketID? {
    guard !isEmpty else { return nil }
    let id = waiting[head]
    head += 1
    if head == waiting.count {
      waiting = []
      head = 0
    } else if head == HandshakeQueue.takenMax {
      waiting.removeFirst(head)
      head = 0
    }
    return id
  }

  /// There is no place at all (`limits.handshakes`): the entry stays first.
  mutating func putBack(_ id: SocketID) {
    if head > 0 {
      head -= 1
      waiting[head] = id
    } else {
      waiting.insert(id, at: 0)
    }
    refusedInARow = count
  }

  /// There is no place for its address: the entry becomes the last.
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
