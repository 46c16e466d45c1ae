/// The messages of one client that no ack has named yet, in the order they were made.
///
/// The protocol lets a client keep several sends in flight, and promises that when one fails for
/// a while the later ones fail too. So after a failure nothing is sent until every answer is in;
/// then everything unacknowledged goes again, in order, under the same ids. A lost connection is
/// the same case.
import Primitives

struct Outbox {
  struct Entry: Equatable {
    var id: Identifier
    /// Which of the client's subscriptions it goes to.
    var subscription: Int32
    var state = State.waiting
    var wasSent = false
  }

  enum State: UInt8 { case waiting, flying, failed, settled }

  /// `entries[first]` has number `firstNumber`; what lies before it is settled.
  private var entries: [Entry] = []
  private var first = 0
  private var firstNumber = 0
  /// The next entry to send, as an index of `entries`.
  private var cursor = 0
  private(set) var inFlight = 0
  private(set) var unsettled = 0
  /// Set by a failure: nothing may be sent before `rewind`.
  private(set) var isHeld = false

  /// The number of the oldest message without an answer; `made` when there is none.
  var oldestUnsettled: Int { firstNumber }

  /// How many messages were ever made; numbers count from 0.
  var made: Int { firstNumber + entries.count - first }

  mutating func append(_ id: Identifier, subscription: Int) {
    entries.append(Entry(id: id, subscription: Int32(subscription)))
    unsettled += 1
  }

  /// The entry that is to be sent next, if any; `takeNext` sends it.
  var next: Entry? { !isHeld && cursor < entries.count ? entries[cursor] : nil }

  /// Returns whether it had been sent before.
  mutating func takeNext() -> Bool {
    let isResend = entries[cursor].wasSent
    entries[cursor].state = .flying
    entries[cursor].wasSent = true
    cursor += 1
    inFlight += 1
    skipSettled()
    return isResend
  }

  /// The entry of a number that is still unsettled.
  func entry(_ number: Int) -> Entry? {
    let index = number - firstNumber + first
    guard number >= firstNumber, index < entries.count, entries[index].state != .settled else {
      return nil
    }
    return entries[index]
  }

  /// An ack or a final refusal. An answer to an earlier attempt settles a message that waits to
  /// be resent.
  mutating func settle(_ number: Int) {
    let index = number - firstNumber + first
    if entries[index].state == .flying { inFlight -= 1 }
    entries[index].state = .settled
    unsettled -= 1
    while first < entries.count, entries[first].state == .settled {
      first += 1
      firstNumber += 1
    }
    cursor = max(cursor, first)
    skipSettled()
    if first > 64, first * 2 > entries.count { compact() }
  }

  /// A temporary failure of one entry: the pipeline is emptied before anything is sent again.
  mutating func fail(_ number: Int) {
    let index = number - firstNumber + first
    if entries[index].state == .flying {
      inFlight -= 1
      entries[index].state = .failed
    }
    isHeld = true
  }

  /// Everything unsettled waits again, oldest first: after the last failure's delay, or a new
  /// connection.
  mutating func rewind() {
    for index in first..<entries.count where entries[index].state != .settled {
      entries[index].state = .waiting
    }
    cursor = first
    inFlight = 0
    isHeld = false
    skipSettled()
  }

  private mutating func skipSettled() {
    while cursor < entries.count, entries[cursor].state == .settled { cursor += 1 }
  }

  private mutating func compact() {
    entries.removeFirst(first)
    cursor -= first
    first = 0
  }
}
