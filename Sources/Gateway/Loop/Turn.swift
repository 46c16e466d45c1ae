import Kernel
import Primitives

/// The time of one turn, the same for everything in it, and how long its parts may go on, so that
/// nobody holds a loop by being many: a thousand sockets that have something to say, a hundred
/// answers of the database, a conversation with ten thousand followers.
///
/// Each part of a turn does at least one thing, and looks at the clock behind each. What is left
/// when its time is over is the next turn's, which does not wait; the order of the others stays as
/// it was. How long one thing takes is bounded by the bounds of its input.
struct Turn {
  let now: Instant
  let wall: WallTime

  /// A turn that begins now.
  init() {
    now = SystemClock.now()
    wall = SystemClock.wallTime()
  }

  /// Milliseconds from the beginning of the turn until which each part begins something.
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
