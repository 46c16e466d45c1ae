import CLinux
public import Primitives

/// The kernel's random numbers (getrandom(2)): suitable for keys, and different after a fork.
public enum Random {
  public static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    // SAFETY: the pointer and the count describe the array.
    unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
    return bytes
  }

  public static func uint64() -> UInt64 {
    var value: UInt64 = 0
    // SAFETY: the pointer and the count describe `value`.
    unsafe withUnsafeMutableBytes(of: &value) { unsafe fill($0) }
    return value
  }

  private static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    var offset = 0
    while offset < buffer.count {
      // SAFETY: this is the rest of the buffer, which the caller keeps alive.
      let count = unsafe getrandom(
        buffer.baseAddress?.advanced(by: offset), buffer.count - offset, 0)
      if count > 0 {
        offset += count
      } else {
        // Callers cannot continue without randomness.
        precondition(count == -1 && chirrup_errno() == EINTR, "getrandom failed")
      }
    }
  }
}

extension Identifier {
  /// A new id of version 7 (RFC 9562 §5.7): ids of the same time are close together in indexes.
  public static func random(at time: WallTime = SystemClock.wallTime()) -> Identifier {
    Identifier(
      version7At: time, randomHigh: UInt16(truncatingIfNeeded: Random.uint64()),
      randomLow: Random.uint64())
  }
}
