public import Primitives

/// The head of an HTTP/1.1 response: written by the gateway, read by its own clients.
public struct ResponseHead: Equatable, Sendable {
  public var status: Int
  public var fields: HeadFields

  /// Reads a whole head as `HeadScanner` measured it (RFC 9112 §4).
  public static func parse(_ head: RawSpan) throws(HeadFault) -> ResponseHead {
    var status = 0
    var fields = HeadFields()
    try forEachLine(of: head) { (number, line) throws(HeadFault) in
      if number > 0 { return try fields.append(line: line) }
      // version SP three digits, then SP and a reason phrase, which is ignored.
      guard line.byteCount >= 12, line.byte(at: 8) == UInt8(ascii: " "),
        line.byteCount == 12 || line.byte(at: 12) == UInt8(ascii: " ")
      else { throw .statusLineInvalid }
      _ = try parseVersion(line.extracting(0..<8))
      for offset in 9..<12 {
        let digit = line.byte(at: offset)
        guard digit.isASCIIDigit else {
          throw .statusLineInvalid
        }
        status = status * 10 + Int(digit - UInt8(ascii: "0"))
      }
    }
    guard (100...599).contains(status) else { throw .statusLineInvalid }
    return ResponseHead(status: status, fields: fields)
  }

  /// Appends the status line; fields and `appendEnd` follow.
  public static func appendStatusLine(_ status: Int, to bytes: inout [UInt8]) {
    precondition((100...599).contains(status), "not an HTTP status")
    bytes.append("HTTP/1.1 ")
    bytes.append(decimal: Int64(status))
    bytes.append(UInt8(ascii: " "))
    bytes.append(reasonPhrase(of: status))
    bytes.append("\r\n")
  }

  /// Appends one field. Control characters in the value become spaces, so that it cannot begin
  /// another field.
  public static func appendField(
    _ name: StaticString, _ value: String, to bytes: inout [UInt8]
  ) {
    bytes.append(name)
    bytes.append(": ")
    appendFieldValue(value, to: &bytes)
    bytes.append("\r\n")
  }

  /// Appends a field whose name is known at run time only; it must be a token.
  public static func appendField(_ field: HeadFields.Field, to bytes: inout [UInt8]) {
    precondition(
      !field.name.isEmpty && field.name.utf8.allSatisfy(isTokenCharacter), "not a field name")
    bytes.append(field.name)
    bytes.append(": ")
    appendFieldValue(field.value, to: &bytes)
    bytes.append("\r\n")
  }

  public static func appendField(
    _ name: StaticString, _ value: Int, to bytes: inout [UInt8]
  ) {
    bytes.append(name)
    bytes.append(": ")
    bytes.append(decimal: Int64(value))
    bytes.append("\r\n")
  }

  /// Appends the time of the answer (RFC 9110 §6.6.1), for example
  /// `Sun, 06 Nov 1994 08:49:37 GMT`.
  public static func appendDate(_ time: WallTime, to bytes: inout [UInt8]) {
    bytes.append("Date: ")
    time.appendHTTPDate(to: &bytes)
    bytes.append("\r\n")
  }

  /// Appends the empty line.
  public static func appendEnd(to bytes: inout [UInt8]) {
    bytes.append("\r\n")
  }

  /// RFC 9110 §15, and 429 and 431 of RFC 6585.
  public static func reasonPhrase(of status: Int) -> StaticString {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 426: "Upgrade Required"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }
}

/// RFC 9110 §5.5: CR, LF and NUL in a value are dangerous; every control character is replaced.
func appendFieldValue(_ value: String, to bytes: inout [UInt8]) {
  let start = bytes.count
  bytes.append(value)
  for index in start..<bytes.count where bytes[index].isASCIIControl {
    bytes[index] = UInt8(ascii: " ")
  }
}
