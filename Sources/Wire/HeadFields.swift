import Primitives

/// The fields of a head: names in lower case, values without the white space around them, in the
/// order of arrival and with duplicates. Reads and owns copies: heads are not the hot path.
public struct HeadFields: Equatable, Sendable {
  public struct Field: Equatable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public private(set) var all: [Field] = []

  /// Several fields of one name are joined by ", " (RFC 9110 §5.2), so that a second `Origin`
  /// cannot hide behind the first. The name is given in lower case.
  public func value(of name: String) -> String? {
    let found = values(of: name)
    return found.count <= 1 ? found.first : found.joined(separator: ", ")
  }

  public func values(of name: String) -> [String] {
    all.lazy.filter { $0.name == name }.map(\.value)
  }

  /// The members of a comma-separated list over all fields of the name, empty ones left out (RFC
  /// 9110 §5.6.1).
  public func list(of name: String) -> [String] {
    values(of: name).flatMap { value in
      value.utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
        let text = trimmed(member)
        return text.isEmpty ? nil : String(Substring(text))
      }
    }
  }

  /// Whether the list has this token, whatever its case.
  public func list(of name: String, has token: String) -> Bool {
    list(of: name).contains { $0.lowercased() == token }
  }

  /// Reads one line without its CRLF (RFC 9112 §5).
  mutating func append(line: RawSpan) throws(HeadFault) {
    guard all.count < HeadLimits.fields else { throw .tooManyFields }
    // §5.2: a line that begins with white space once continued the one before it. Smugglers live on
    // it.
    let first = line.byte(at: 0)
    guard first != UInt8(ascii: " ") && first != UInt8(ascii: "\t") else { throw .fieldFolded }
    var colon = 0
    while colon < line.byteCount, line.byte(at: colon) != UInt8(ascii: ":") {
      // §5.1: no white space between name and colon; it is not a token character.
      guard isTokenCharacter(line.byte(at: colon)) else { throw .fieldInvalid }
      colon += 1
    }
    guard colon > 0 && colon < line.byteCount else { throw .fieldInvalid }
    var start = colon + 1
    var end = line.byteCount
    while start < end, isBlank(line.byte(at: start)) { start += 1 }
    while end > start, isBlank(line.byte(at: end - 1)) { end -= 1 }
    all.append(
      Field(
        name: line.extracting(0..<colon).string.lowercased(),
        value: line.extracting(start..<end).string))
  }
}

/// SP and HTAB (RFC 9110 §5.6.3).
func isBlank(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
}

/// RFC 9110 §5.6.2.
func isTokenCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"):
    true
  case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
    UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"),
    UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"),
    UInt8(ascii: "~"):
    true
  default: false
  }
}

private func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
  var text = text
  while let first = text.first, isBlank(first) { text.removeFirst() }
  while let last = text.last, isBlank(last) { text.removeLast() }
  return text
}

/// The lines of a head, each without its CRLF, the empty last one left out. The scanner has made
/// sure that CR and LF occur only in pairs, and this checks it again: a head may come from
/// elsewhere.
func forEachLine(
  of head: RawSpan, _ body: (Int, RawSpan) throws(HeadFault) -> Void
) throws(HeadFault) {
  var scanner = HeadScanner()
  guard try scanner.scan(head) == head.byteCount else { throw .requestLineInvalid }
  // One empty line before the first one is allowed (RFC 9112 §2.2).
  var start = head.byte(at: 0) == UInt8(ascii: "\r") ? 2 : 0
  var number = 0
  while start < head.byteCount - 2 {
    var end = start
    while head.byte(at: end) != UInt8(ascii: "\r") { end += 1 }
    try body(number, head.extracting(start..<end))
    number += 1
    start = end + 2
  }
}
