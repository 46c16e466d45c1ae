/// Base64 without padding (RFC 4648): the URL alphabet for tokens, the standard one for password
/// hashes.
///
/// Decoding is strict: no padding, no blanks, no spare bits, so that one value has one text.
public struct Base64: Sendable {
  /// RFC 4648 §5, `-` and `_`.
  public static let url = Base64(lastLetters: "-_")
  /// RFC 4648 §4, `+` and `/`.
  public static let standard = Base64(lastLetters: "+/")

  private let letters: [UInt8]

  private init(lastLetters: String) {
    letters = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastLetters)".utf8)
  }

  public func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var pending: UInt32 = 0
    var bits = 0
    for byte in bytes {
      pending = pending << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(letters[Int(pending >> UInt32(bits) & 0x3F)])
      }
    }
    if bits > 0 { text.append(letters[Int(pending << UInt32(6 - bits) & 0x3F)]) }
    return String(decoding: text, as: UTF8.self)
  }

  public func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var pending: UInt32 = 0
    var bits = 0
    for letter in text {
      guard let value = value(of: letter) else { return nil }
      pending = pending << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
      }
    }
    // Six left-over bits are a lone letter; set left-over bits would be a second text of the same
    // bytes.
    guard bits < 6, pending & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return bytes
  }

  private func value(of letter: UInt8) -> UInt32? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
    case letters[62]: 62
    case letters[63]: 63
    default: nil
    }
  }
}
