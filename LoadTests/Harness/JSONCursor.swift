/// A cursor over JSON text (RFC 8259), for the few objects that the gateway sends.
///
/// The harness does not use the gateway's JSON code, so that it detects a mistake there. The text
/// is passed to every call and never stored. Malformed text throws, and the run fails.
import Primitives

enum JSONFault: Error, Equatable {
  case unexpected(offset: Int)
  case tooDeep
}

/// A string's place in the text, between the quotes.
struct JSONText: Equatable {
  var start = 0
  var count = 0
  /// Whether the string contains escapes.
  var escaped = false

  var range: Range<Int> { start..<start + count }
}

struct JSONCursor {
  private(set) var position = 0

  private static let depthMax = 16

  /// The next byte that is no white space; it is not consumed.
  mutating func peek(_ text: RawSpan) throws(JSONFault) -> UInt8 {
    while position < text.byteCount {
      let byte = text.byte(at: position)
      if byte > 0x20 { return byte }
      position += 1
    }
    throw .unexpected(offset: position)
  }

  mutating func expect(_ character: Unicode.Scalar, _ text: RawSpan) throws(JSONFault) {
    guard try peek(text) == UInt8(ascii: character) else { throw .unexpected(offset: position) }
    position += 1
  }

  mutating func take(_ character: Unicode.Scalar, _ text: RawSpan) throws(JSONFault) -> Bool {
    guard try peek(text) == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  mutating func string(_ text: RawSpan) throws(JSONFault) -> JSONText {
    try expect("\"", text)
    var result = JSONText(start: position)
    while position < text.byteCount {
      switch text.byte(at: position) {
      case UInt8(ascii: "\""):
        result.count = position - result.start
        position += 1
        return result
      case UInt8(ascii: "\\"):
        result.escaped = true
        position += 2
      default:
        position += 1
      }
    }
    throw .unexpected(offset: position)
  }

  mutating func integer(_ text: RawSpan) throws(JSONFault) -> Int {
    let negative = try take("-", text)
    var value = 0
    var digits = 0
    while position < text.byteCount, digits < 18 {
      let digit = text.byte(at: position) &- UInt8(ascii: "0")
      if digit > 9 { break }
      value = value * 10 + Int(digit)
      digits += 1
      position += 1
    }
    if digits == 0 { throw .unexpected(offset: position) }
    return negative ? -value : value
  }

  mutating func bool(_ text: RawSpan) throws(JSONFault) -> Bool {
    let first = try peek(text)
    let count = first == UInt8(ascii: "t") ? 4 : 5
    guard position + count <= text.byteCount else { throw .unexpected(offset: position) }
    let word = text.extracting(position..<position + count)
    guard word.equals("true") || word.equals("false") else { throw .unexpected(offset: position) }
    position += count
    return count == 4
  }

  mutating func skipValue(_ text: RawSpan, depth: Int = 0) throws(JSONFault) {
    if depth > JSONCursor.depthMax { throw .tooDeep }
    switch try peek(text) {
    case UInt8(ascii: "\""):
      _ = try string(text)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      let isObject = text.byte(at: position) == UInt8(ascii: "{")
      position += 1
      if try take(isObject ? "}" : "]", text) { return }
      repeat {
        if isObject {
          _ = try string(text)
          try expect(":", text)
        }
        try skipValue(text, depth: depth + 1)
      } while try take(",", text)
      try expect(isObject ? "}" : "]", text)
    default:
      let start = position
      while position < text.byteCount, isWordByte(text.byte(at: position)) { position += 1 }
      if position == start { throw .unexpected(offset: start) }
    }
  }

  mutating func skipBlanks(_ text: RawSpan) -> Bool {
    while position < text.byteCount, text.byte(at: position) <= 0x20 { position += 1 }
    return position < text.byteCount
  }
}

/// The bytes of numbers, `true`, `false` and `null`.
private func isWordByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
    UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "E"):
    true
  default: false
  }
}

/// The string's UTF-8 bytes with its escapes resolved; nil for an invalid escape.
func unescaped(_ string: JSONText, in text: RawSpan) -> [UInt8]? {
  let raw = text.extracting(string.range)
  var bytes: [UInt8] = []
  bytes.reserveCapacity(string.count)
  guard string.escaped else {
    bytes.append(raw)
    return bytes
  }
  var offset = 0
  while offset < raw.byteCount {
    let byte = raw.byte(at: offset)
    offset += 1
    guard byte == UInt8(ascii: "\\") else {
      bytes.append(byte)
      continue
    }
    guard offset < raw.byteCount else { return nil }
    offset += 1
    switch raw.byte(at: offset - 1) {
    case UInt8(ascii: "n"): bytes.append(0x0A)
    case UInt8(ascii: "t"): bytes.append(0x09)
    case UInt8(ascii: "r"): bytes.append(0x0D)
    case UInt8(ascii: "b"): bytes.append(0x08)
    case UInt8(ascii: "f"): bytes.append(0x0C)
    case UInt8(ascii: "u"):
      guard let scalar = unicodeEscape(raw, &offset) else { return nil }
      bytes.append(contentsOf: Array(String(scalar).utf8))
    case let other where other == 0x22 || other == 0x5C || other == 0x2F: bytes.append(other)
    default: return nil
    }
  }
  return bytes
}

/// Reads `XXXX` after `\u`, and the second escape of a surrogate pair.
private func unicodeEscape(_ raw: RawSpan, _ offset: inout Int) -> Unicode.Scalar? {
  guard let first = fourDigits(raw, &offset) else { return nil }
  guard 0xD800...0xDBFF ~= first else { return Unicode.Scalar(first) }
  guard offset + 2 <= raw.byteCount, raw.extracting(offset..<offset + 2).equals("\\u") else {
    return nil
  }
  offset += 2
  guard let second = fourDigits(raw, &offset), 0xDC00...0xDFFF ~= second else { return nil }
  return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
}

private func fourDigits(_ raw: RawSpan, _ offset: inout Int) -> UInt32? {
  guard offset + 4 <= raw.byteCount else { return nil }
  var value: UInt32 = 0
  for _ in 0..<4 {
    guard let digit = hexadecimalValue(raw.byte(at: offset)) else { return nil }
    value = value << 4 | UInt32(digit)
    offset += 1
  }
  return value
}
