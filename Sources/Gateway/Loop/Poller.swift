import Kernel

/// The loop's epoll and the events of one wait. A turn without time for all of its events skips the
/// rest, and the next turn begins with the first skipped one.
struct Poller: ~Copyable {
  let epoll: Epoll
  private var events = Events(capacity: 1024)
  /// The position of the first event of this turn.
  private var first = 0
  /// The first event of the next turn, if it is reported again.
  private var nextDatum = Datum.none

  init() throws(Errno) { epoll = try Epoll() }

  mutating func wait(milliseconds: Int64) {
    do throws(Errno) {
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(milliseconds))
    } catch {
      preconditionFailure("epoll_wait cannot fail on a valid descriptor: \(error)")
    }
  }

  var count: Int { events.count }

  /// The events in the kernel's order.
  @inline(__always)
  subscript(position: Int) -> Event { events[position] }

  func contains(_ datum: UInt64) -> Bool {
    for position in 0..<events.count where events[position].datum == datum { return true }
    return false
  }

  // MARK: The order of a turn

  /// Rotates the order so that the first skipped event of the last turn comes first.
  mutating func rotate() {
    first = 0
    guard nextDatum != Datum.none else { return }
    for position in 0..<events.count where events[position].datum == nextDatum { first = position }
    nextDatum = Datum.none
  }

  @inline(__always)
  func event(atStep step: Int) -> Event {
    let position = first + step
    return events[position < events.count ? position : position - events.count]
  }

  /// The turn's time is over; the remaining events are skipped.
  var isStopped: Bool { nextDatum != Datum.none }

  /// - Precondition: an event follows this step.
  mutating func stop(afterStep step: Int) {
    nextDatum = event(atStep: step + 1).datum
  }
}

/// The 64 bits that epoll carries with each event. For a client's socket they are its `SocketID`.
enum Datum {
  static let none = UInt64.max
  static let mailbox: UInt64 = 0
  static let writer: UInt64 = 1
  static let reader: UInt64 = 2
  static let listenerMin: UInt64 = 16
  static let socketMin: UInt64 = 1 << 32

  static func listener(_ index: Int) -> UInt64 { listenerMin + UInt64(index) }
}
