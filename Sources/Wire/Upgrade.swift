import Primitives

/// The server's half of the opening handshake (RFC 6455 §4.2): from a request's head to the bytes
/// of a 101, or to the status that refuses it. Origin, tokens and admission are judged elsewhere,
/// before this.
public enum Upgrade {
  public struct Refusal: Equatable, Sendable {
    public var status: Int
    /// Fields the status obliges to, or that tell the client what would be accepted.
    public var fields: [HeadFields.Field]
    public var reason: StaticString

    public static func == (left: Refusal, right: Refusal) -> Bool {
      left.status == right.status && left.fields == right.fields
        && left.reason.description == right.reason.description
    }
  }

  public enum Outcome: Equatable, Sendable {
    /// The whole response, ready to be written; WebSocket begins behind it, with messages deflated
    /// as agreed.
    case accept(response: [UInt8], deflate: DeflateAgreement?)
    case refuse(Refusal)
  }

  /// `subprotocol` is echoed when the client offers it; a client that offers none, or only others,
  /// is accepted without one (§4.2.2). Without a `deflate` policy nothing is ever compressed.
  public static func evaluate(
    _ head: RequestHead, subprotocol: String, deflate: DeflatePolicy? = nil
  ) -> Outcome {
    guard head.method == .get else {
      return refuse(405, "the WebSocket endpoint takes GET", ("Allow", "GET"))
    }
    guard head.minorVersion >= 1 else { return refuse(400, "WebSocket needs HTTP/1.1") }
    guard head.value(of: "host") != nil else { return refuse(400, "missing host") }
    guard head.contentLength == nil || head.contentLength == 0 else {
      return refuse(400, "body in an opening handshake")
    }
    guard head.wantsWebSocket else {
      // RFC 9110 §15.5.22: a 426 says to what.
      return refuse(
        426, "this endpoint speaks WebSocket", ("Upgrade", "websocket"), ("Connection", "Upgrade"))
    }
    // §4.4: the answer to another version names the one that is spoken.
    guard head.value(of: "sec-websocket-version") == "13" else {
      return refuse(
        426, "WebSocket version 13 only", ("Upgrade", "websocket"), ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"))
    }
    let keys = head.values(of: "sec-websocket-key")
    guard keys.count == 1, isKey(keys[0]) else {
      return refuse(400, "missing or malformed Sec-WebSocket-Key")
    }
    var response: [UInt8] = []
    ResponseHead.appendStatusLine(101, to: &response)
    ResponseHead.appendField("Upgrade", "websocket", to: &response)
    ResponseHead.appendField("Connection", "Upgrade", to: &response)
    ResponseHead.appendField("Sec-WebSocket-Accept", acceptValue(forKey: keys[0]), to: &response)
    // §11.3.4: protocol names are compared as they stand.
    if head.fields.list(of: "sec-websocket-protocol").contains(subprotocol) {
      ResponseHead.appendField("Sec-WebSocket-Protocol", subprotocol, to: &response)
    }
    let agreement = deflate?.agree(on: head.values(of: "sec-websocket-extensions"))
    if let agreement {
      ResponseHead.appendField("Sec-WebSocket-Extensions", agreement.fieldValue, to: &response)
    }
    ResponseHead.appendEnd(to: &response)
    return .accept(response: response, deflate: agreement)
  }

  /// §4.2.2, step 5.4.
  public static func acceptValue(forKey key: String) -> String {
    Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// §4.2.1: base64 that decodes to 16 bytes, so 22 digits and two signs of padding. The key is
  /// never decoded, so the four bits behind the last byte do not matter.
  static func isKey(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count == 24 && bytes[..<22].allSatisfy(Base64.isDigit)
      && bytes[22] == UInt8(ascii: "=") && bytes[23] == UInt8(ascii: "=")
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
