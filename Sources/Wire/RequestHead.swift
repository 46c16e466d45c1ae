import Primitives

/// The head of an HTTP/1.1 request (RFC 9112), read strictly: an ambiguous head is refused,
/// because request smuggling depends on two readers that disagree.
public struct RequestHead: Equatable, Sendable {
  public enum Method: Hashable, Sendable {
    case get, head, post, put, patch, delete, options
    /// Any other token, methods being case-sensitive (RFC 9110 §9.1).
    case other(String)
  }

  public var method: Method
  /// Decoded, beginning with "/" (or "*"), without "." and ".." segments.
  public var path: String
  /// The text after the question mark, as received.
  public var rawQuery: String
  /// The minor version: 0 or 1; higher ones are read as 1 (RFC 9110 §2.5).
  public var minorVersion: Int
  public var fields: HeadFields
  /// The length of the body in bytes; nil without the field, which means no body for a request
  /// (RFC 9112 §6.3).
  public var contentLength: Int?
  private var parameters: [RequestTarget.Parameter]

  /// The first parameter of the name, decoded; empty when it has no value.
  public func query(_ name: String) -> String? {
    parameters.first { $0.name == name }?.value
  }

  /// See `HeadFields.value(of:)`: names in lower case, several values joined.
  public func value(of name: StaticString) -> String? { fields.value(of: name) }

  public func values(of name: StaticString) -> [String] { fields.values(of: name) }

  /// RFC 9112 §9.3.
  public var isKeepAlive: Bool {
    if fields.list(of: "connection", has: "close") { return false }
    return minorVersion >= 1 || fields.list(of: "connection", has: "keep-alive")
  }

  /// Whether the client requests an upgrade to WebSocket (RFC 6455 §4.2.1).
  public var wantsWebSocket: Bool {
    fields.list(of: "upgrade", has: "websocket") && fields.list(of: "connection", has: "upgrade")
  }

  /// Reads a whole head as `HeadScanner` measured it, from its first byte to its empty line.
  public static func parse(_ head: RawSpan) throws(HeadFault) -> RequestHead {
    var request: RequestHead?
    var fields = HeadFields()
    fields.reserve(byteCount: head.byteCount)
    try forEachLine(of: head) { (number, line) throws(HeadFault) in
      if number == 0 {
        request = try parseRequestLine(line)
      } else {
        try fields.append(line: line)
      }
    }
    guard var request else { throw .requestLineInvalid }
    request.fields = fields
    try request.checkHost()
    try request.checkBody()
    return request
  }

  /// Refuses a line that cannot begin an HTTP/1 request, before the rest of the head arrives: an
  /// HTTP/0.9 request has no further lines, and clients of other protocols wait for a reply.
  ///
  /// - Parameters:
  ///   - head: bytes from the first one of the request on.
  ///   - line: the line's place in them, see `HeadScanner.firstLine`.
  public static func check(requestLine head: RawSpan, _ line: Range<Int>) throws(HeadFault) {
    _ = try parseRequestLine(head.extracting(line))
  }

  /// RFC 9112 §3: method SP target SP version, single spaces.
  private static func parseRequestLine(_ line: RawSpan) throws(HeadFault) -> RequestHead {
    var spaces: [2 of Int] = [0, 0]
    var spaceCount = 0
    for offset in 0..<line.byteCount where line.byte(at: offset) == UInt8(ascii: " ") {
      guard spaceCount < 2 else { throw .requestLineInvalid }
      spaces[spaceCount] = offset
      spaceCount += 1
    }
    guard spaceCount == 2 else { throw .requestLineInvalid }
    let method = try Method.parse(line.extracting(0..<spaces[0]))
    let minorVersion = try parseVersion(line.extracting(spaces[1] + 1..<line.byteCount))
    let target = try RequestTarget.parse(line.extracting(spaces[0] + 1..<spaces[1]))
    guard target.path != "*" || method == .options else { throw .targetInvalid }
    return RequestHead(
      method: method, path: target.path, rawQuery: target.query, minorVersion: minorVersion,
      fields: HeadFields(), contentLength: nil, parameters: target.parameters)
  }

