public import Primitives

/// Reads JSON (RFC 8259) in place: tokens are ranges of the text, and nothing is allocated.
///
/// Nesting is limited by `depthMax`, the keys of each object by `keysMax`. The caller has validated
/// the text as UTF-8. Invariant: `offset` never decreases and never exceeds the end of the text.
/// Inlinable, since every command passes through it.
public struct JSONScanner {
  /// Levels of nested arrays and objects.
  @inlinable public static var depthMax: Int { 16 }
  /// Keys of one object.
  @inlinable public static var keysMax: Int { 64 }

  public enum Fault: Error, Equatable {
    case syntax
    case tooDeep
    case tooManyKeys
  }

  public enum TokenKind: UInt8, Sendable {
    case string, number, true_, false_, null, object, array
  }

  /// The type of a value and its range in the text, which excludes the quotes of a string.
  public struct Token: Sendable, Equatable {
    public var kind: TokenKind
    public var range: Range<Int>
    /// Whether a string contains a backslash and must be decoded before use.
    public var hasEscapes: Bool

    @inlinable
    init(kind: TokenKind, range: Range<Int>, hasEscapes: Bool) {
      self.kind = kind
      self.range = range
      self.hasEscapes = hasEscapes
    }
  }

  /// The next byte to read.
  public var offset: Int

  @inlinable
  public init(offset: Int = 0) { self.offset = offset }

  @inlinable
  public mutating func skipSpace(_ text: RawSpan) {
    while offset < text.byteCount {
      switch text.byte(at: offset) {
      case 0x20, 0x09, 0x0A, 0x0D: offset += 1
      default: return
      }
    }
  }

  @inlinable
  public func isAtEnd(_ text: RawSpan) -> Bool { offset >= text.byteCount }

  /// Consumes `byte` if it is the next one, and returns whether it is.
  @inlinable
  public mutating func accept(_ byte: UInt8, _ text: RawSpan) -> Bool {
    guard offset < text.byteCount, text.byte(at: offset) == byte else { return false }
    offset += 1
    return true
  }

  /// Reads and validates one value.
  /// - Parameter depth: the number of containers around it.
  @inlinable
  public mutating func value(_ text: RawSpan, depth: Int) throws(Fault) -> Token {
    skipSpace(text)
    guard offset < text.byteCount else { throw .syntax }
    let start = offset
    switch text.byte(at: offset) {
    case UInt8(ascii: "\""): return try string(text)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      let kind: TokenKind = text.byte(at: offset) == UInt8(ascii: "{") ? .object : .array
      try container(text, depth: depth)
      return Token(kind: kind, range: start..<offset, hasEscapes: false)
    case UInt8(ascii: "t"): return try literal("true", .true_, text)
    case UInt8(ascii: "f"): return try literal("false", .false_, text)
    case UInt8(ascii: "n"): return try literal("null", .null, text)
    default: return try number(text)
    }
  }

  /// Reads `"key":` of an object and returns the key.
  @inlinable
  public mutating func key(_ text: RawSpan) throws(Fault) -> Token {
    skipSpace(text)
    let token = try string(text)
    skipSpace(text)
    guard accept(UInt8(ascii: ":"), text) else { throw .syntax }
    return token
  }

  @inlinable
  mutating func literal(
    _ word: StaticString, _ kind: TokenKind, _ text: RawSpan
  ) throws(Fault) -> Token {
    let end = offset + word.utf8CodeUnitCount
    guard end <= text.byteCount, text.extracting(offset..<end).equals(word) else { throw .syntax }
    defer { offset = end }
    return Token(kind: kind, range: offset..<end, hasEscapes: false)
  }

  @inlinable
  mutating func string(_ text: RawSpan) throws(Fault) -> Token {
    guard accept(UInt8(ascii: "\""), text) else { throw .syntax }
    let start = offset
    var hasEscapes = false
    while offset < text.byteCount {
      offset = JSONText.plainEnd(text, offset..<text.byteCount)
      guard offset < text.byteCount else { break }
      let byte = text.byte(at: offset)
      if byte == UInt8(ascii: "\"") {
        offset += 1
        return Token(kind: .string, range: start..<(offset - 1), hasEscapes: hasEscapes)
      }
      // RFC 8259 §7: control characters must be escaped.
      guard byte == UInt8(ascii: "\\") else { throw .syntax }
      hasEscapes = true
      try escape(text)
    }
    throw .syntax
  }

  @inlinable
  mutating func escape(_ text: RawSpan) throws(Fault) {
    guard offset + 1 < text.byteCount else { throw .syntax }
    switch text.byte(at: offset + 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      offset += 2
    case UInt8(ascii: "u"):
      guard offset + 6 <= text.byteCount else { throw .syntax }
      for digit in (offset + 2)..<(offset + 6) where hexadecimalValue(text.byte(at: digit)) == nil {
        throw .syntax
      }
      offset += 6
    default: throw .syntax
    }
  }

  @inlinable
  mutating func digits(_ text: RawSpan) -> Int {
    let start = offset
    while offset < text.byteCount {
      let byte = text.byte(at: offset)
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { break }
      offset += 1
    }
    return offset - start
  }

  @inlinable
  mutating func number(_ text: RawSpan) throws(Fault) -> Token {
    let start = offset
    _ = accept(UInt8(ascii: "-"), text)
    if !accept(UInt8(ascii: "0"), text) {
      guard digits(text) > 0 else { throw .syntax }
    }
    if accept(UInt8(ascii: "."), text) {
      guard digits(text) > 0 else { throw .syntax }
    }
    if accept(UInt8(ascii: "e"), text) || accept(UInt8(ascii: "E"), text) {
      if !accept(UInt8(ascii: "+"), text) { _ = accept(UInt8(ascii: "-"), text) }
      guard digits(text) > 0 else { throw .syntax }
    }
    return Token(kind: .number, range: start..<offset, hasEscapes: false)
  }

  /// Reads and validates one object or array. `depthMax` bounds the recursion.
  @inlinable
  mutating func container(_ text: RawSpan, depth: Int) throws(Fault) {
    guard depth < JSONScanner.depthMax else { throw .tooDeep }
    let isObject = text.byte(at: offset) == UInt8(ascii: "{")
    let close = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    offset += 1
    skipSpace(text)
    if accept(close, text) { return }
    var keys = 0
    while true {
      if isObject {
        keys += 1
        guard keys <= JSONScanner.keysMax else { throw .tooManyKeys }
        _ = try key(text)
      }
      _ = try value(text, depth: depth + 1)
      skipSpace(text)
      if accept(close, text) { return }
      guard accept(UInt8(ascii: ","), text) else { throw .syntax }
    }
  }
}
