import Primitives

/// SHA-1 (RFC 3174), for `Sec-WebSocket-Accept` alone: it proves there that the server read the
/// request. It has no security purpose.
enum SHA1 {
  /// The 20 bytes of the digest.
  static func digest(_ message: [UInt8]) -> [UInt8] {
    // §4: a 1 bit, zeros, and the length in bits, up to whole blocks of 64 bytes.
    var padded: [UInt8] = []
    padded.reserveCapacity(message.count + 72)
    padded += message
    padded.append(0x80)
    padded.append(zeros: (119 - message.count % 64) % 64)
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

  /// §6.1: the schedule first, and then 80 steps.
  private static func mix(_ block: RawSpan, into state: inout [5 of UInt32]) {
    var words = [80 of UInt32](repeating: 0)
    for index in 0..<16 { words[index] = UInt32(bigEndian: block.uint32(at: 4 * index)) }
    for index in 16..<80 {
      words[index] = rotate(
        words[index &- 3] ^ words[index &- 8] ^ words[index &- 14] ^ words[index &- 16], 1)
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    @inline(__always)
    func step(_ index: Int, _ f: UInt32, _ constant: UInt32) {
      let next = rotate(a, 5) &+ f &+ e &+ words[index] &+ constant
      (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
    }
    for index in 0..<20 { step(index, d ^ b & (c ^ d), 0x5A82_7999) }
    for index in 20..<40 { step(index, b ^ c ^ d, 0x6ED9_EBA1) }
    for index in 40..<60 { step(index, b & c | d & (b | c), 0x8F1B_BCDC) }
    for index in 60..<80 { step(index, b ^ c ^ d, 0xCA62_C1D6) }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
  }

  private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 {
    word &<< bits | word &>> (32 &- bits)
  }
}
