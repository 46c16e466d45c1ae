import Kernel

/// The loop's epoll, the events of one wait, and with which of them the turn begins: a turn that
/// had no time for all of its events passes some over, and they are first in the next one.
struct Poller: ~Copyable {
  let epoll: Epoll
  private var events = Events(capacity: 1024)
  /// The position at which this turn begins.
  private var first = 0
  /// The event at which the next turn begins, if it is among its events.
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

  /// The events in the order of the kernel.
  @inline(__always)
  subscript(position: Int) -> Event { events[position] }

  func contains(_ datum: UInt64) -> Bool {
    for position in 0..<events.count where events[position].datum == datum { return true }
    return false
  }

  // MARK: The order of a turn

  /// Turns the order so that the event at which the last turn stopped is the first.
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

  /// The time of the turn is over: the events that follow are passed over.
  var isStopped: Bool { nextDatum != Datum.none }

  /// There is an event behind that step.
  mutating func stop(behindStep step: Int) {
    nextDatum = event(atStep: step + 1).datum
  }
}

/// What an epoll event is about. A socket carries its `SocketID`.
enum Datum {
  static let none = UInt64.max
  static let mailbox: UInt64 = 0
  static let writer: UInt64 = 1
  static let reader: UInt64 = 2
  static let listenerMin: UInt64 = 16
  static let socketMin: UInt64 = 1 << 32

  static func listener(_ index: Int) -> UInt64 { listenerMin + UInt64(index) }
}
