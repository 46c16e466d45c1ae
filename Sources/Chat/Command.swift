public import JSON
public import Primitives

/// The `type` of a client's command.
public enum CommandType: UInt8, Sendable, Named {
  case hello, authenticate, subscribe, unsubscribe, send, history, read, delivered, typing, watch
  case viewing, available, pong

  public var text: StaticString {
    switch self {
    case .hello: "hello"
    case .authenticate: "authenticate"
    case .subscribe: "subscribe"
    case .unsubscribe: "unsubscribe"
    case .send: "send"
    case .history: "history"
    case .read: "read"
    case .delivered: "delivered"
    case .typing: "typing"
    case .watch: "watch"
    case .viewing: "viewing"
    case .available: "available"
    case .pong: "pong"
    }
  }
}

extension CommandType {
  /// Whether the connection must be subscribed to the command's session.
  public var needsSubscription: Bool {
    switch self {
    case .send, .history, .read, .delivered, .typing, .viewing, .unsubscribe: true
    case .hello, .authenticate, .subscribe, .watch, .available, .pong: false
    }
  }
}

/// One decoded command. Texts are ranges of the message's bytes. It has the fields of all types,
/// since `type` may be the last member of the object.
public struct Command: Sendable {
  public typealias Token = JSONScanner.Token

  public var type: CommandType?
  public var ref = Reference.none
  public var session: Identifier?
  public var id: Identifier?
  public var kind: EntryKind?
  public var body: Token?
  public var payload: Token?
  public var token: Token?
  public var preview: Token?
  public var epoch: Token?
  /// The array `subscribe` of `hello`.
  public var subscriptions: Token?
  public var after: Int64?
  public var before: Int64?
  public var tail: Int64?
  public var limit: Int64?
  public var seq: Int64?
  public var active: Bool?
  public var inbox: Bool?
  public var available: Bool?

  public init() {}
}

/// Why a command could not be decoded.
public enum CommandFault: Error, Equatable {
  case json(JSONScanner.Fault)
  case notAnObject
  /// The value of the field has the wrong type or is out of range.
  case field(Field)

  public enum Field: UInt8, Sendable, Equatable {
    case type, ref, session, id, kind, body, payload, token, preview, epoch, subscribe, after
    case before, tail, limit, seq, active, inbox, available

    public var text: StaticString {
      switch self {
      case .type: "type"
      case .ref: "ref"
      case .session: "session"
      case .id: "id"
      case .kind: "kind"
      case .body: "body"
      case .payload: "payload"
      case .token: "token"
      case .preview: "preview"
      case .epoch: "epoch"
      case .subscribe: "subscribe"
      case .after: "after"
      case .before: "before"
      case .tail: "tail"
      case .limit: "limit"
      case .seq: "seq"
      case .active: "active"
      case .inbox: "inbox"
      case .available: "available"
      }
    }
  }
}

/// A client's request id (`ref`), kept as the JSON token that was received: a string of at most
/// `Limits.referenceBytes` or an integer. Stored inline, without an allocation.
public struct Reference: Sendable, Equatable {
  /// Two quotes and `Limits.referenceBytes`.
  public static let byteCountMax = Limits.referenceBytes + 2

  private var bytes: InlineArray<66, UInt8>
  private var length: UInt8

  public static let none = Reference()

  public init() {
    bytes = InlineArray(repeating: 0)
    length = 0
  }

  /// Nil when the token is longer than `byteCountMax`.
  public init?(token: RawSpan) {
    guard token.byteCount <= Reference.byteCountMax else { return nil }
    self.init()
    for offset in 0..<token.byteCount { bytes[offset] = token.byte(at: offset) }
    length = UInt8(token.byteCount)
  }

  public var isEmpty: Bool { length == 0 }

  /// Appends the JSON token.
  public func append(to output: inout [UInt8]) {
    for offset in 0..<Int(length) { output.append(bytes[offset]) }
  }

  func append(to text: inout ShortText) {
    // SAFETY: UInt8 has no padding, and the span does not outlive this statement.
    unsafe text.append(bytes.span.bytes.extracting(0..<Int(length)))
  }

  public static func == (left: Reference, right: Reference) -> Bool {
    guard left.length == right.length else { return false }
    for offset in 0..<Int(left.length) where left.bytes[offset] != right.bytes[offset] {
      return false
    }
    return true
  }
}
