import Primitives

/// A request's target in origin form (RFC 9112 §3.2.1): a path and a query, both decoded. A
/// target that a router or a file lookup could read in two ways is refused.
struct RequestTarget: Equatable, Sendable {
  struct Parameter: Equatable, Sendable {
    var name: String
    var value: String
  }

  var path: String
  /// The query as received, still encoded, without the question mark.
  var query = ""
  var parameters: [Parameter]

  static func parse(_ text: RawSpan) throws(HeadFault) -> RequestTarget {
    guard text.byteCount <= HeadLimits.targetBytes else { throw .targetTooLong }
    // RFC 9112 §3.2.4: the asterisk form names the server as a whole.
    if text.equals("*") { return RequestTarget(path: "*", parameters: []) }
    // The absolute form is for proxies, the authority form for tunnels: neither is served here.
    guard text.byteCount > 0, text.byte(at: 0) == UInt8(ascii: "/") else { throw .targetInvalid }
    var queryStart = text.byteCount
    for offset in 0..<text.byteCount {
      let byte = text.byte(at: offset)
      // RFC 3986 §2: printable ASCII only, and a fragment is never sent.
      guard byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") else { throw .targetInvalid }
      if byte == UInt8(ascii: "?") && queryStart == text.byteCount { queryStart = offset }
    }
    let path = try decode(text.extracting(0..<queryStart), isQuery: false)
    guard !climbs(path) else { throw .targetInvalid }
    guard queryStart < text.byteCount else { return RequestTarget(path: path, parameters: []) }
    let query = text.extracting(queryStart + 1..<text.byteCount)
    return RequestTarget(
      path: path, query: query.string, parameters: try parseQuery(query))
  }

  /// Whether a segment is "." or "..".
  private static func climbs(_ path: String) -> Bool {
    var dots = 0
    var isDotsOnly = true
    for byte in path.utf8 {
      if byte == UInt8(ascii: "/") {
        if isDotsOnly, dots == 1 || dots == 2 { return true }
        (dots, isDotsOnly) = (0, true)
      } else if byte == UInt8(ascii: ".") {
        dots += 1
      } else {
        isDotsOnly = false
      }
    }
    return isDotsOnly && (dots == 1 || dots == 2)
  }

  private static func parseQuery(_ query: RawSpan) throws(HeadFault) -> [Parameter] {
    var parameters: [Parameter] = []
    var start = 0
    while start < query.byteCount {
      var end = start
      var equals: Int?
      while end < query.byteCount, query.byte(at: end) != UInt8(ascii: "&") {
        if equals == nil && query.byte(at: end) == UInt8(ascii: "=") { equals = end }
        end += 1
      }
      if end > start {
        guard parameters.count < HeadLimits.parameters else { throw .tooManyParameters }
        let nameEnd = equals ?? end
        parameters.append(
          Parameter(
            name: try decode(query.extracting(start..<nameEnd), isQuery: true),
            value: try decode(query.extracting(min(nameEnd + 1, end)..<end), isQuery: true)))
      }
      start = end + 1
    }
    return parameters
  }

  /// Percent-decodes once. Control characters and invalid UTF-8 are refused. So is an escaped
  /// slash or backslash in a path, which other software could read as two segments.
  private static func decode(_ text: RawSpan, isQuery: Bool) throws(HeadFault) -> String {
    var offset = 0
    while offset < text.byteCount, text.byte(at: offset) != UInt8(ascii: "%"),
      text.byte(at: offset) != UInt8(ascii: "+")
    {
      offset += 1
    }
    // Most texts have no escapes, and `parse` has checked that they are ASCII.
    if offset == text.byteCount { return text.string }
    let decoded = try text.percentDecoded(plusIsSpace: isQuery) { byte throws(HeadFault) in
      let isSeparator = byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
      guard isQuery || !isSeparator else { throw .targetInvalid }
      guard !byte.isASCIIControl else { throw .escapeInvalid }
    }
    guard let decoded else { throw .escapeInvalid }
    return decoded
  }
}
