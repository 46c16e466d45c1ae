import Primitives

/// A character set of a pattern: ranges and classes, or their complement.
struct ScalarSet: Equatable, Sendable {
  enum Class: Equatable, Sendable {
    case digit, word, space
    indirect case not(Class)

    func contains(_ scalar: UInt32) -> Bool {
      switch self {
      case .digit: return scalar.isASCIIDigit
      case .word: return ScalarSet.isWord(scalar)
      case .space: return Unicode.Scalar(scalar)?.properties.isWhitespace ?? false
      case .not(let other): return !other.contains(scalar)
      }
    }
  }

  var isNegated = false
  private var ranges: [ClosedRange<UInt32>] = []
  private var classes: [Class] = []

  static let anyButNewline: ScalarSet = {
    var set = ScalarSet()
    set.isNegated = true
    set.add(0x0A...0x0A)
    return set
  }()

  /// The set of `\d`, `\w`, `\s`, `\D`, `\W` or `\S`; nil for other letters.
  static func named(_ letter: UInt32) -> ScalarSet? {
    var set = ScalarSet()
    switch Unicode.Scalar(letter) {
    case "d": set.classes = [.digit]
    case "D": set.classes = [.not(.digit)]
    case "w": set.classes = [.word]
    case "W": set.classes = [.not(.word)]
    case "s": set.classes = [.space]
    case "S": set.classes = [.not(.space)]
    default: return nil
    }
    return set
  }

  /// Letters, digits and marks of any script, and `_`.
  static func isWord(_ scalar: UInt32) -> Bool {
    if scalar < 0x80 {
      return scalar.isASCIIDigit || scalar.isASCIILetter || scalar == 0x5F
    }
    guard let properties = Unicode.Scalar(scalar)?.properties else { return false }
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .decimalNumber:
      return true
    default: return false
    }
  }

  mutating func add(_ range: ClosedRange<UInt32>) { ranges.append(range) }

  mutating func add(_ other: ScalarSet) {
    ranges += other.ranges
    classes += other.classes
  }

  /// The number of comparisons of `contains`.
  var partCount: Int { max(1, ranges.count + classes.count) }

  func contains(_ scalar: UInt32) -> Bool {
    let isInside =
      ranges.contains { $0.contains(scalar) } || classes.contains { $0.contains(scalar) }
    return isInside != isNegated
  }
}
