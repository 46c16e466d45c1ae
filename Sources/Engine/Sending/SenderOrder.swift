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

extension Engine {
  /// Why a send cannot be taken now, or nil when it can. Whatever is refused here is temporary, so
  /// everything behind it in the same session is refused too until it comes again.
  mutating func waitBeforeSend(
    _ connection: ConnectionIndex, _ subscription: Int, _ id: Identifier
  ) -> (refusal: Refusal, milliseconds: Int64)? {
    if let held = connections[connection].subscriptions[subscription].heldSend {
      if held.id != id && now < held.until {
        return (.unavailable, breaker.wait(salt: connections[connection].salt, now: now))
      }
      connections[connection].subscriptions[subscription].heldSend = nil
    }
    if connections[connection].inFlight >= Limits.inFlight { return (.rateLimited, 100) }
    let wait = connections[connection].sendBucket.take(
      perSecond: Limits.sendsPerSecond, burst: Limits.sendsBurst, now: now)
    if wait > 0 {
      connections[connection].overRate += 1
      return (.rateLimited, wait)
    }
    connections[connection].overRate = max(0, connections[connection].overRate - 1)
    if isStoreGivenUp {
      return (.unavailable, breaker.wait(salt: connections[connection].salt, now: now))
    }
    return nil
  }

  /// The number of a send on its connection. One that is held keeps the number it had.
  mutating func ordinal(_ connection: ConnectionIndex, _ subscription: Int?, _ id: Identifier)
    -> UInt32
  {
    if let subscription, let held = connections[connection].subscriptions[subscription].heldSend,
      held.id == id
    {
      return held.ordinal
    }
    connections[connection].sendCount &+= 1
    return connections[connection].sendCount
  }

  mutating func suspend(
    _ connection: ConnectionIndex, _ session: Identifier, behind id: Identifier, ordinal: UInt32
  ) {
    guard let index = sessions.index(of: session),
      let subscription = subscription(connection, of: index)
    else { return }
    // The time to come again begins when the sender can have heard of it: a slow link may take
    // longer for the answers before this one than the whole of it.
    connections[connection].hasUntoldHold = true
    HeldSend.merge(
      &connections[connection].subscriptions[subscription].heldSend,
      HeldSend(id: id, ordinal: ordinal, until: .never))
  }

  // MARK: Senders of other loops

  /// Between a refusal here and the moment the sender's loop hears of it, later sends are already
  /// on their way: they are held here.
  mutating func isHeld(_ record: Record) -> Bool {
    guard !record.origin.isRequest, Int(record.origin.loop) != loop, !remoteHeld.isEmpty else {
      return false
    }
    let sender = RemoteSender(record)
    guard let held = remoteHeld[sender] else { return false }
    if held.id != record.id && now < held.until { return true }
    remoteHeld[sender] = nil
    return false
  }

  mutating func hold(_ record: Record) {
    guard !record.origin.isRequest, Int(record.origin.loop) != loop else { return }
    if remoteHeld.count >= Limits.heldSenders {
      remoteHeld = remoteHeld.filter { now < $0.value.until }
      // An outage that many senders run into at once; their own loops hold them a little later.
      if remoteHeld.count >= Limits.heldSenders { return }
    }
    HeldSend.merge(
      &remoteHeld[RemoteSender(record)],
      HeldSend(id: record.id, ordinal: record.origin.ordinal, until: heldUntil))
  }

  private var heldUntil: Instant { HeldSend.until(now) }
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
}
