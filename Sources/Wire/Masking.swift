/// Masking and unmasking, which are the same operation (RFC 6455 §5.3), in place and 64 bytes a
/// step.
///
/// A key is four bytes, first byte lowest, whatever the machine's byte order.
enum Masking {
  /// The key for the bytes after `byteCount` masked bytes: a payload may arrive in any number of
  /// pieces.
  @inline(__always)
  static func advance(_ key: UInt32, by byteCount: Int) -> UInt32 {
    let bits = UInt32(truncatingIfNeeded: byteCount & 3) &* 8
    return bits == 0 ? key : key &>> bits | key &<< (32 &- bits)
  }

  /// Returns whether all written bytes are ASCII. Nearly all text is, and then needs no separate
  /// UTF-8 check.
  @_noAllocation
  @discardableResult
  static func apply(_ key: UInt32, to bytes: inout MutableRawSpan, in range: Range<Int>) -> Bool {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "mask range outside the buffer")
    let twice = (UInt64(key) << 32 | UInt64(key)).littleEndian
    let wide = SIMD4<UInt64>(repeating: twice)
    // SAFETY: the range was checked above; every access below stays inside it, unaligned loads and
    // stores are explicit, and the pointer does not leave the closure.
    return unsafe bytes.withUnsafeMutableBytes { raw in
      var seen = SIMD4<UInt64>(repeating: 0)
      var offset = range.lowerBound
      let end = range.upperBound
      while offset &+ 64 <= end {
        let next = offset &+ 32
        let first = unsafe raw.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self) ^ wide
        let second = unsafe raw.loadUnaligned(fromByteOffset: next, as: SIMD4<UInt64>.self) ^ wide
        unsafe raw.storeBytes(of: first, toByteOffset: offset, as: SIMD4<UInt64>.self)
        unsafe raw.storeBytes(of: second, toByteOffset: next, as: SIMD4<UInt64>.self)
        seen |= first | second
        offset &+= 64
      }
      let halves = seen.lowHalf | seen.highHalf
      var bits = halves[0] | halves[1]
      while offset &+ 8 <= end {
        let word = unsafe raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ twice
        unsafe raw.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
        bits |= word
        offset &+= 8
      }
      // Steps of whole keys (4 and 8 bytes) do not rotate the key: its first byte is next.
      if offset &+ 4 <= end {
        let word =
          unsafe raw.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
          ^ UInt32(truncatingIfNeeded: twice)
        unsafe raw.storeBytes(of: word, toByteOffset: offset, as: UInt32.self)
        bits |= UInt64(word)
        offset &+= 4
      }
      var rest = key
      while offset < end {
        let byte = unsafe raw[offset] ^ UInt8(truncatingIfNeeded: rest)
        unsafe raw[offset] = byte
        bits |= UInt64(byte)
        rest = rest &>> 8 | rest &<< 24
        offset &+= 1
      }
      return bits & 0x8080_8080_8080_8080 == 0
    }
  }
}
