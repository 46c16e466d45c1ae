/// A connection as the journal shows it, open or ended: one value for the log, the REST API and the
/// command line. config/LOG.md documents the fields.
public import JSON
public import Primitives

public struct ConnectionRecord: Sendable {
  public enum State: String, Sendable, CaseIterable {
    case open
    /// The socket is full: the client does not read, or the network does not deliver.
    case slow
    case ended
  }

  /// The party, once its token was verified.
  public struct Party: Sendable {
    public var id: Identifier
    public var isOperator: Bool
    public var workspace: Identifier

    public init(id: Identifier, isOperator: Bool, workspace: Identifier) {
      self.id = id
      self.isOperator = isOperator
      self.workspace = workspace
    }
  }

  public struct End: Sendable {
    public var at: WallTime
    public var code: UInt16
    public var reason: String
    /// `peer`, `gateway`, `network`, `kick` or `shutdown`.
    public var side: String

    public init(at: WallTime, code: UInt16, reason: String, side: String) {
      self.at = at
      self.code = code
      self.reason = reason
      self.side = side
    }
  }

  /// Bytes of the WebSocket, before TLS; messages that the party has sent, and entries of sessions
  /// that were sent to it.
  public struct Traffic: Sendable {
    public var bytesIn: UInt64
    public var bytesOut: UInt64
    public var messagesIn: UInt64
    public var messagesOut: UInt64

    public init(bytesIn: UInt64, bytesOut: UInt64, messagesIn: UInt64, messagesOut: UInt64) {
      self.bytesIn = bytesIn
      self.bytesOut = bytesOut
      self.messagesIn = messagesIn
      self.messagesOut = messagesOut
    }
  }

  /// A version 7 id, so the order of ids is the order in which connections were opened.
  public var id: Identifier
  public var party: Party?
  /// The first sessions that it followed, of `sessionCount`.
  public var sessions: [Identifier] = []
  public var sessionCount = 0
  public var address = ""
  /// The id of the gateway's process.
  public var gateway: Identifier
  public var loop: Int
  public var openedAt: WallTime
  public var milliseconds: Int64 = 0
  /// For how long its socket has been full; nil: it is not.
  public var slowMilliseconds: Int64?
  public var traffic = Traffic(bytesIn: 0, bytesOut: 0, messagesIn: 0, messagesOut: 0)
  public var end: End?

  public init(id: Identifier, gateway: Identifier, loop: Int, openedAt: WallTime) {
    self.id = id
    self.gateway = gateway
    self.loop = loop
    self.openedAt = openedAt
  }

  public var state: State { end != nil ? .ended : slowMilliseconds != nil ? .slow : .open }
}

extension ConnectionRecord {
  public enum Field: String, CaseIterable, Sendable {
    case id, workspace, visitor
    case operator_ = "operator"
    case sessions
    case sessionCount = "session_count"
    case address, gateway, loop, state
    case openedAt = "opened_at"
    case endedAt = "ended_at"
    case code, reason
    case closedBy = "closed_by"
    case duration = "duration_ms"
    case slow = "slow_ms"
    case bytesIn = "bytes_in"
    case bytesOut = "bytes_out"
    case messagesIn = "messages_in"
    case messagesOut = "messages_out"
  }

  public func value(_ field: Field) -> JSONValue {
    switch field {
    case .id: .string("\(id)")
    case .workspace: .text(party.map { "\($0.workspace)" })
    case .visitor: .text(party.flatMap { $0.isOperator ? nil : "\($0.id)" })
    case .operator_: .text(party.flatMap { $0.isOperator ? "\($0.id)" : nil })
    case .sessions: .array(sessions.map { .string("\($0)") })
    case .sessionCount: .int(sessionCount)
    case .address: .string(address)
    case .gateway: .string("\(gateway)")
    case .loop: .int(loop)
    case .state: .string(state.rawValue)
    case .openedAt: .string("\(openedAt)")
    case .endedAt: .text(end.map { "\($0.at)" })
    case .code: end.map { .int(Int($0.code)) } ?? .null
    case .reason: .text(end?.reason)
    case .closedBy: .text(end?.side)
    case .duration: .number("\(milliseconds)")
    case .slow: slowMilliseconds.map { .number("\($0)") } ?? .null
    case .bytesIn: .number("\(traffic.bytesIn)")
    case .bytesOut: .number("\(traffic.bytesOut)")
    case .messagesIn: .number("\(traffic.messagesIn)")
    case .messagesOut: .number("\(traffic.messagesOut)")
    }
  }
}
