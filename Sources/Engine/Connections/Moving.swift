public import Chat
public import Primitives
public import Wire

/// Connections that come and move. A visitor's connection moves once, after its hello, to the loop
/// that owns its session; any other stays on the loop that accepted it.
extension ConnectionTable {
  /// Adds a connection whose upgrade was answered. Returns nil when the table is full.
  /// - Parameter name: a random id, which the deterministic engine cannot make.
  public mutating func accept(
    name: Identifier, isEcho: Bool, deflate: DeflateAgreement? = nil, now: Instant
  ) -> ConnectionID? {
    let limits =
      isEcho
      ? MessageLimits(messageBytes: EchoLimits.messageBytes, fragments: EchoLimits.fragments)
      : MessageLimits(messageBytes: Limits.helloBytes, fragments: Limits.messageFragments)
    return insert(
      Connection(
        name: name, purpose: isEcho ? .echo : .chat, limits: limits, deflate: deflate, now: now))
  }

  /// Whether a verified hello moves the connection to another loop, which then welcomes it.
  public func moves(_ id: ConnectionID, as member: Member, _ effects: borrowing Effects) -> Bool {
    guard contains(id), self[id.index].phase == .authenticating else { return false }
    return effects.loopToMove(member) != nil
  }

  /// Removes a connection that moves, for `adopt` on the other loop. Returns nil when it is gone.
  public mutating func depart(_ id: ConnectionID) -> Departure? {
    guard contains(id), let member = self[id.index].member else { return nil }
    let gone = remove(id.index)
    return Departure(
      member: member, hello: gone.hello, held: gone.held, outbox: gone.outbox,
      openedAt: gone.timing.openedAt, traffic: gone.traffic, name: gone.name,
      deflate: gone.deflate, contexts: gone.contexts)
  }

  /// Adds a connection that another loop has verified. Returns nil when the table is full. Call
  /// `Engine.settle` once the driver has recorded the connection.
  public mutating func adopt(_ departure: Departure, now: Instant) -> ConnectionID? {
    guard
      let id = accept(name: departure.name, isEcho: false, deflate: departure.deflate, now: now)
    else { return nil }
    let connection = id.index
    // The next compressed message may refer to the hello.
    self[connection].contexts = departure.contexts
    self[connection].member = departure.member
    self[connection].hello = departure.hello
    if !departure.held.isEmpty { self[connection].held = departure.held }
    if !departure.outbox.isEmpty {
      self[outbox: connection].append(contentsOf: departure.outbox)
    }
    self[connection].timing.openedAt = departure.openedAt
    self[connection].traffic = departure.traffic
    self[connection].phase = .authenticating
    setPaused(connection, true)
    return id
  }
}

/// A visitor's connection that moves to the loop that owns its session.
public struct Departure: Sendable {
  public var member: Member
  /// The message with the hello, and the input received after it.
  public var hello: [UInt8]
  public var held: [UInt8]
  /// Output that the socket has not taken yet: even the 101 response, if the hello came with the
  /// request.
  var outbox: [UInt8]
  public var openedAt: Instant
  var traffic: Traffic
  public var name: Identifier
  var deflate: DeflateAgreement?
  var contexts: DeflateContexts?
}

/// The limits of the endpoint that `--debug-echo` adds: the same transport and framing as the chat,
/// with an echo as handler.
public enum EchoLimits {
  public static let messageBytes = 16 * 1_048_576
  /// 65,536 with payload, and the empty final one that some senders add.
  public static let fragments = 65_537
}
