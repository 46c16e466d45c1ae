import Chat
import Primitives

/// A send that failed for a while. What the same connection sends into the same session after it
/// fails too until it comes again, so that a client which sends everything again in order keeps its
/// order (Sources/PROTOCOL.md, “Order of one sender”).
struct HeldSend {
  var id: Identifier
  /// Of its first attempt, among the sends of its connection; it wraps.
  var ordinal: UInt32
  /// The sender may have given it up: what is behind it does not wait for ever.
  var until: Instant

  static func until(_ now: Instant) -> Instant {
    now.advanced(byMilliseconds: Limits.suffixMilliseconds)
  }

  /// Failures are not told in the order of the sends (one is refused at the door while older ones
  /// are still in flight, and these fail later), so the oldest one rules.
  static func merge(_ held: inout HeldSend?, _ other: HeldSend) {
    if let old = held, Int32(bitPattern: other.ordinal &- old.ordinal) >= 0 { return }
    held = other
  }
}

/// A connection of another loop that writes into a session of this one.
struct RemoteSender: Hashable {
  var loop: UInt16
  var connection: UInt32
  var generation: UInt32
  var session: Identifier

  init(_ record: Record) {
    loop = record.origin.loop
    connection = record.origin.slot
    generation = record.origin.generation
    session = record.session
  }
}

extension Connection {
  /// The socket is full, so the sender is not read either: no time runs for what it cannot say.
  mutating func stopHolds() {
    for index in subscriptions.indices where subscriptions[index].heldSend != nil {
      subscriptions[index].heldSend?.until = .never
      hasUntoldHold = true
    }
  }

  /// Everything has left: the sender knows what it has to send again.
  mutating func startHolds(now: Instant) {
    guard hasUntoldHold else { return }
    hasUntoldHold = false
    for index in subscriptions.indices where subscriptions[index].heldSend?.until == .never {
      subscriptions[index].heldSend?.until = HeldSend.until(now)
    }
  }

  /// The number of a send on its connection. One that is held keeps the number it had.
  mutating func ordinal(_ subscription: Int?, _ id: Identifier) -> UInt32 {
    if let subscription, let held = subscriptions[subscription].heldSend, held.id == id {
      return held.ordinal
    }
    sendCount &+= 1
    return sendCount
  }
}
