/// A compiled regular expression. Matching takes at most the length of the program times the length
/// of the text: it follows all alternatives at once (Thompson's construction) instead of
/// backtracking. `(a+)+$` costs no more than `a+$`.
///
/// Matching ignores case (see `Folding`) and finds a match anywhere in the text.
public struct Pattern: Sendable {
  private enum Step: Sendable {
    case scalar(UInt32)
    case set(ScalarSet)
    case split(Int, Int)
    case jump(Int)
    case begin, end
    case wordEdge(Bool)
    case match
  }

  /// The number of characters of a text that are searched; the rest is ignored.
  public static let textMax = 2_000

  private var steps: [Step] = []
  /// The remaining budget of this pattern during compilation.
  private var left = PatternBudget.onePattern

  /// Compiles a single pattern, for example to validate it.
  public init(_ pattern: String) throws(PatternFault) {
    var budget = PatternBudget.workspace
    try self.init(pattern, within: &budget)
  }

  /// Compiles one of several patterns that share a budget. A failure spends budget too.
  public init(_ pattern: String, within budget: inout PatternBudget) throws(PatternFault) {
    left = budget.cut(to: .onePattern)
    let granted = left
    defer { budget.take(granted.minus(left)) }
    let byteCount = pattern.utf8.count
    // Checked before folding, whose cost depends on the length.
    guard byteCount <= PatternParser.bytesMax else { throw .tooLong }
    do throws(PatternFault) {
      try spend(.bytes, byteCount * PatternBudget.bytesOfSourceByte)
      try compile(try PatternParser.parse(Folding.fold(pattern, keepingEscapes: true)))
      try emit(.match)
    } catch  where error.reason == .tooLarge && granted.isLess(than: .onePattern) {
      throw .workspaceFull
    }
  }

  public var stepCount: Int { steps.count }

  private mutating func spend(_ resource: PatternBudget.Resource, _ count: Int) throws(PatternFault)
  {
    guard left.spend(resource, count) else { throw .tooLarge }
  }

  private mutating func emit(_ step: Step) throws(PatternFault) {
    try spend(.steps, 1)
    try spend(.bytes, MemoryLayout<Step>.stride)
    steps.append(step)
  }

  /// Each call spends a visit, because it may add no step: `((){200}){200}` adds none.
  private mutating func compile(_ node: PatternNode) throws(PatternFault) {
    try spend(.visits, 1)
    switch node {
    case .empty: return
    case .scalar(let scalar): try emit(.scalar(scalar))
    case .set(let set): try emit(.set(set))
    case .begin: try emit(.begin)
    case .end: try emit(.end)
    case .wordEdge(let isEdge): try emit(.wordEdge(isEdge))
    case .sequence(let parts): for part in parts { try compile(part) }
    case .choice(let branches): try compile(choice: branches)
    case .times(let inner, let min, let max):
      for _ in 0..<min { try compile(inner) }
      if let max {
        for _ in min..<max { try compile(optional: inner) }
      } else {
        let split = steps.count
        try emit(.split(split + 1, 0))
        try compile(inner)
        try emit(.jump(split))
        steps[split] = .split(split + 1, steps.count)
      }
    }
  }

  private mutating func compile(optional inner: PatternNode) throws(PatternFault) {
    let split = steps.count
    try emit(.split(split + 1, 0))
    try compile(inner)
    steps[split] = .split(split + 1, steps.count)
  }

  private mutating func compile(choice branches: [PatternNode]) throws(PatternFault) {
    var jumps: [Int] = []
    for (index, branch) in branches.enumerated() {
      let isLast = index == branches.count - 1
      let split = steps.count
      if !isLast { try emit(.split(split + 1, 0)) }
      try compile(branch)
      if !isLast {
        jumps.append(steps.count)
        try emit(.jump(0))
        steps[split] = .split(split + 1, steps.count)
      }
    }
    for jump in jumps { steps[jump] = .jump(steps.count) }
  }

  // MARK: Matching

  /// The steps that wait for the next character, without duplicates.
  private struct Threads {
    var list: [Int] = []
    /// The last position at which a step was added.
    var seen: [Int]
    var stack: [Int] = []

    init(count: Int) { seen = Array(repeating: -1, count: count) }
  }

  /// The time limit of all patterns together for one message, as a number of examined steps
  /// (“looks”), which does not depend on the load of the machine. It lasts about 20 ms.
  public static let looksMax = 2_000_000

  /// The most looks for one character, by which the limit may be exceeded: one per step, and one
  /// per part of a set, of which each takes a byte of the source.
  public static let looksOfCharacterMax =
    PatternBudget.onePattern.steps * (PatternParser.bytesMax + 1)

  /// Whether the pattern occurs in the folded text; nil if the looks were used up before the result
  /// was known.
  public func matches(folded given: [UInt32], looks left: inout Int) -> Bool? {
    let text = given.prefix(Pattern.textMax)
    let isWhole = text.count == given.count
    var threads = Threads(count: steps.count)
    var looks = 0
    defer { left -= looks }
    for position in 0...text.count {
      guard looks <= left else { return nil }
      let waiting = threads.list
      threads.list.removeAll(keepingCapacity: true)
      if position > 0 {
        let scalar = text[position - 1]
        for step in waiting {
          looks += cost(steps[step])
          if accepts(steps[step], scalar),
            follow(step + 1, position, text, isWhole, &threads, &looks)
          {
            return true
          }
        }
      }
      // A match may begin at any character.
      if follow(0, position, text, isWhole, &threads, &looks) { return true }
    }
    return false
  }

  /// The looks of a step: a set is searched part by part.
  private func cost(_ step: Step) -> Int {
    if case .set(let set) = step { return set.partCount }
    return 1
  }

  private func accepts(_ step: Step, _ scalar: UInt32) -> Bool {
    switch step {
    case .scalar(let wanted): wanted == scalar
    case .set(let set): set.contains(scalar)
    default: false
    }
  }

  /// Adds the steps that are reachable without a character; true if that includes the match.
  private func follow(
    _ start: Int, _ position: Int, _ text: ArraySlice<UInt32>, _ isWhole: Bool,
    _ threads: inout Threads, _ looks: inout Int
  ) -> Bool {
    threads.stack.append(start)
    while let step = threads.stack.popLast() {
      guard threads.seen[step] != position else { continue }
      threads.seen[step] = position
      looks += 1
      switch steps[step] {
      case .match:
        threads.stack.removeAll(keepingCapacity: true)
        return true
      case .jump(let next): threads.stack.append(next)
      case .split(let first, let second): threads.stack += [second, first]
      case .begin: if position == 0 { threads.stack.append(step + 1) }
      case .end: if isWhole && position == text.count { threads.stack.append(step + 1) }
      case .wordEdge(let isEdge):
        let before = position > 0 && ScalarSet.isWord(text[position - 1])
        let after = position < text.count && ScalarSet.isWord(text[position])
        if (before != after) == isEdge { threads.stack.append(step + 1) }
      case .scalar, .set: threads.list.append(step)
      }
    }
    return false
  }
}
