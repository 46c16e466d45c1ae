import Engine
import Kernel
import Primitives

/// The time of one turn, the same for all of its work, and the time budget of its parts. Budgets
/// keep a loop responsive under load: a thousand readable sockets, a hundred answers of the
/// database, a conversation with ten thousand subscribers.
///
/// Each part handles at least one item and reads the clock after each. Items that are left when its
/// budget is used up keep their order and are handled in the next turn, which does not wait. One
/// item takes bounded time, since its input is bounded.
struct Turn {
  let now: Instant
  let wall: WallTime

  init() {
    now = SystemClock.now()
    wall = SystemClock.wallTime()
  }

  /// Milliseconds after the beginning of the turn; a part begins no further item after that.
  enum Limit: Int64 {
    case mail = 4
    case sockets = 8
    case store = 9
    case output = 11
    case closing = 12
  }

  func isOver(_ limit: Limit) -> Bool {
    SystemClock.now() >= now.advanced(byMilliseconds: limit.rawValue)
  }
}

/// Mail that a loop has taken out of its mailbox and not handled yet, since a turn may have time
/// for a part of it only.
struct MailQueue {
  private var items: [LoopMail] = []
  private var takenCount = 0

  var isEmpty: Bool { takenCount == items.count }

  /// Empties the mailbox; its mail follows what is left in the queue.
  mutating func fill(from mailbox: Mailbox) {
    guard isEmpty else {
      var more: [LoopMail] = []
      mailbox.drain(into: &more)
      items += more
      return
    }
    items.removeAll(keepingCapacity: true)
    takenCount = 0
    mailbox.drain(into: &items)
  }

  mutating func next() -> LoopMail? {
    guard !isEmpty else { return nil }
    defer {
      takenCount += 1
      if isEmpty {
        items.removeAll(keepingCapacity: true)
        takenCount = 0
      }
    }
    return items[takenCount]
  }
}

/// The connections with output at the end of a turn, and the bytes of the one being written. A turn
/// without time for all of them leaves the rest to the next one.
struct OutputQueue {
  private var connections: [ConnectionIndex] = []
  private var doneCount = 0
  /// The bytes for one socket; reused storage.
  var bytes: [UInt8] = []

  /// Bytes of storage that are kept after a burst of large answers.
  private static let keptBytesMax = 4 * 1_048_576

  var hasLeft: Bool { doneCount < connections.count }

  /// Takes the connections of this turn, unless some of the last turn are left.
  mutating func fill(from engine: inout Engine) {
    guard !hasLeft else { return }
    engine.connections.takeDirty(into: &connections)
    doneCount = 0
  }

  mutating func next() -> ConnectionIndex? {
    guard hasLeft else { return nil }
    doneCount += 1
    return connections[doneCount - 1]
  }

  mutating func trim() {
    if bytes.capacity > OutputQueue.keptBytesMax { bytes = [] }
  }
}
