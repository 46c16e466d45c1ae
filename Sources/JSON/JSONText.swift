public import Primitives

/// Decodes and encodes the text of JSON strings (RFC 8259 §7).
public enum JSONText {
  public enum Fault: Error, Equatable {
    /// U+0000, which PostgreSQL cannot store.
    case null
    /// An unpaired surrogate, which is not a character and has no form in UTF-8.
    case loneSurrogate
  }

  /// The offset of the first quote, backslash or control character in the range, or the range's
  /// end. A step marks the special bytes among eight. A borrow may mark a wrong one, but only above
  /// a right one, so the lowest mark is exact. In a little-endian word that is the first byte.
  @inlinable @inline(__always)
  static func plainEnd(_ text: RawSpan, _ range: Range<Int>) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    var offset = range.lowerBound
    // Message bodies are long and mostly plain, so 32 bytes are tested at once for any mark.
    while offset &+ 32 <= range.upperBound {
      let block = text.block(at: offset)
      let quotes = block ^ ones &* 0x22
      let backslashes = block ^ ones &* 0x5C
      let marked =
        (block &- ones &* 0x20) & ~block | (quotes &- ones) & ~quotes
        | (backslashes &- ones) & ~backslashes
      let halves = marked.lowHalf | marked.highHalf
      if (halves[0] | halves[1]) & tops != 0 { break }
      offset &+= 32
    }
    while offset &+ 8 <= range.upperBound {
      let word = UInt64(littleEndian: text.word(at: offset))
      let quotes = word ^ ones &* 0x22
      let backslashes = word ^ ones &* 0x5C
      let marked =
        ((word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes
          | (backslashes &- ones) & ~backslashes) & tops
      if marked != 0 { return offset &+ marked.trailingZeroBitCount &>> 3 }
      offset &+= 8
    }
    while offset < range.upperBound {
      let byte = text.byte(at: offset)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return offset }
      offset &+= 1
    }
    return offset
  }

  /// Appends the decoded text of a string token from `JSONScanner`.
  public static func decode(
    _ token: JSONScanner.Token, in text: RawSpan, to output: inout [UInt8]
  ) throws(Fault) {
    guard token.hasEscapes else {
      output.append(text.extracting(token.range))
      return
    }
    var offset = token.range.lowerBound
    while offset < token.range.upperBound {
      let end = plainEnd(text, offset..<token.range.upperBound)
      if end > offset { output.append(text.extracting(offset..<end)) }
      guard end < token.range.upperBound else { return }
      offset = end
      switch text.byte(at: offset + 1) {
      case UInt8(ascii: "b"): output.append(0x08)
      case UInt8(ascii: "f"): output.append(0x0C)
      case UInt8(ascii: "n"): output.append(0x0A)
      case UInt8(ascii: "r"): output.append(0x0D)
      case UInt8(ascii: "t"): output.append(0x09)
      case UInt8(ascii: "u"):
        offset = try decodeUnicode(at: offset, token, in: text, to: &output)
        continue
      case let literal: output.append(literal)
      }
      offset += 2
    }
  }

  private static func codeUnit(_ text: RawSpan, at offset: Int) -> UInt32 {
    var value: UInt32 = 0
    for digit in offset..<(offset + 4) {
      value = value << 4 | UInt32(hexadecimalValue(text.byte(at: digit)) ?? 0)
    }
    return value
  }

  /// Decodes the `\uXXXX`, or the surrogate pair, at `offset`. Returns the offset after it.
  private static func decodeUnicode(
    at offset: Int, _ token: JSONScanner.Token, in text: RawSpan, to output: inout [UInt8]
  ) throws(Fault) -> Int {
    let unit = codeUnit(text, at: offset + 2)
    switch unit {
    case 0: throw .null
    case 0xDC00...0xDFFF: throw .loneSurrogate
    case 0xD800...0xDBFF:
      let next = offset + 6
      guard next + 6 <= token.range.upperBound, text.byte(at: next) == UInt8(ascii: "\\"),
        text.byte(at: next + 1) == UInt8(ascii: "u")
      else { throw .loneSurrogate }
      let low = codeUnit(text, at: next + 2)
      guard low >= 0xDC00, low <= 0xDFFF else { throw .loneSurrogate }
      appendScalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), to: &output)
      return next + 6
    default:
      appendScalar(unit, to: &output)
      return offset + 6
    }
  }

  /// Encodes as UTF-8 (RFC 3629 §3).
  private static func appendScalar(_ scalar: UInt32, to output: inout [UInt8]) {
    func byte(_ value: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: value) }
    switch scalar {
    case 0..<0x80: output.append(byte(scalar))
    case 0x80..<0x800:
      output.append(0xC0 | byte(scalar >> 6))
      output.append(0x80 | byte(scalar & 0x3F))
    case 0x800..<0x10000:
      output.append(0xE0 | byte(scalar >> 12))
      output.append(0x80 | byte(scalar >> 6 & 0x3F))
      output.append(0x80 | byte(scalar & 0x3F))
    default:
      output.append(0xF0 | byte(scalar >> 18))
      output.append(0x80 | byte(scalar >> 12 & 0x3F))
      output.append(0x80 | byte(scalar >> 6 & 0x3F))
      output.append(0x80 | byte(scalar & 0x3F))
    }
  }

  /// Appends a valid JSON value without white space between its tokens. So it has no line feed,
  /// which separates events. Throws for strings that `jsonb` does not accept.
  public static func appendCompact(
    _ value: RawSpan, to output: inout [UInt8]
  ) throws(Fault) {
    var offset = 0
    while offset < value.byteCount {
      let byte = value.byte(at: offset)
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D: offset += 1
      case UInt8(ascii: "\""): offset = try copyString(value, at: offset, to: &output)
      default:
        output.append(byte)
        offset += 1
      }
    }
  }

  /// Copies the string at `start` unchanged. Returns the offset after it.
  private static func copyString(
    _ value: RawSpan, at start: Int, to output: inout [UInt8]
  ) throws(Fault) -> Int {
    var offset = start + 1
    while value.byte(at: offset) != UInt8(ascii: "\"") {
      guard value.byte(at: offset) == UInt8(ascii: "\\") else {
        offset += 1
        continue
      }
      guard value.byte(at: offset + 1) == UInt8(ascii: "u") else {
        offset += 2
        continue
      }
      switch codeUnit(value, at: offset + 2) {
      case 0: throw .null
      case 0xDC00...0xDFFF: throw .loneSurrogate
      case 0xD800...0xDBFF:
        guard offset + 12 < value.byteCount, value.byte(at: offset + 6) == UInt8(ascii: "\\"),
          value.byte(at: offset + 7) == UInt8(ascii: "u"),
          (0xDC00...0xDFFF).contains(codeUnit(value, at: offset + 8))
        else { throw .loneSurrogate }
        offset += 12
      default: offset += 6
      }
    }
    output.append(value.extracting(start..<(offset + 1)))
    return offset + 1
  }

  /// Appends `text` as a JSON string with quotes.
  @inlinable
  public static func append(quoted text: RawSpan, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    append(escaped: text, to: &output)
    output.append(UInt8(ascii: "\""))
  }

  /// Appends `text` as the content of a JSON string, without quotes.
  @inlinable
  public static func append(escaped text: RawSpan, to output: inout [UInt8]) {
    var copied = 0
    while true {
      let end = plainEnd(text, copied..<text.byteCount)
      output.append(text.extracting(copied..<end))
      guard end < text.byteCount else { break }
      appendEscape(of: text.byte(at: end), to: &output)
      copied = end + 1
    }
  }

  @usableFromInline
  static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x09: output.append(UInt8(ascii: "t"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    default:
      output.append("u00")
      output.append(hexadecimalDigit(byte >> 4))
      output.append(hexadecimalDigit(byte & 0xF))
    }
  }

  public static func append(quoted text: [UInt8], to output: inout [UInt8]) {
    text.withRawSpan { append(quoted: $0, to: &output) }
  }
}
