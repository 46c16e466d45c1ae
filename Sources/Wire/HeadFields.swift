import Primitives

/// The fields of a head in the order of arrival, with duplicates: names in lower case, values
/// without the white space around them.
///
/// The fields are one copy of their bytes, searched in place: an upgrade looks up a dozen fields by
/// name and reads two of them as text, so a String is made only on request.
public struct HeadFields: Equatable, Sendable {
  public struct Field: Equatable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// In `text`, which is shorter than `HeadLimits.headBytes`: the name, and the value behind it.
  private struct Extent: Equatable, Sendable {
    var start: UInt16
    var valueStart: UInt16
    var end: UInt16
  }

  private var text: [UInt8] = []
  private var extents: [Extent] = []

  public var all: [Field] {
    text.withRawSpan { bytes in
      extents.map { extent in
        Field(
          name: bytes.extracting(Int(extent.start)..<Int(extent.valueStart)).string,
          value: bytes.extracting(Int(extent.valueStart)..<Int(extent.end)).string)
      }
    }
  }

  /// Several fields of one name are joined by ", " (RFC 9110 §5.2), so that a second `Origin`
  /// cannot hide behind the first. The name is given in lower case.
  public func value(of name: StaticString) -> String? {
    let found = values(of: name)
    return found.count <= 1 ? found.first : found.joined(separator: ", ")
  }

  public func values(of name: StaticString) -> [String] {
    var values: [String] = []
    forEachValue(of: name) { values.append($0.string) }
    return values
  }

  /// Whether exactly one field has the name, and its value equals `text`.
  public func value(of name: StaticString, is text: StaticString) -> Bool {
    var count = 0
    var isEqual = false
    forEachValue(of: name) {
      count += 1
      isEqual = $0.equals(text)
    }
    return count == 1 && isEqual
  }

  public func has(_ name: StaticString) -> Bool {
    var isThere = false
    forEachValue(of: name) { _ in isThere = true }
    return isThere
  }

  /// Lends the value of each field of the name.
  func forEachValue(of name: StaticString, _ body: (RawSpan) -> Void) {
    text.withRawSpan { bytes in
      for extent in extents
      where Int(extent.valueStart - extent.start) == name.utf8CodeUnitCount
        && bytes.extracting(Int(extent.start)..<Int(extent.valueStart)).equals(name)
      {
        body(bytes.extracting(Int(extent.valueStart)..<Int(extent.end)))
      }
    }
  }

  /// Lends the members of a comma-separated list over all fields of the name, empty ones left out
  /// (RFC 9110 §5.6.1).
  func forEachMember(of name: StaticString, _ body: (RawSpan) -> Void) {
    forEachValue(of: name) { value in
      var start = 0
      while start < value.byteCount {
        var end = start
        while end < value.byteCount, value.byte(at: end) != UInt8(ascii: ",") { end += 1 }
        let member = value.trimmingBlanks(start..<end)
        if !member.isEmpty { body(value.extracting(member)) }
        start = end + 1
      }
    }
  }

  public func list(of name: StaticString) -> [String] {
    var members: [String] = []
    forEachMember(of: name) { members.append($0.string) }
    return members
  }

  /// Whether the list has this token in any case. The token is given in lower case.
  public func list(of name: StaticString, has token: StaticString) -> Bool {
    var isThere = false
    forEachMember(of: name) { if $0.equalsIgnoringASCIICase(token) { isThere = true } }
    return isThere
  }

  /// Reads one line without its CRLF (RFC 9112 §5).
  mutating func append(line: RawSpan) throws(HeadFault) {
    guard extents.count < HeadLimits.fields else { throw .tooManyFields }
    // §5.2: obsolete line folding, in which leading white space continues the previous line, is
    // refused: it enables request smuggling.
    guard !line.byte(at: 0).isBlank else { throw .fieldFolded }
    var colon = 0
    // §5.1: no white space between name and colon; it is not a token character.
    while colon < line.byteCount, TokenCharacter.lowercase(line.byte(at: colon)) != 0 { colon += 1 }
    guard colon > 0, colon < line.byteCount, line.byte(at: colon) == UInt8(ascii: ":") else {
      throw .fieldInvalid
    }
    let start = text.count
    guard start + line.byteCount <= HeadLimits.headBytes else { throw .headTooLong }
    let value = line.trimmingBlanks(colon + 1..<line.byteCount)
    // SAFETY: the room is for the whole line, and name and value are shorter than that.
    unsafe text.append(upTo: line.byteCount) { room in
      for offset in 0..<colon {
        unsafe room[offset] = TokenCharacter.lowercase(line.byte(at: offset))
      }
      unsafe line.extracting(value).withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[colon...]).copyMemory(from: $0)
      }
      return colon + value.count
    }
    extents.append(
      Extent(start: UInt16(start), valueStart: UInt16(start + colon), end: UInt16(text.count)))
  }

  /// Reserves `byteCount` bytes of text, and 16 fields, about as many as browsers send.
  mutating func reserve(byteCount: Int) {
    text.reserveCapacity(byteCount)
    extents.reserveCapacity(16)
  }
}

/// RFC 9110 §5.6.2.
@inline(__always)
func isTokenCharacter(_ byte: UInt8) -> Bool { TokenCharacter.lowercase(byte) != 0 }

/// The token characters (RFC 9110 §5.6.2) as a table, because a head has hundreds of them.
enum TokenCharacter {
  /// The byte with letters in lower case; 0 for a byte that is not allowed in a token.
  @inline(__always)
  static func lowercase(_ byte: UInt8) -> UInt8 { byte < 128 ? table[Int(byte)] : 0 }

  // swift-format-ignore: a line for each first digit
  private static let table: InlineArray<128, UInt8> = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0x21, 0, 0x23, 0x24, 0x25, 0x26, 0x27, 0, 0, 0x2A, 0x2B, 0, 0x2D, 0x2E, 0,
    0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0, 0, 0, 0, 0, 0,
    0, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F,
    0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0, 0, 0, 0x5E, 0x5F,
    0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F,
    0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0, 0x7C, 0, 0x7E, 0,
  ]
}

/// Calls `body` with each line of a head, without its CRLF and without the empty last line.
/// `HeadScanner` ensures that CR and LF occur only in pairs; this checks it again, because a caller
/// may pass a head that was not scanned.
func forEachLine(
  of head: RawSpan, _ body: (Int, RawSpan) throws(HeadFault) -> Void
) throws(HeadFault) {
  let count = head.byteCount
  guard count <= HeadLimits.headBytes else { throw .headTooLong }
  // One empty line before the first one is allowed (RFC 9112 §2.2).
  var start = count >= 2 && head.extracting(0..<2).equals("\r\n") ? 2 : 0
  var number = 0
  while true {
    let end = nextControl(in: head, from: start, to: count)
    guard end + 2 <= count else { throw .requestLineInvalid }
    guard head.extracting(end..<end + 2).equals("\r\n") else { throw .controlCharacter }
    if end == start {
      guard number > 0, end + 2 == count else { throw .requestLineInvalid }
      return
    }
    try body(number, head.extracting(start..<end))
    number += 1
    start = end + 2
  }
}
