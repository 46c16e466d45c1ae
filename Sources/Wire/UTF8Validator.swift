import Primitives

/// Checks UTF-8 as it arrives, in pieces of any size (RFC 3629; RFC 6455 §8.1): overlong forms,
/// surrogates and values above U+10FFFF are refused too.
///
/// ASCII is skipped in words; all other bytes go through `UTF8Automaton`.
public struct UTF8Validator: Equatable, Sendable {
  private var state = UTF8Automaton.stored(UTF8Automaton.complete)

  public init() {}

  /// Whether the text may end here.
  @inline(__always)
  public var isComplete: Bool { UTF8Automaton.isComplete(UInt64(state)) }

  /// Returns false once the text is invalid; the validator must not be used after that.
  @_noAllocation
  public mutating func accept(_ bytes: RawSpan, in range: Range<Int>) -> Bool {
    var offset = range.lowerBound
    let end = range.upperBound
    var state = UInt64(self.state)
    while offset < end {
      if UTF8Automaton.isComplete(state) { skipASCII(bytes, &offset, end) }
      if offset &+ 8 <= end {
        state = UTF8Automaton.next(state, word: bytes.word(at: offset))
        offset &+= 8
      } else {
        while offset < end {
          state = UTF8Automaton.next(state, bytes.byte(at: offset))
          offset &+= 1
        }
      }
      guard UTF8Automaton.isPossible(state) else { return false }
    }
    self.state = UTF8Automaton.stored(state)
    return true
  }

  /// Checks a whole text at once.
  public static func isValid(_ bytes: RawSpan) -> Bool {
    var validator = UTF8Validator()
    return validator.accept(bytes, in: 0..<bytes.byteCount) && validator.isComplete
  }

  // MARK: ASCII

  @inline(__always)
  private func skipASCII(_ bytes: RawSpan, _ offset: inout Int, _ end: Int) {
    while offset &+ 64 <= end, isASCII(bytes.block(at: offset) | bytes.block(at: offset &+ 32)) {
      offset &+= 64
    }
    while offset &+ 8 <= end, bytes.word(at: offset) & UTF8Validator.topBits == 0 { offset &+= 8 }
  }

  private static let topBits: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  private func isASCII(_ block: SIMD4<UInt64>) -> Bool {
    let halves = block.lowHalf | block.highHalf
    return (halves[0] | halves[1]) & UTF8Validator.topBits == 0
  }
}

/// Well-formed UTF-8 as an automaton whose states are shifts: a byte's row holds the next state
/// of each state, six bits wide, at that state's bit position. A byte therefore costs two loads and
/// a shift in any script. Only the low six bits of a state count.
private enum UTF8Automaton {
  @inline(__always)
  static func next(_ state: UInt64, _ byte: UInt8) -> UInt64 { rows[Int(byte)] &>> state }

  /// Eight bytes, the first in the lowest bits.
  @inline(__always)
  static func next(_ state: UInt64, word: UInt64) -> UInt64 {
    var state = state
    for position in 0..<8 {
      state = next(state, UInt8(truncatingIfNeeded: word &>> UInt64(8 &* position)))
    }
    return state
  }

  @inline(__always)
  static func isComplete(_ state: UInt64) -> Bool { state & stateBits == complete }

  @inline(__always)
  static func isPossible(_ state: UInt64) -> Bool { state & stateBits != wrong }

  @inline(__always)
  static func stored(_ state: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: state & stateBits) }

  // The states: each says which bytes may follow. `wrong` is 0: every row maps it to itself.
  private static let wrong: UInt64 = 0
  static let complete: UInt64 = 6
  private static let oneMore: UInt64 = 12
  private static let twoMore: UInt64 = 18
  private static let threeMore: UInt64 = 24
  private static let afterE0: UInt64 = 30  // shorter forms exist below U+0800
  private static let afterED: UInt64 = 36  // U+D800 to U+DFFF are surrogates
  private static let afterF0: UInt64 = 42  // shorter forms exist below U+10000
  private static let afterF4: UInt64 = 48  // U+10FFFF is the last
  private static let stateBits: UInt64 = 63

  // A byte's transitions, `next << state` (Unicode 16, table 3-7). C0, C1 and F5…FF never occur.
  private static let no: UInt64 = 0
  private static let one: UInt64 = complete << complete
  private static let middle = complete << oneMore | oneMore << twoMore | twoMore << threeMore
  private static let mid8: UInt64 = middle | oneMore << afterED | twoMore << afterF4
  private static let mid9: UInt64 = middle | oneMore << afterED | twoMore << afterF0
  private static let midA: UInt64 = middle | oneMore << afterE0 | twoMore << afterF0
  private static let two: UInt64 = oneMore << complete
  private static let e0: UInt64 = afterE0 << complete
  private static let tri: UInt64 = twoMore << complete
  private static let ed: UInt64 = afterED << complete
  private static let f0: UInt64 = afterF0 << complete
  private static let four: UInt64 = threeMore << complete
  private static let f4: UInt64 = afterF4 << complete

  // swift-format-ignore: a line for each first digit
  private static let rows: InlineArray<256, UInt64> = [
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one,
    mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8, mid8,
    mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9, mid9,
    midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA,
    midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA, midA,
    no, no, two, two, two, two, two, two, two, two, two, two, two, two, two, two,
    two, two, two, two, two, two, two, two, two, two, two, two, two, two, two, two,
    e0, tri, tri, tri, tri, tri, tri, tri, tri, tri, tri, tri, tri, ed, tri, tri,
    f0, four, four, four, f4, no, no, no, no, no, no, no, no, no, no, no,
  ]
}
