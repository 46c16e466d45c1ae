/// What a visitor may ask for, and what answers.
public struct Intent: Sendable {
  public enum MatchKind: String, CaseIterable, Sendable {
    case exact, contains
    case startsWith = "starts_with"
    case regex
  }

  public enum Reply: Sendable, Equatable {
    case text(String)
    /// The name of a reply object.
    case object(String)
    /// A person takes over; no bot answers in this conversation any more.
    case handover
  }

  public var name: String
  public var replies: [Reply]
  private let matcher: Matcher

  private enum Matcher: Sendable {
    case exact(String)
    case contains(String)
    case startsWith(String)
    case pattern(Pattern)
  }

  /// Replies of one intent that are sent.
  public static let repliesMax = 5
  /// Bytes of a keyword, whatever its kind.
  public static let keywordBytesMax = PatternParser.bytesMax

  public init(
    name: String, keyword: String, kind: MatchKind, replies: [Reply]
  ) throws(PatternFault) {
    var budget = PatternBudget.workspace
    try self.init(name: name, keyword: keyword, kind: kind, replies: replies, within: &budget)
  }

  public init(
    name: String, keyword: String, kind: MatchKind, replies: [Reply],
    within budget: inout PatternBudget
  ) throws(PatternFault) {
    self.name = name
    self.replies = Array(replies.prefix(Intent.repliesMax))
    guard keyword.utf8.count <= Intent.keywordBytesMax else { throw .tooLong }
    let folded = Folding.fold(keyword)
    guard kind == .regex || !folded.isEmpty else {
      throw PatternFault(sentence: "A keyword has at least one character that shows.")
    }
    matcher =
      switch kind {
      case .exact: .exact(folded)
      case .contains: .contains(folded)
      case .startsWith: .startsWith(folded)
      case .regex: .pattern(try Pattern(keyword, within: &budget))
      }
  }

  /// Nil when the time limit was reached before that was known.
  func matches(_ text: String, _ scalars: [UInt32], looks: inout Int) -> Bool? {
    switch matcher {
    case .exact(let keyword): text == keyword
    case .contains(let keyword): text.contains(keyword)
    case .startsWith(let keyword): text.hasPrefix(keyword)
    case .pattern(let pattern): pattern.matches(folded: scalars, looks: &looks)
    }
  }
}

extension [Intent] {
  /// The first that fits, in their order; and the names of those for which the time was too short.
  public func first(
    matching text: String, looksMax: Int = Pattern.looksMax
  ) -> (intent: Intent?, undecided: [String]) {
    let folded = Folding.fold(text)
    let scalars = folded.unicodeScalars.map { $0.value }
    var looks = looksMax
    var undecided: [String] = []
    for intent in self {
      switch intent.matches(folded, scalars, looks: &looks) {
      case true?: return (intent, undecided)
      case false?: continue
      case nil: undecided.append(intent.name)
      }
    }
    return (nil, undecided)
  }
}
