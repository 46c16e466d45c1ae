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
