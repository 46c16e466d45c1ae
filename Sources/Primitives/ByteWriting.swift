/// Appends to byte arrays, for the encoders of frames, JSON, HTTP and SQL parameters.
extension Array where Element == UInt8 {
  /// Reserves room for `byteCountMax` bytes once. `write` fills it from the start and returns the
  /// number of bytes written. `append(contentsOf:)` is not inlined and checks the capacity again,
  /// which costs twice as much for a short text. With a maximum of 0, `write` is not called.
  @inlinable @inline(__always)
  public mutating func append(
    upTo byteCountMax: Int, _ write: (UnsafeMutableRawBufferPointer) -> Int
  ) {
    // All arrays that never had an element share one storage. Appending nothing would still write
    // the count there, which is a data race (ThreadSanitizer).
    guard byteCountMax > 0 else { return }
    append(addingCapacity: byteCountMax) { (output: inout OutputSpan<UInt8>) in
      // SAFETY: the buffer is the reserved room, and `write` does not keep it; the count it
      // returns is checked against the buffer's size.
      unsafe output.withUnsafeMutableBufferPointer { room, count in
        count = unsafe write(UnsafeMutableRawBufferPointer(room))
      }
    }
  }

  @inlinable
  public mutating func append(_ bytes: RawSpan) {
    // SAFETY: both pointers are used only inside the closures; `copyMemory` checks the room.
    unsafe append(upTo: bytes.byteCount) { room in
      unsafe bytes.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
      return bytes.byteCount
    }
  }

  @inlinable
  public mutating func append(_ text: StaticString) {
    let count = text.utf8CodeUnitCount
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes permanently.
    unsafe append(upTo: count) { room in
      unsafe room.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: count))
      return count
    }
  }

  /// Appends `count` zeros. (`repeatElement` is iterated: seven instructions a byte.)
  @inlinable
  public mutating func append(zeros count: Int) {
    // SAFETY: all of the reserved room is written.
    unsafe append(upTo: count) { room in
      unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
      return count
    }
  }

  /// Disfavoured, because every literal would otherwise be a String and not a StaticString.
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

  /// Appends the bytes of an integer in memory order, with one capacity check.
  @inlinable
  mutating func append<Word: FixedWidthInteger>(word: Word) {
    // SAFETY: an integer has no padding and fits into the reserved room.
    unsafe append(upTo: MemoryLayout<Word>.size) { room in
      unsafe room.storeBytes(of: word, as: Word.self)
      return MemoryLayout<Word>.size
    }
  }

  /// Decimal digits, with a minus sign for negative values.
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
