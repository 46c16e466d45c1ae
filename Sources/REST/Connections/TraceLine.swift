/// A line of a trace: a frame of a traced connection, without its content.
import JSON
public import Primitives

public struct TraceLine: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// The client has sent it.
    case received
    /// The gateway has sent it.
    case sent
    /// A connection of the traced visitor or operator begins to be traced.
    case opened
    /// The connection has ended.
    case ended
  }

  public var at: WallTime
  public var connection: Identifier
  public var kind: Kind
  /// `text`, `binary`, `ping`, `pong` or `close`.
  public var frame: String?
  /// Of a command or an event without compression; of other frames their payload.
  public var bytes = 0
  public var isDeflated = false
  /// The command or the event. Always a name of ours, never a text of the peer.
  public var type: String?
  public var session: Identifier?
  public var seq: Int64?
  /// Of an error or a close.
  public var code: String?
  /// Of an end.
  public var reason: String?

  public init(at: WallTime, connection: Identifier, kind: Kind) {
    self.at = at
    self.connection = connection
    self.kind = kind
  }
}

extension TraceLine {
  /// - Parameter number: the position in its trace.
  func append(number: Int64, to json: inout [UInt8]) {
    json += [UInt8].object {
      $0.appendMember("n", number)
      $0.appendMember("at", at)
      $0.appendMember("connection", connection)
      $0.appendMember("kind", kind.rawValue)
      $0.appendMember("frame", orNull: frame)
      $0.appendMember("bytes", Int64(bytes))
      $0.appendMember("deflated", isDeflated)
      $0.appendMember("type", orNull: type)
      $0.appendMember("session", orNull: session)
      $0.appendMember("seq", orNull: seq)
      $0.appendMember("code", orNull: code)
      $0.appendMember("reason", orNull: reason)
    }
  }
}
