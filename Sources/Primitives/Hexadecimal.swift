/// Hexadecimal digits, and the text of bytes. Identifiers have
/// faster functions, which process eight digits in a step.
@inlinable
public func hexadecimalValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

@inlinable
public func hexadecimalDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}

extension Array where Element == UInt8 {
  /// Two lower-case digits for each byte.
  public var hexadecimal: String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * count)
    for byte in self {
      text.append(hexadecimalDigit(byte >> 4))
      text.append(hexadecimalDigit(byte & 0xF))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil for anything but pairs of digits.
  public init?(hexadecimal text: String) {
    let digits = text.utf8.compactMap { hexadecimalValue($0) }
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