  /// RFC 9112 §3.2: exactly one Host in HTTP/1.1, with only a host and a port.
  private func checkHost() throws(HeadFault) {
    var count = 0
    var isValid = true
    fields.forEachValue(of: "host") { host in
      count += 1
      isValid = isValid && host.byteCount > 0
      for offset in 0..<host.byteCount where !isHostCharacter(host.byte(at: offset)) {
        isValid = false
      }
    }
    guard isValid, count == 1 || count == 0 && minorVersion == 0 else { throw .hostInvalid }
  }

  /// RFC 9112 §6: the length of the body must be unambiguous.
  private mutating func checkBody() throws(HeadFault) {
    var codingCount = 0
    var isChunked = false
    fields.forEachValue(of: "transfer-encoding") {
      codingCount += 1
      isChunked = $0.equalsIgnoringASCIICase("chunked")
    }
    var lengthCount = 0
    var length: Int?
    fields.forEachValue(of: "content-length") {
      lengthCount += 1
      length = decimal($0)
    }
    if codingCount > 0 {
      // §6.1: both fields, HTTP/1.0, or a coding that only resembles "chunked" is an attack.
      guard lengthCount == 0 && minorVersion >= 1 && codingCount == 1 && isChunked else {
        throw .transferCodingInvalid
      }
      guard method != .get && method != .head else { throw .transferCodingInvalid }
      throw .transferCodingUnsupported
    }
    guard lengthCount > 0 else { return }
    guard lengthCount == 1, let length else { throw .contentLengthInvalid }
    contentLength = length
  }
}

/// 1 to 15 digits; nil for anything else.
private func decimal(_ digits: RawSpan) -> Int? {
  guard (1...15).contains(digits.byteCount) else { return nil }
  var number = 0
  for offset in 0..<digits.byteCount {
    let digit = digits.byte(at: offset)
    guard digit.isASCIIDigit else { return nil }
    number = number * 10 + Int(digit - UInt8(ascii: "0"))
  }
  return number
}

extension RequestHead.Method: CustomStringConvertible {
  static func parse(_ token: RawSpan) throws(HeadFault) -> RequestHead.Method {
    guard token.byteCount > 0 else { throw .requestLineInvalid }
    for offset in 0..<token.byteCount {
      guard isTokenCharacter(token.byte(at: offset)) else { throw .requestLineInvalid }
    }
    if token.equals("GET") { return .get }
    if token.equals("HEAD") { return .head }
    if token.equals("POST") { return .post }
    if token.equals("PUT") { return .put }
    if token.equals("PATCH") { return .patch }
    if token.equals("DELETE") { return .delete }
    if token.equals("OPTIONS") { return .options }
    return .other(token.string)
  }

  public var description: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other(let token): token
    }
  }
}

/// RFC 9112 §2.3: the name in upper case, one digit, a dot, one digit. The result is the minor
/// version.
func parseVersion(_ text: RawSpan) throws(HeadFault) -> Int {
  guard text.byteCount == 8, text.extracting(0..<5).equals("HTTP/") else { throw .versionInvalid }
  let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
  let major = text.byte(at: 5)
  let minor = text.byte(at: 7)
  guard digits.contains(major), text.byte(at: 6) == UInt8(ascii: "."), digits.contains(minor)
  else { throw .versionInvalid }
  guard major == UInt8(ascii: "1") else { throw .versionUnsupported }
  return minor == UInt8(ascii: "0") ? 0 : 1
}

/// RFC 3986 §3.2.2 and §3.2.3 without user information: names, addresses in brackets, a port.
private func isHostCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
    UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "["),
    UInt8(ascii: "]"), UInt8(ascii: "%"):
    true
  default: false
  }
}
