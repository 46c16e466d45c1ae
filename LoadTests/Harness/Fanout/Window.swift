/// Messages in flight to many subscribers: their due times, and the number of missing deliveries.
/// Pure.
///
/// Messages are numbered 0, 1, 2, … and arrive in this order, so a subscriber's count is the number
/// of its next message.
import Histogram
import Primitives

struct Window {
  private let subscribers: Int
  private let mask: Int
  private var missing: [Int32]
  private var times: [Instant]
  /// Published messages, and those of them that all subscribers have.
  private(set) var published = 0
  private(set) var settled = 0

  /// `pendingMax` is rounded up to a power of two.
  init(subscribers: Int, pendingMax: Int) {
    self.subscribers = subscribers
    var capacity = 1
    while capacity < pendingMax { capacity *= 2 }
    mask = capacity - 1
    missing = Array(repeating: 0, count: capacity)
    times = Array(repeating: .zero, count: capacity)
  }

  var pending: Int { published - settled }
  var hasRoom: Bool { pending <= mask }

  /// Adds one message with its due time.
  mutating func publish(_ due: Instant) {
    precondition(hasRoom, "too many messages under way")
    missing[published & mask] = Int32(subscribers)
    times[published & mask] = due
    published += 1
  }

  /// A subscriber has received messages `first..<first + count`.
  @inline(__always)
  mutating func arrive(
    _ first: Int, _ count: Int, _ now: Instant, _ latency: inout Histogram<UInt64>, records: Bool
  ) {
    for number in first..<first &+ count {
      missing[number & mask] &-= 1
      if records { latency.record(microseconds(since: times[number & mask], now)) }
    }
  }

  /// Removes the oldest messages that all subscribers have.
  mutating func settle() {
    while settled < published, missing[settled & mask] == 0 { settled += 1 }
  }
}
