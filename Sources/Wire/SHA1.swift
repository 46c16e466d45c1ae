import Primitives

/// SHA-1 (RFC 3174), for `Sec-WebSocket-Accept` alone: there it proves that the server read the
/// request, it protects nothing.
enum SHA1 {
  /// The 20 bytes of the digest.
  static func digest(_ message: [UInt8]) -> [UInt8] {
    // §4: a 1 bit, zeros, and the length in bits, up to whole blocks of 64 bytes.
    var padded: [UInt8] = []
    padded.reserveCapacity(message.count + 72)
    padded += message
    padded.append(0x80)
    padded.append(contentsOf: repeatElement(0, count: (119 - message.count % 64) % 64))
    padded.append(bigEndian: UInt64(message.count) * 8)

    var state: [5 of UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    padded.withRawSpan { bytes in
      for start in stride(from: 0, to: bytes.byteCount, by: 64) {
        mix(bytes.extracting(start..<start + 64), into: &state)
      }
    }
    var digest: [UInt8] = []
    digest.reserveCapacity(20)
    for index in state.indices { digest.append(bigEndian: state[index]) }
    return digest
  }

  /// §6.2, with 16 words of the schedule at a time.
  private static func mix(_ block: RawSpan, into state: inout [5 of UInt32]) {
    var words = [16 of UInt32](repeating: 0)
    for index in 0..<8 {
      let pair = block.uint64(at: index * 8)
      words[2 * index] = UInt32(truncatingIfNeeded: pair >> 32)
      words[2 * index + 1] = UInt32(truncatingIfNeeded: pair)
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    @inline(__always)
    func step(_ index: Int, _ f: UInt32, _ constant: UInt32) {
      if index >= 16 {
        let mixed =
          words[(index + 13) & 15] ^ words[(index + 8) & 15] ^ words[(index + 2) & 15]
          ^ words[index & 15]
        words[index & 15] = rotate(mixed, 1)
      }
      let next = rotate(a, 5) &+ f &+ e &+ words[index & 15] &+ constant
      (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
    }
    for index in 0..<20 { step(index, b & c | ~b & d, 0x5A82_7999) }
    for index in 20..<40 { step(index, b ^ c ^ d, 0x6ED9_EBA1) }
    for index in 40..<60 { step(index, b & c | b & d | c & d, 0x8F1B_BCDC) }
    for index in 60..<80 { step(index, b ^ c ^ d, 0xCA62_C1D6) }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
  }

  private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 {
    word << bits | word >> (32 - bits)
  }
}
