import Primitives

/// Checks UTF-8 as it arrives, in pieces of any size (RFC 3629; RFC 6455 §8.1), and refuses it at
/// the first byte that cannot be right: overlong forms, surrogates and values above U+10FFFF
/// included.
public struct UTF8Validator: Equatable, Sendable {
  /// Continuation bytes still owed by the character in progress, and the range of the next one.
  /// Only the second byte of a character ever has a range other than 80…BF (Unicode 16, table 3-7).
  private var missing: UInt8 = 0
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF

  public init() {}

  /// Whether the text may end here.
  @inline(__always)
  public var isComplete: Bool { missing == 0 }

  /// False at the first impossible byte; the validator is of no further use then.
  @_noAllocation
  public mutating func accept(_ bytes: RawSpan, in range: Range<Int>) -> Bool {
    var offset = range.lowerBound
    let end = range.upperBound
    while offset < end {
      let byte = bytes.byte(at: offset)
      if missing == 0 && byte < 0x80 {
        offset &+= 1
        // Text is mostly ASCII in runs: two words a step while no byte has its top bit set.
        while offset &+ 16 <= end,
          (bytes.word(at: offset) | bytes.word(at: offset &+ 8)) & 0x8080_8080_8080_8080 == 0
        {
          offset &+= 16
        }
        continue
      }
      offset &+= 1
      guard missing == 0 ? begin(byte) : proceed(byte) else { return false }
    }
    return true
  }

  /// The whole of a text at once.
  public static func isValid(_ bytes: RawSpan) -> Bool {
    var validator = UTF8Validator()
    return validator.accept(bytes, in: 0..<bytes.byteCount) && validator.isComplete
  }

  /// The first byte of a character of two bytes or more.
  @inline(__always)
  private mutating func begin(_ byte: UInt8) -> Bool {
    switch byte {
    case 0xC2...0xDF:
      missing = 1
    case 0xE0...0xEF:
      missing = 2
      if byte == 0xE0 { low = 0xA0 }  // shorter forms exist below U+0800
      if byte == 0xED { high = 0x9F }  // U+D800 to U+DFFF are surrogates
    case 0xF0...0xF4:
      missing = 3
      if byte == 0xF0 { low = 0x90 }  // shorter forms exist below U+10000
      if byte == 0xF4 { high = 0x8F }  // U+10FFFF is the last
    default:
      return false  // 80…BF cannot begin, C0, C1 and F5…FF cannot occur
    }
    return true
  }

  @inline(__always)
  private mutating func proceed(_ byte: UInt8) -> Bool {
    guard byte >= low && byte <= high else { return false }
    low = 0x80
    high = 0xBF
    missing &-= 1
    return true
  }
}
