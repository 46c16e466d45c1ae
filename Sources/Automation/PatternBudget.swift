/// The resources that compiling patterns may use, spent before the work is done.
///
/// A short pattern can unfold to any number of steps, and counted empty groups cost work without
/// adding a step. So visits of nodes are counted as well as steps.
public struct PatternBudget: Equatable, Sendable {
  enum Resource { case visits, steps, bytes }

  /// Visits of nodes of the parsed pattern, one per repetition.
  public private(set) var visits: Int
  /// Steps of a program. Matching examines each step at most twice per character.
  public private(set) var steps: Int
  /// Bytes of memory of the programs.
  public private(set) var bytes: Int

  /// For one pattern.
  public static let onePattern = PatternBudget(visits: 10_000, steps: 1_000, bytes: 131_072)
  /// For all patterns of one workspace.
  public static let workspace = PatternBudget(
    visits: 100_000, steps: 25_000, bytes: 1_048_576)
  /// Memory per byte of the source: a range takes 8 bytes, and arrays grow by doubling.
  static let bytesOfSourceByte = 16

  mutating func spend(_ resource: Resource, _ count: Int) -> Bool {
    switch resource {
    case .visits: PatternBudget.take(count, from: &visits)
    case .steps: PatternBudget.take(count, from: &steps)
    case .bytes: PatternBudget.take(count, from: &bytes)
    }
  }

  private static func take(_ count: Int, from left: inout Int) -> Bool {
    guard left >= count else { return false }
    left -= count
    return true
  }

  func cut(to other: PatternBudget) -> PatternBudget {
    PatternBudget(
      visits: min(visits, other.visits), steps: min(steps, other.steps),
      bytes: min(bytes, other.bytes))
  }

  func minus(_ other: PatternBudget) -> PatternBudget {
    PatternBudget(
      visits: visits - other.visits, steps: steps - other.steps, bytes: bytes - other.bytes)
  }

  mutating func take(_ other: PatternBudget) { self = minus(other) }

  /// Whether any resource is smaller.
  func isLess(than other: PatternBudget) -> Bool { cut(to: other) != other }
}

/// The error of an invalid pattern.
public struct PatternFault: Error, Equatable, Sendable {
  public enum Reason: Equatable, Sendable {
    case syntax
    /// Over `PatternBudget.onePattern`, `PatternParser.bytesMax` or `.depthMax`.
    case tooLarge
    /// Over `PatternBudget.workspace`, with the patterns before it.
    case workspaceFull
  }

  public var reason = Reason.syntax
  /// The explanation for the author of the pattern.
  public var sentence: String

  static let tooLarge = PatternFault(
    reason: .tooLarge,
    sentence: """
      The pattern is too large: counted groups unfold to over \(PatternBudget.onePattern.steps) \
      steps, or repeat too often. Use smaller counts.
      """)
  static let tooLong = PatternFault(
    reason: .tooLarge, sentence: "A pattern may have at most \(PatternParser.bytesMax) bytes.")
  static let workspaceFull = PatternFault(
    reason: .workspaceFull,
    sentence: """
      The patterns of this workspace unfold to over \(PatternBudget.workspace.steps) steps \
      together. Simplify or disable others.
      """)
}
