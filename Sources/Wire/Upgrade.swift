import Primitives

/// The server's half of the opening handshake (RFC 6455 §4.2): from a request's head to the bytes
/// of a 101, or to the status that refuses it. The caller checks origin, tokens and admission
/// before this.
public enum Upgrade {
  public struct Refusal: Equatable, Sendable {
    public var status: Int
    /// Fields that the status requires, or that list the accepted values.
    public var fields: [HeadFields.Field]
    public var reason: StaticString

    public static func == (left: Refusal, right: Refusal) -> Bool {
      left.status == right.status && left.fields == right.fields
        && left.reason.description == right.reason.description
    }
  }

  public enum Outcome: Equatable, Sendable {
    /// The whole response. WebSocket frames follow it, with messages deflated as agreed; nil means
    /// without compression.
    case accept(response: [UInt8], deflate: DeflateAgreement?)
    case refuse(Refusal)
  }

  /// `subprotocol` is echoed when the client offers it; a client that offers none, or only others,
  /// is accepted without one (§4.2.2). Without a `deflate` policy nothing is ever compressed.
  public static func evaluate(
    _ head: RequestHead, subprotocol: StaticString, deflate: DeflatePolicy? = nil
  ) -> Outcome {
    guard head.method == .get else {
      return refuse(405, "the WebSocket endpoint takes GET", ("Allow", "GET"))
    }
    guard head.minorVersion >= 1 else { return refuse(400, "WebSocket needs HTTP/1.1") }
    guard head.fields.has("host") else { return refuse(400, "missing host") }
    guard head.contentLength == nil || head.contentLength == 0 else {
      return refuse(400, "body in an opening handshake")
    }
    guard head.wantsWebSocket else {
      // RFC 9110 §15.5.22: a 426 names the required protocol in Upgrade.
      return refuse(
        426, "this endpoint speaks WebSocket", ("Upgrade", "websocket"), ("Connection", "Upgrade"))
    }
    // §4.4: the response to another version names the supported one.
    guard head.fields.value(of: "sec-websocket-version", is: "13") else {
      return refuse(
        426, "WebSocket version 13 only", ("Upgrade", "websocket"), ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"))
    }
    var keyCount = 0
    var accept: [UInt8] = []
    head.fields.forEachValue(of: "sec-websocket-key") { key in
      keyCount += 1
      if isKey(key) { appendAcceptValue(forKey: key, to: &accept) }
    }
    guard keyCount == 1, !accept.isEmpty else {
      return refuse(400, "missing or malformed Sec-WebSocket-Key")
    }
    var response: [UInt8] = []
    response.reserveCapacity(256)
    response.append("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n")
    response.append("Connection: Upgrade\r\nSec-WebSocket-Accept: ")
    response += accept
    // §11.3.4: subprotocol names are compared byte by byte.
    var isOffered = false
    head.fields.forEachMember(of: "sec-websocket-protocol") {
      if $0.equals(subprotocol) { isOffered = true }
    }
    if isOffered {
      response.append("\r\nSec-WebSocket-Protocol: ")
      response.append(subprotocol)
    }
    let agreement = deflate?.agree(on: head.values(of: "sec-websocket-extensions"))
    if let agreement {
      response.append("\r\nSec-WebSocket-Extensions: ")
      agreement.appendFieldValue(to: &response)
    }
    response.append("\r\n\r\n")
    return .accept(response: response, deflate: agreement)
  }

  /// §4.2.2, step 5.4.
  static func appendAcceptValue(forKey key: RawSpan, to bytes: inout [UInt8]) {
    var message: [UInt8] = []
    message.reserveCapacity(key.byteCount + 36)
    message.append(key)
    message.append("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    Base64.standard.append(SHA1.digest(message), padded: true, to: &bytes)
  }

  public static func acceptValue(forKey key: String) -> String {
    var value: [UInt8] = []
    Array(key.utf8).withRawSpan { appendAcceptValue(forKey: $0, to: &value) }
    return String(decoding: value, as: UTF8.self)
  }

  /// §4.2.1: base64 that decodes to 16 bytes, so 22 digits and two padding characters. The key
  /// is never decoded, so the four bits after the last byte are not checked.
  static func isKey(_ text: RawSpan) -> Bool {
    guard text.byteCount == 24, text.extracting(22..<24).equals("==") else { return false }
    let base64 = Base64.standard
    for offset in 0..<22 where !base64.isDigit(text.byte(at: offset)) { return false }
    return true
  }

  private static func refuse(
    _ status: Int, _ reason: StaticString, _ fields: (name: String, value: String)...
  ) -> Outcome {
    .refuse(
      Refusal(
        status: status,
        fields: fields.map { HeadFields.Field(name: $0.name, value: $0.value) },
        reason: reason))
  }
}
