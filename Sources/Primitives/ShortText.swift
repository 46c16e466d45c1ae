/// Text with a small fixed bound, composed on the stack and then appended in one copy. An event has
/// two dozen pieces, and an array checks uniqueness and capacity before each append: those checks
/// were more than a third of the cost of encoding an event.
@frozen
public struct ShortText {
  /// Bytes. Appending more is a programming error and traps.
  @inlinable public static var byteCountMax: Int { 256 }

  @usableFromInline var bytes = InlineArray<256, UInt8>(repeating: 0)
  @usableFromInline var byteCount = 0

  @inlinable @inline(__always)
  public init() {}

  /// Copies `source` to the end; only its first `used` bytes count.
  @inlinable @inline(__always)
  mutating func put(_ source: UnsafeRawBufferPointer, used: Int) {
    let start = byteCount
    precondition(
      start + source.count <= ShortText.byteCountMax, "a ShortText exceeds its bound")
    guard let first = source.baseAddress else { return }
    var span = bytes.mutableSpan
    // SAFETY: the precondition keeps the written bytes inside the array.
    unsafe span.withUnsafeMutableBytes { all in
      guard let base = all.baseAddress else { return }
      unsafe (base + start).copyMemory(from: first, byteCount: source.count)
    }
    byteCount = start + used
  }

  @inlinable @inline(__always)
  public mutating func append(_ text: StaticString) {
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes permanently.
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

  /// Decimal digits, with a minus sign for negative values.
  @inlinable
  public mutating func append(decimal value: Int64) {
    // From the last digit to the first: at most 19 digits and the sign.
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
