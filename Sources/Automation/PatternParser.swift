import Primitives

/// The syntax tree of a regular expression of an intent. The syntax is the part that can be matched
/// in linear time (as in RE2): everything but backreferences and lookaround, which are refused with
/// an explanation.
///
/// The parser bounds the length of the pattern and the depth of groups; `PatternBudget` bounds all
/// else.
indirect enum PatternNode: Equatable {
  case empty
  case scalar(UInt32)
  case set(ScalarSet)
  case sequence([PatternNode])
  case choice([PatternNode])
  /// `max` nil: any number.
  case times(PatternNode, min: Int, max: Int?)
  case begin, end, wordEdge(isEdge: Bool)
}

struct PatternParser {
  static let bytesMax = 1_000
  static let depthMax = 32
  static let countMax = 200

  private let text: [UInt32]
  private var offset = 0
  private var depth = 0

  static func parse(_ pattern: String) throws(PatternFault) -> PatternNode {
    // Checked again, because folding can lengthen the pattern.
    guard pattern.utf8.count <= bytesMax else { throw .tooLong }
    var parser = PatternParser(text: pattern.unicodeScalars.map { $0.value })
    let node = try parser.choice()
    guard parser.offset == parser.text.count else {
      throw PatternFault(sentence: "A “)” has no “(”.")
    }
    return node
  }

  private init(text: [UInt32]) { self.text = text }

  private var next: UInt32? { offset < text.count ? text[offset] : nil }

  private mutating func accept(_ character: Unicode.Scalar) -> Bool {
    guard next == character.value else { return false }
    offset += 1
    return true
  }

