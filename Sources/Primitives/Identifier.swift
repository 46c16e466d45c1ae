/// A UUID (RFC 9562) as two machine words: the id of every durable thing in Chirrup.
///
/// Foundation's `UUID` is not used because the hot path compares, hashes and prints ids without
/// Foundation and without allocating.
public struct Identifier: Hashable, Comparable, Sendable {
  /// Bytes 0 to 7 and 8 to 15, most significant byte first.
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public static let zero = Identifier(high: 0, low: 0)
  /// The length of the canonical text form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
  public static let textByteCount = 36

  /// The order of PostgreSQL's `uuid` type, so that locks are taken in one order everywhere.
  public static func < (left: Identifier, right: Identifier) -> Bool {
    left.high == right.high ? left.low < right.low : left.high < right.high
  }

  /// Reads the canonical text form, either case (RFC 9562 §4). Nothing else is an id: no braces, no
  /// `urn:uuid:`, no missing hyphens.
  public init?(text: RawSpan) {
    guard text.byteCount == Identifier.textByteCount, text.byte(at: 8) == UInt8(ascii: "-"),
      text.byte(at: 13) == UInt8(ascii: "-"), text.byte(at: 18) == UInt8(ascii: "-"),
      text.byte(at: 23) == UInt8(ascii: "-"),
      let a = hexadecimalWord(text.uint64(at: 0)),
      let b = hexadecimalWord(Identifier.digits(text, 9, 14)),
      let c = hexadecimalWord(Identifier.digits(text, 19, 24)),
      let d = hexadecimalWord(text.uint64(at: 28))
    else { return nil }
    self.init(high: UInt64(a) << 32 | UInt64(b), low: UInt64(c) << 32 | UInt64(d))
  }

  /// Two groups of four digits, most significant first.
  private static func digits(_ text: RawSpan, _ first: Int, _ second: Int) -> UInt64 {
    UInt64(UInt32(bigEndian: text.uint32(at: first))) << 32
      | UInt64(UInt32(bigEndian: text.uint32(at: second)))
  }

  public init?(_ text: String) {
    let parsed = Array(text.utf8).withRawSpan { Identifier(text: $0) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// Makes a version 7 id (RFC 9562 §5.7) from a time and 80 random bits, of which 74 are used.
  public init(
    version7At time: WallTime, randomHigh: UInt16, randomLow: UInt64
  ) {
    let milliseconds = UInt64(bitPattern: time.microseconds / 1000) & 0xFFFF_FFFF_FFFF
    high = milliseconds << 16 | 0x7000 | UInt64(randomHigh & 0x0FFF)
    low = 0x8000_0000_0000_0000 | (randomLow & 0x3FFF_FFFF_FFFF_FFFF)
  }

  /// Appends the canonical lower-case text form: composed in words and appended in one
  /// copy, because every event contains several ids.
  public func appendText(to bytes: inout [UInt8]) {
    // SAFETY: five words without padding, of which 36 bytes are used, only inside the closure.
    unsafe withUnsafeBytes(of: textWords) { words in
      unsafe bytes.append(upTo: words.count) { room in
        unsafe room.copyMemory(from: words)
        return Identifier.textByteCount
      }
    }
  }

  /// The text in memory order: the first 36 of these 40 bytes.
  @usableFromInline
  var textWords: (UInt64, UInt64, UInt64, UInt64, UInt64) {
    let a = hexadecimalText(UInt32(truncatingIfNeeded: high >> 32))
    let b = hexadecimalText(UInt32(truncatingIfNeeded: high))
    let c = hexadecimalText(UInt32(truncatingIfNeeded: low >> 32))
    let d = hexadecimalText(UInt32(truncatingIfNeeded: low))
    let hyphen: UInt64 = 0x2D
    // aaaaaaaa -bbbb-bb bb-cccc- ccccdddd dddd
    return (
      a.bigEndian,
      (hyphen << 56 | (b >> 32) << 24 | hyphen << 16 | (b >> 16 & 0xFFFF)).bigEndian,
      (b << 48 | hyphen << 40 | (c >> 32) << 8 | hyphen).bigEndian,
      (c << 32 | d >> 32).bigEndian, (d << 32).bigEndian
    )
  }

  /// Appends the 16 bytes, most significant first: PostgreSQL's binary form of `uuid`.
  public func appendBytes(to bytes: inout [UInt8]) {
    // SAFETY: two words without padding, only inside the closure.
    unsafe withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { words in
      unsafe bytes.append(upTo: words.count) { room in
        unsafe room.copyMemory(from: words)
        return words.count
      }
    }
  }
}

extension Identifier: CustomStringConvertible {
  public var description: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Identifier.textByteCount)
    appendText(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The value of eight hexadecimal digits of either case, the most significant in the highest byte;
/// nil when a byte is not a digit. All eight are tested at once: the top bit of a byte's sum is set
/// when the byte is at least 0x80 minus the summand.
private func hexadecimalWord(_ text: UInt64) -> UInt32? {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let tops = ones &* 0x80
  guard text & tops == 0 else { return nil }
  let lower = text | ones &* 0x20
  let isDigit = (text &+ ones &* 0x50) & ~(text &+ ones &* 0x46)  // "0" to "9"
  let isLetter = (lower &+ ones &* 0x1F) & ~(lower &+ ones &* 0x19)  // "a" to "f"
  guard (isDigit | isLetter) & tops == tops else { return nil }
  // A letter has bit 6, and its low half counts from 1.
  var value = (text & 0x0F0F_0F0F_0F0F_0F0F) &+ (text >> 6 & ones) &* 9
  value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
  value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
  return UInt32(truncatingIfNeeded: value | value >> 16)
}

/// Eight half bytes as eight lower-case digits, the most significant in the highest byte.
private func hexadecimalText(_ value: UInt32) -> UInt64 {
  var digits = UInt64(value)
  digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
  digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
  digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
  // 1 in each byte that holds 10 to 15: "a" is 39 code points after ":".
  let letters = ((digits &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
  return digits &+ 0x3030_3030_3030_3030 &+ letters &* 39
}
