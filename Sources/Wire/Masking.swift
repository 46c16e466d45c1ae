/// Masking and unmasking, which are the same operation (RFC 6455 §5.3), in place and eight bytes a
/// step.
///
/// A key is four bytes, first byte lowest, whatever the machine's byte order.
enum Masking {
  /// The key for what follows `byteCount` masked bytes: a payload may arrive in any number of
  /// pieces.
  @inline(__always)
  static func advance(_ key: UInt32, by byteCount: Int) -> UInt32 {
    let bits = UInt32(truncatingIfNeeded: byteCount & 3) &* 8
    return bits == 0 ? key : key &>> bits | key &<< (32 &- bits)
  }

  @_noAllocation
  static func apply(_ key: UInt32, to bytes: inout MutableRawSpan, in range: Range<Int>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "mask range outside the buffer")
    if key == 0 || range.isEmpty { return }
    let twice = (UInt64(key) << 32 | UInt64(key)).littleEndian
    let wide = SIMD4<UInt64>(repeating: twice)
    // SAFETY: the range was checked above; every access below stays inside it, unaligned loads and
    // stores are asked for as such, and the pointer does not leave the closure.
    unsafe bytes.withUnsafeMutableBytes { raw in
      var offset = range.lowerBound
      let end = range.upperBound
      while offset &+ 32 <= end {
        let block = unsafe raw.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
        unsafe raw.storeBytes(of: block ^ wide, toByteOffset: offset, as: SIMD4<UInt64>.self)
        offset &+= 32
      }
      while offset &+ 8 <= end {
        let word = unsafe raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        unsafe raw.storeBytes(of: word ^ twice, toByteOffset: offset, as: UInt64.self)
        offset &+= 8
      }
      // Whole steps of 8 leave the key where it was: its first byte is next.
      var rest = key
      while offset < end {
        unsafe raw[offset] ^= UInt8(truncatingIfNeeded: rest)
        rest = rest &>> 8 | rest &<< 24
        offset &+= 1
      }
    }
  }
}
