/// A rule of the bot: a keyword or pattern, and the replies to messages that match it.
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
    /// Handover to people, of a team if it names one; the bot does not answer in this conversation
    /// any more.
    case handover(team: String?)
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

  /// The most replies of one intent; further ones are ignored.
  public static let repliesMax = 5
  /// The most bytes of a keyword of any kind.
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
      throw PatternFault(sentence: "A keyword needs at least one visible character.")
    }
    matcher =
      switch kind {
      case .exact: .exact(folded)
      case .contains: .contains(folded)
      case .startsWith: .startsWith(folded)
      case .regex: .pattern(try Pattern(keyword, within: &budget))
      }
  }

  /// Whether the intent matches; nil if the looks were used up before the result was known.
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
  /// The first intent that matches, and the names of those for which the looks did not suffice.
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
