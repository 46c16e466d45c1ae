/// Text with a known, small bound, composed on the stack and then appended at once. An event has
/// two dozen pieces, and an array is asked before each whether it is unique and has room: that was
/// more than a third of what it cost to encode one.
@frozen
public struct ShortText {
  /// Bytes. Whoever composes more has made a mistake, and is stopped.
  @inlinable public static var byteCountMax: Int { 256 }

  @usableFromInline var bytes = InlineArray<256, UInt8>(repeating: 0)
  @usableFromInline var byteCount = 0

  @inlinable @inline(__always)
  public init() {}

  /// Copies bytes behind what is there, of which the first `used` count.
  @inlinable @inline(__always)
  mutating func put(_ source: UnsafeRawBufferPointer, used: Int) {
    let start = byteCount
    precondition(
      start + source.count <= ShortText.byteCountMax, "a short text that is too long")
    guard let first = source.baseAddress else { return }
    var span = bytes.mutableSpan
    // SAFETY: the bytes that are written lie in the array, see above.
    unsafe span.withUnsafeMutableBytes { all in
      guard let base = all.baseAddress else { return }
      unsafe (base + start).copyMemory(from: first, byteCount: source.count)
    }
    byteCount = start + used
  }

  @inlinable @inline(__always)
  public mutating func append(_ text: StaticString) {
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes for ever.
    unsafe put(
      UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount),
      used: text.utf8CodeUnitCount)
  }

  @inlinable @inline(__always)
  public mutating func append(_ id: Identifier) {
    // SAFETY: five words without padding, of which 36 bytes count, only inside the closure.
    unsafe withUnsafeBytes(of: id.textWords) { words in
      unsafe put(words, used: Identifier.textByteCount)
    }
  }

  @inlinable @inline(__always)
  public mutating func append(_ time: WallTime) {
    // SAFETY: three words without padding, only inside the closure.
    unsafe withUnsafeBytes(of: time.textWords) { words in unsafe put(words, used: words.count) }
  }

  /// Decimal digits, with a minus sign where it is needed.
  @inlinable
  public mutating func append(decimal value: Int64) {
    // From the last digit to the first: 19 of them at most, and the sign.
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var start = 20
    var rest = value.magnitude
    repeat {
      start -= 1
      digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    } while rest > 0
    if value < 0 {
      start -= 1
      digits[start] = UInt8(ascii: "-")
    }
    // SAFETY: UInt8 has no padding, and the span does not outlive this statement.
    unsafe append(digits.span.bytes.extracting(start..<20))
  }

  @inlinable @inline(__always)
  public mutating func append(_ text: RawSpan) {
    // SAFETY: the pointer is used only inside the closure.
    unsafe text.withUnsafeBytes { unsafe put($0, used: $0.count) }
  }
}

extension Array where Element == UInt8 {
  @inlinable
  public mutating func append(_ text: borrowing ShortText) {
    // SAFETY: UInt8 has no padding, and the span does not outlive this statement.
    unsafe append(text.bytes.span.bytes.extracting(0..<text.byteCount))
  }
}
