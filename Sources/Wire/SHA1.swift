import Primitives

/// SHA-1 (RFC 3174), for `Sec-WebSocket-Accept` alone: there it proves that the server read the
/// request, it protects nothing. One call a connection, so plainness counts and speed does not.
enum SHA1 {
  /// The 20 bytes of the digest.
  static func digest(_ message: [UInt8]) -> [UInt8] {
    // §4: a 1 bit, zeros, and the length in bits, up to whole blocks of 64 bytes.
    var padded = message
    padded.append(0x80)
    while padded.count % 64 != 56 { padded.append(0) }
    padded.append(bigEndian: UInt64(message.count) * 8)

    var state: [5 of UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    for block in stride(from: 0, to: padded.count, by: 64) {
      mix(padded[block..<block + 64], into: &state)
    }
    var digest: [UInt8] = []
    for index in state.indices { digest.append(bigEndian: state[index]) }
    return digest
  }

  /// §6.1, with the 80 words of the schedule written out.
  private static func mix(_ block: ArraySlice<UInt8>, into state: inout [5 of UInt32]) {
    var words = [UInt32](repeating: 0, count: 80)
    for (index, byte) in block.enumerated() {
      words[index / 4] = words[index / 4] << 8 | UInt32(byte)
    }
    for index in 16..<80 {
      let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
      words[index] = rotate(mixed, 1)
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for index in 0..<80 {
      let (f, constant): (UInt32, UInt32) =
        switch index {
        case ..<20: (b & c | ~b & d, 0x5A82_7999)
        case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = rotate(a, 5) &+ f &+ e &+ words[index] &+ constant
      (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
    }
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
