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
        // Text is mostly ASCII in runs: 64 bytes a step while no byte has its top bit set.
        while offset &+ 64 <= end,
          isASCII(bytes.block(at: offset) | bytes.block(at: offset &+ 32))
        {
          offset &+= 64
        }
        while offset &+ 8 <= end, bytes.word(at: offset) & UTF8Validator.topBits == 0 {
          offset &+= 8
        }
        continue
      }
      // A character whole in the range that has no rule of its own for its second byte.
      if missing == 0, let next = plainCharacterEnd(bytes, byte, offset, end) {
        offset = next
        continue
      }
      offset &+= 1
      guard missing == 0 ? begin(byte) : proceed(byte) else { return false }
    }
    return true
  }

  /// Where a character of two or three bytes ends; nil for all that `begin` and `proceed` have to
  /// look at: the others, the special cases and what is wrong.
  @inline(__always)
  private func plainCharacterEnd(
    _ bytes: RawSpan, _ first: UInt8, _ offset: Int, _ end: Int
  ) -> Int? {
    guard offset &+ 3 <= end else { return nil }
    let second = bytes.byte(at: offset &+ 1)
    guard second & 0xC0 == 0x80 else { return nil }
    if first & 0xE0 == 0xC0 && first >= 0xC2 { return offset &+ 2 }
    guard first & 0xF0 == 0xE0, first != 0xE0, first != 0xED,
      bytes.byte(at: offset &+ 2) & 0xC0 == 0x80
    else { return nil }
    return offset &+ 3
  }

  private static let topBits: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  private func isASCII(_ block: SIMD4<UInt64>) -> Bool {
    let halves = block.lowHalf | block.highHalf
    return (halves[0] | halves[1]) & UTF8Validator.topBits == 0
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
