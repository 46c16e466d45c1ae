import Primitives

/// The client's half of the opening handshake (RFC 6455 §4.1): the request, and the validation
/// of the response. Used by the load tests and our other clients.
public struct UpgradeRequest: Sendable {
  public enum Answer: Equatable, Sendable {
    /// The subprotocol the server chose, if any.
    case accepted(subprotocol: String?)
    /// A plain HTTP response: 403, 429, 503 and so on.
    case refused(status: Int)
    /// A 101 that does not follow the RFC; the connection must be failed.
    case invalid(StaticString)

    public static func == (left: Answer, right: Answer) -> Bool {
      switch (left, right) {
      case (.accepted(let one), .accepted(let other)): one == other
      case (.refused(let one), .refused(let other)): one == other
      case (.invalid(let one), .invalid(let other)): one.description == other.description
      default: false
      }
    }
  }

  public var host: String
  /// Path and query, already escaped.
  public var target: String
  public var subprotocol: String?
  /// Whether to offer permessage-deflate, with every window that zlib can inflate.
  public var offersDeflate = false
  /// More fields, for example Origin. Control characters in values become spaces.
  public var fields: [(name: StaticString, value: String)]
  /// Base64 of the 16 random bytes.
  public let key: String

  /// `random` is 16 bytes of the caller's randomness.
  public init(
    host: String, target: String, subprotocol: String? = nil,
    fields: [(name: StaticString, value: String)] = [], random: (UInt64, UInt64)
  ) {
    self.host = host
    self.target = target
    self.subprotocol = subprotocol
    self.fields = fields
    var bytes: [UInt8] = []
    bytes.append(bigEndian: random.0)
    bytes.append(bigEndian: random.1)
    var text: [UInt8] = []
    Base64.standard.append(bytes, padded: true, to: &text)
    key = String(decoding: text, as: UTF8.self)
  }

  public func append(to bytes: inout [UInt8]) {
    bytes.append("GET ")
    appendFieldValue(target, to: &bytes)
    bytes.append(" HTTP/1.1\r\n")
    ResponseHead.appendField("Host", host, to: &bytes)
    ResponseHead.appendField("Upgrade", "websocket", to: &bytes)
    ResponseHead.appendField("Connection", "Upgrade", to: &bytes)
    ResponseHead.appendField("Sec-WebSocket-Key", key, to: &bytes)
    ResponseHead.appendField("Sec-WebSocket-Version", "13", to: &bytes)
    if let subprotocol {
      ResponseHead.appendField("Sec-WebSocket-Protocol", subprotocol, to: &bytes)
    }
    if offersDeflate {
      ResponseHead.appendField(
        "Sec-WebSocket-Extensions",
        DeflateAgreement.extensionName + "; client_max_window_bits", to: &bytes)
    }
    for field in fields { ResponseHead.appendField(field.name, field.value, to: &bytes) }
    bytes.append("\r\n")
  }

  /// §4.1, the numbered list behind "the client MUST validate the server's response".
  public func judge(_ response: ResponseHead) -> Answer {
    guard response.status == 101 else { return .refused(status: response.status) }
    guard response.fields.value(of: "upgrade")?.equalsIgnoringASCIICase("websocket") == true else {
      return .invalid("no upgrade to websocket")
    }
    guard response.fields.list(of: "connection", has: "upgrade") else {
      return .invalid("no connection upgrade")
    }
    guard response.fields.value(of: "sec-websocket-accept") == Upgrade.acceptValue(forKey: key)
    else { return .invalid("wrong accept value") }
    if let extensions = response.fields.value(of: "sec-websocket-extensions") {
      guard offersDeflate else { return .invalid("extension that was not offered") }
      guard DeflateAgreement(answer: extensions) != nil else {
        return .invalid("permessage-deflate that cannot be accepted")
      }
    }
    let chosen = response.fields.value(of: "sec-websocket-protocol")
    guard chosen == nil || chosen == subprotocol else {
      return .invalid("subprotocol that was not offered")
    }
    return .accepted(subprotocol: chosen)
  }
}
