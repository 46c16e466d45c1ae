/// What a trace of a connection needs to begin in the middle of its streams.
public import Chat
public import Primitives
public import Wire

public struct ConnectionTap: Sendable {
  public var name: Identifier
  public var member: Member?
  /// As it stands after the input so far, except `held`.
  public var decoder: MessageDecoder
  /// Input that waits for the verification of a token.
  public var held: [UInt8]
  /// Bytes of output that the socket took or that a flush has offered it.
  public var position: UInt64
  /// Those and the bytes that wait.
  public var queuedPosition: UInt64
}

extension ConnectionTable {
  /// Nil when the connection is gone.
  public func tap(_ connection: ConnectionIndex) -> ConnectionTap? {
    guard isOccupied(connection) else { return nil }
    let position = self[connection].traffic.bytesOut
    return ConnectionTap(
      name: self[connection].name, member: self[connection].member,
      decoder: self[connection].decoder, held: self[connection].held, position: position,
      queuedPosition: position &+ UInt64(self[connection].outbox.count))
  }

  /// A connection's name, and its bytes of output as in `ConnectionTap.position`.
  public func progress(
    of connection: ConnectionIndex
  ) -> (name: Identifier, position: UInt64)? {
    guard isOccupied(connection) else { return nil }
    return (self[connection].name, self[connection].traffic.bytesOut)
  }
}
