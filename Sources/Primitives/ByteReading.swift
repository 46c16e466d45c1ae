/// The only unchecked-type loads of the pure targets (SE-0447 leaves safe loads to a later Swift).
/// Every function here checks its bounds, so an offset out of range traps.
extension RawSpan {
  @inlinable @inline(__always)
  public func byte(at offset: Int) -> UInt8 {
    // SAFETY: `unsafeLoad` checks the bounds, and every bit pattern is a valid UInt8.
    unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  /// Two bytes, most significant first (network order).
  @inlinable @inline(__always)
  public func uint16(at offset: Int) -> UInt16 {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds, and every bit pattern is a valid UInt16.
    UInt16(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  /// Four bytes in the machine's own order.
  @inlinable @inline(__always)
  public func uint32(at offset: Int) -> UInt32 {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds, and every bit pattern is a valid UInt32.
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }

  /// Eight bytes, most significant first (network order).
  @inlinable @inline(__always)
  public func uint64(at offset: Int) -> UInt64 {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds, and every bit pattern is a valid UInt64.
    UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Eight bytes in the machine's own order: for scanning eight bytes in a step.
  @inlinable @inline(__always)
  public func word(at offset: Int) -> UInt64 {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds, and every bit pattern is a valid UInt64.
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// 32 bytes as four such words.
  @inlinable @inline(__always)
  public func block(at offset: Int) -> SIMD4<UInt64> {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds, and every bit pattern is a valid vector.
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
  }

  @inlinable
  public func equals(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard count == byteCount else { return false }
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes permanently.
    let other = unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: count)
    var offset = 0
    while offset &+ 4 <= count {
      // SAFETY: as above, and `loadUnaligned` checks its bounds.
      let word = unsafe other.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      guard uint32(at: offset) == word else { return false }
      offset &+= 4
    }
    while offset < count {
      guard unsafe byte(at: offset) == other[offset] else { return false }
      offset &+= 1
    }
    return true
  }

  /// A copy as text. Invalid UTF-8 becomes U+FFFD: for logs and messages, never for stored text.
  public var string: String {
    // SAFETY: the pointer is used only inside the closure.
    unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }
}

extension Array where Element == UInt8 {
  /// Lends the bytes. Spans go down the call chain, never up: returning one needs an experimental
  /// flag.
  @inlinable
  public func withRawSpan<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // SAFETY: UInt8 has no padding, and the span cannot leave the closure.
    try unsafe body(span.bytes)
  }

  /// Lends the bytes for writing in place; their number cannot change meanwhile.
  @inlinable
  public mutating func withMutableRawSpan<Result: ~Copyable, Failure: Error>(
    _ body: (inout MutableRawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var elements = mutableSpan
    // SAFETY: UInt8 has no padding and takes every bit pattern, and the span cannot leave the
    // closure.
    var bytes = unsafe elements.mutableBytes
    return try body(&bytes)
  }
}
