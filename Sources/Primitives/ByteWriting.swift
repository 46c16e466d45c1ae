/// Appending to a byte array: what the encoders of frames, JSON, HTTP and SQL parameters share.
extension Array where Element == UInt8 {
  @inlinable
  public mutating func append(_ bytes: RawSpan) {
    // SAFETY: the pointer is used only inside the closure, and `self` is not read through it.
    unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
  }

  @inlinable
  public mutating func append(_ text: StaticString) {
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes for ever.
    unsafe append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Disfavoured, or every literal would be a String and not a StaticString.
  @_disfavoredOverload
  public mutating func append(_ text: String) {
    append(contentsOf: text.utf8)
  }

  @inlinable
  public mutating func append(bigEndian value: UInt16) { append(word: value.bigEndian) }

  @inlinable
  public mutating func append(bigEndian value: UInt32) { append(word: value.bigEndian) }

  @inlinable
  public mutating func append(bigEndian value: UInt64) { append(word: value.bigEndian) }

  /// The bytes of a whole number as they lie in memory: one check of the capacity for all of them.
  @inlinable
  mutating func append<Word: FixedWidthInteger>(word: Word) {
    // SAFETY: an integer has no padding, and the pointer is used only inside the closure.
    unsafe Swift.withUnsafeBytes(of: word) { unsafe append(contentsOf: $0) }
  }

  /// Decimal digits, with a minus sign where it is needed.
  @inlinable
  public mutating func append(decimal value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    let start = count
    repeat {
      append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    // The digits came out in reverse order.
    var left = start
    var right = count - 1
    while left < right {
      swapAt(left, right)
      left += 1
      right -= 1
    }
  }
}
