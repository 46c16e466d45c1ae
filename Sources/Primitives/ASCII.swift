/// ASCII classes, case folding and trimming for the texts of protocols and settings: without a
/// locale, and without any change to bytes above 127.
extension UInt8 {
  /// A to Z in lower case; every other byte is unchanged.
  @inlinable @inline(__always)
  public var lowercasedASCII: UInt8 {
    self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
  }

  @inlinable @inline(__always)
  public var isASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }

  @inlinable @inline(__always)
  public var isLowercaseASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self }

  @inlinable @inline(__always)
  public var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

  /// 0 to 0x1F, and DEL.
  @inlinable @inline(__always)
  public var isASCIIControl: Bool { self < 0x20 || self == 0x7F }

  /// SP and HTAB, the white space of HTTP (RFC 9110 §5.6.3).
  @inlinable @inline(__always)
  public var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

/// The same classes for Unicode scalars and other wide numbers; false above 127.
extension UInt32 {
  @inlinable
  public var isASCIILetter: Bool { self < 0x80 && UInt8(self).isASCIILetter }

  @inlinable
  public var isASCIIDigit: Bool { self < 0x80 && UInt8(self).isASCIIDigit }
}

extension StringProtocol {
  /// Compares lengths first: names of header fields mostly differ in it. Inlinable, because the
  /// generic code reads each byte through witness tables: a request compares a dozen names for
  /// each field it looks for.
  @inlinable
  public func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
    utf8.count == other.utf8.count
      && utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
  }

  /// The text without spaces and tabs at both ends.
  public var trimmingBlanks: SubSequence {
    var text = self[...]
    while text.first == " " || text.first == "\t" { text = text.dropFirst() }
    while text.last == " " || text.last == "\t" { text = text.dropLast() }
    return text
  }
}

extension RawSpan {
  /// Precondition: `text` is in lower case.
  @inlinable
  public func equalsIgnoringASCIICase(_ text: StaticString) -> Bool {
    guard text.utf8CodeUnitCount == byteCount else { return false }
    for offset in 0..<byteCount {
      // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes permanently.
      guard unsafe byte(at: offset).lowercasedASCII == text.utf8Start[offset] else { return false }
    }
    return true
  }

  /// The part of `range` that remains without the blanks at both ends.
  @inlinable
  public func trimmingBlanks(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, byte(at: start).isBlank { start += 1 }
    while end > start, byte(at: end - 1).isBlank { end -= 1 }
    return start..<end
  }
}
