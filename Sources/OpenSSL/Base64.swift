import Primitives

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
  /// Of each byte; 64 is no letter's.
  private let values: [UInt8]

  private init(lastLetters: String) {
    letters = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastLetters)".utf8)
    var values = [UInt8](repeating: 64, count: 256)
    for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
    self.values = values
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

  public func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    Array(text).withRawSpan { decode($0) }
  }

  public func decode(_ text: RawSpan) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.byteCount * 3 / 4)
    var pending: UInt32 = 0
    var bits = 0
    let values = values.span
    for offset in 0..<text.byteCount {
      let value = values[Int(text.byte(at: offset))]
      guard value < 64 else { return nil }
      pending = pending << 6 | UInt32(value)
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
}