  private mutating func choice() throws(PatternFault) -> PatternNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= PatternParser.depthMax else {
      throw PatternFault(
        sentence: "Groups are nested deeper than \(PatternParser.depthMax) levels.")
    }
    var branches = [try sequence()]
    while accept("|") { branches.append(try sequence()) }
    return branches.count == 1 ? branches[0] : .choice(branches)
  }

  private mutating func sequence() throws(PatternFault) -> PatternNode {
    var parts: [PatternNode] = []
    while let character = next, character != 0x7C, character != 0x29 {
      parts.append(try repeated(try atom()))
    }
    return parts.count == 1 ? parts[0] : parts.isEmpty ? .empty : .sequence(parts)
  }

  private mutating func repeated(_ node: PatternNode) throws(PatternFault) -> PatternNode {
    var node = node
    var quantifiers = 0
    while true {
      let range: (Int, Int?)
      if accept("*") {
        range = (0, nil)
      } else if accept("+") {
        range = (1, nil)
      } else if accept("?") {
        range = (0, 1)
      } else if next == 0x7B, let counts = try braces() {
        range = counts
      } else {
        return node
      }
      // Lazy quantifiers are read as greedy: only the existence of a match matters.
      _ = accept("?")
      quantifiers += 1
      guard quantifiers <= 3 else { throw PatternFault(sentence: "Too many quantifiers in a row.") }
      node = .times(node, min: range.0, max: range.1)
    }
  }

  /// Parses `{n}`, `{n,}` or `{n,m}`; nil if the brace is an ordinary character.
  private mutating func braces() throws(PatternFault) -> (Int, Int?)? {
    var end = offset + 1
    while end < text.count, text[end].isASCIIDigit || text[end] == 0x2C { end += 1 }
    guard end < text.count, text[end] == 0x7D, end > offset + 1, text[offset + 1] != 0x2C else {
      return nil
    }
    let inside = String(
      String.UnicodeScalarView(text[offset + 1..<end].compactMap { Unicode.Scalar($0) }))
    let parts = inside.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= 2, let min = Int(parts[0]) else { return nil }
    let max = parts.count == 1 ? min : parts[1].isEmpty ? nil : Int(parts[1])
    guard min <= PatternParser.countMax, max ?? min <= PatternParser.countMax, max ?? min >= min
    else {
      throw PatternFault(
        sentence:
          "The counts of “{\(inside)}” must ascend and not exceed \(PatternParser.countMax).")
    }
    offset = end + 1
    return (min, max)
  }

  private mutating func atom() throws(PatternFault) -> PatternNode {
    guard let character = next else { return .empty }
    offset += 1
    switch Unicode.Scalar(character) {
    case "(":
      if accept("?") {
        guard accept(":") else {
          throw PatternFault(
            sentence: "Lookaround, named groups and flags (“(?…”) are not supported; only “(?:” is."
          )
        }
      }
      let inner = try choice()
      guard accept(")") else { throw PatternFault(sentence: "A “(” has no “)”.") }
      return inner
    case "[": return .set(try set())
    case ".": return .set(.anyButNewline)
    case "^": return .begin
    case "$": return .end
    case "*", "+", "?":
      throw PatternFault(sentence: "A quantifier (“*”, “+”, “?”) has nothing before it.")
    case "\\": return try escape()
    default: return .scalar(character)
    }
  }

  private mutating func escape() throws(PatternFault) -> PatternNode {
    guard let character = next else {
      throw PatternFault(sentence: "The pattern ends with a “\\”.")
    }
    offset += 1
    switch Unicode.Scalar(character) {
    case "b": return .wordEdge(isEdge: true)
    case "B": return .wordEdge(isEdge: false)
    case "A": return .begin
    case "z", "Z": return .end
    default: break
    }
    if let set = ScalarSet.named(character) { return .set(set) }
    return .scalar(try literal(character))
  }

  /// The character that an escape denotes, outside and inside of a set.
  private mutating func literal(_ character: UInt32) throws(PatternFault) -> UInt32 {
    switch Unicode.Scalar(character) {
    case "n": return 0x0A
    case "r": return 0x0D
    case "t": return 0x09
    case "x", "u":
      let count = character == 0x78 ? 2 : 4
      let digits = text[offset...].prefix(count)
      let value = digits.reduce(UInt32?(0)) { value, digit in
        guard let value, digit < 0x80 else { return nil }
        return Unicode.Scalar(digit).flatMap { Character($0).hexDigitValue }
          .map { value << 4 | UInt32($0) }
      }
      guard digits.count == count, let value, let scalar = Unicode.Scalar(value) else {
        throw PatternFault(sentence: "“\\x” requires two hexadecimal digits, “\\u” four.")
      }
      offset += count
      // Folded like the text.
      return Folding.fold(String(scalar)).unicodeScalars.first?.value ?? value
    case let digit? where digit.value.isASCIIDigit:
      throw PatternFault(sentence: "References to groups (“\\1”) are not supported.")
    case let letter? where letter.value.isASCIILetter:
      throw PatternFault(sentence: "The escape “\\\(letter)” is not supported.")
    default: return character
    }
  }

  /// Parses a set after its `[`.
  private mutating func set() throws(PatternFault) -> ScalarSet {
    var set = ScalarSet()
    set.isNegated = accept("^")
    var isFirst = true
    while let character = next, character != 0x5D || isFirst {
      isFirst = false
      offset += 1
      var low = character
      if character == 0x5C {
        guard let escaped = next else { break }
        offset += 1
        if let named = ScalarSet.named(escaped) {
          set.add(named)
          continue
        }
        low = try literal(escaped)
      }
      var high = low
      if next == 0x2D, offset + 1 < text.count, text[offset + 1] != 0x5D {
        offset += 1
        high = text[offset]
        offset += 1
        if high == 0x5C, let escaped = next {
          offset += 1
          high = try literal(escaped)
        }
      }
      guard low <= high else {
        throw PatternFault(sentence: "The end of a range in “[…]” precedes its start.")
      }
      set.add(low...high)
    }
    guard accept("]") else { throw PatternFault(sentence: "A “[” has no “]”.") }
    return set
  }
}
