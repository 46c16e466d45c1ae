/// Appending to a byte array: what the encoders of frames, JSON, HTTP and SQL parameters share.
extension Array where Element == UInt8 {
  /// Room for so many bytes is asked for once, and `write` fills it from its first byte on, by as
  /// many as it says: `append(contentsOf:)` is a function of its own that asks again, and costs
  /// twice as much for a short text. For no bytes nothing is called.
  @inlinable @inline(__always)
  public mutating func append(
    upTo byteCountMax: Int, _ write: (UnsafeMutableRawBufferPointer) -> Int
  ) {
    // An array that never had an element shares its storage with all others: to add nothing there
    // would still write the count, which is a race (ThreadSanitizer).
    guard byteCountMax > 0 else { return }
    append(addingCapacity: byteCountMax) { (output: inout OutputSpan<UInt8>) in
      // SAFETY: the buffer is the room that was asked for, and `write` does not keep it; what it
      // says to have written is held to its size.
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
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes for ever.
    unsafe append(upTo: count) { room in
      unsafe room.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: count))
      return count
    }
  }

  /// As many zeros. (`repeatElement` is gone through one by one: seven instructions a byte.)
  @inlinable
  public mutating func append(zeros count: Int) {
    // SAFETY: all of the room that was asked for is written.
    unsafe append(upTo: count) { room in
      unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
      return count
    }
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
    // SAFETY: an integer has no padding and fits into the room that was asked for.
    unsafe append(upTo: MemoryLayout<Word>.size) { room in
      unsafe room.storeBytes(of: word, as: Word.self)
      return MemoryLayout<Word>.size
    }
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
