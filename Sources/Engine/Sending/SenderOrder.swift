import Chat
import Primitives

/// Why a send must be repeated later, and when.
struct Wait {
  var refusal: Refusal
  var milliseconds: Int64
  /// Nil: that of the refusal.
  var sentence: StaticString?

  init(_ refusal: Refusal, _ milliseconds: Int64, _ sentence: StaticString? = nil) {
    self.refusal = refusal
    self.milliseconds = milliseconds
    self.sentence = sentence
  }
}

/// A send that failed for now. Later sends of the same connection into the same session fail for
/// the same reason, until it arrives again. So a client that repeats everything in order keeps its
/// order (Sources/PROTOCOL.md, “Order of one sender”).
struct HeldSend {
  var id: Identifier
  /// The number of its first attempt among the sends of its connection; it wraps.
  var ordinal: UInt32
  /// Later sends get the same answer: a client that sent too much is not told of an outage.
  var wait: Wait
  /// The client may have given the message up, so it delays the others only until then.
  var until: Instant

  static func until(_ now: Instant) -> Instant {
    now.advanced(byMilliseconds: Limits.suffixMilliseconds)
  }

  /// Keeps the oldest send. Failures arrive out of order: a send may be refused at once while older
  /// ones are in flight, which fail later.
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
    connection = record.origin.index
    generation = record.origin.generation
    session = record.session
  }
}

extension SendPipeline {
  /// Holds back the sends behind a failed one: see `HeldSend`.
  func suspend(
    _ connection: ConnectionIndex, _ session: Identifier, behind id: Identifier, ordinal: UInt32,
    for wait: Wait, _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable
  ) {
    guard let index = sessions.index(of: session),
      let subscription = connections.subscription(connection, of: index, sessions)
    else { return }
    // The deadline starts when the refusal has left the outbox: on a slow network, the output
    // before it may take longer than the whole delay.
    connections[connection].sends.hasUnstartedHold = true
    HeldSend.merge(
      &connections[connection].subscriptions[subscription].heldSend,
      HeldSend(id: id, ordinal: ordinal, wait: wait, until: .never))
  }
}

extension Connection {
  /// Stops the deadlines of held sends. While the socket is full, the connection is not read, so
  /// the client cannot repeat a send.
  mutating func stopHolds() {
    for index in subscriptions.indices where subscriptions[index].heldSend != nil {
      subscriptions[index].heldSend?.until = .never
      sends.hasUnstartedHold = true
    }
  }

  /// Starts the deadlines: all output has left, so the client has received the refusals.
  mutating func startHolds(now: Instant) {
    guard sends.hasUnstartedHold else { return }
    sends.hasUnstartedHold = false
    for index in subscriptions.indices where subscriptions[index].heldSend?.until == .never {
      subscriptions[index].heldSend?.until = HeldSend.until(now)
    }
  }

  /// The number of a send on its connection. A held send keeps the number it had.
  mutating func ordinal(_ subscription: SubscriptionIndex?, _ id: Identifier) -> UInt32 {
    if let subscription, let held = subscriptions[subscription].heldSend, held.id == id {
      return held.ordinal
    }
    sends.count &+= 1
    return sends.count
  }
}
