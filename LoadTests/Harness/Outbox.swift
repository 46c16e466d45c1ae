/// The unacknowledged messages of one client, in the order in which they were made.
///
/// The protocol allows several sends in flight, and promises that after a temporary failure of one
/// the later ones fail too. So after a failure nothing is sent until all answers have arrived; then
/// everything unacknowledged is sent again, in order, under the same ids. A lost connection is
/// handled the same way.
import Primitives

struct Outbox {
  struct Entry: Equatable {
    var id: Identifier
    /// Index of the client's subscription.
    var subscription: Int32
    var state = State.waiting
    var wasSent = false
  }

  enum State: UInt8 { case waiting, flying, failed, settled }

  /// `entries[first]` has number `firstNumber`; earlier entries are settled.
  private var entries: [Entry] = []
  private var first = 0
  private var firstNumber = 0
  /// Index of the next entry to send.
  private var cursor = 0
  private(set) var inFlight = 0
  private(set) var unsettled = 0
  /// Set by a failure: nothing is sent before `rewind`.
  private(set) var isHeld = false

  /// The number of the oldest message without an answer; `made` without any.
  var oldestUnsettled: Int { firstNumber }

  /// The number of messages made; numbers count from 0.
  var made: Int { firstNumber + entries.count - first }

  mutating func append(_ id: Identifier, subscription: Int) {
    entries.append(Entry(id: id, subscription: Int32(subscription)))
    unsettled += 1
  }

  /// The next entry to send, if any; `takeNext` marks it as sent.
  var next: Entry? { !isHeld && cursor < entries.count ? entries[cursor] : nil }

  /// Returns whether the entry was sent before.
  mutating func takeNext() -> Bool {
    let isResend = entries[cursor].wasSent
    entries[cursor].state = .flying
    entries[cursor].wasSent = true
    cursor += 1
    inFlight += 1
    skipSettled()
    return isResend
  }

  /// The unsettled entry with this number.
  func entry(_ number: Int) -> Entry? {
    let index = number - firstNumber + first
    guard number >= firstNumber, index < entries.count, entries[index].state != .settled else {
      return nil
    }
    return entries[index]
  }

  /// Handles an ack or a final refusal. The answer to an earlier attempt also settles a message
  /// that waits for its resend.
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

  /// Handles a temporary failure: nothing is sent before all answers have arrived.
  mutating func fail(_ number: Int) {
    let index = number - firstNumber + first
    if entries[index].state == .flying {
      inFlight -= 1
      entries[index].state = .failed
    }
    isHeld = true
  }

  /// Marks all unsettled messages to be sent again, oldest first: after the delay of the last
  /// failure, or on a new connection.
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
