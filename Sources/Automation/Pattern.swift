/// A regular expression that matches in a time bounded by the length of its program times the
/// length of the text, whatever both are: all ways to match are followed at once (Thompson's
/// construction), none is tried after another. `(a+)+$` costs no more than `a+$`.
///
/// A match ignores case, as `Folding` does, and is found anywhere in the text.
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

  /// Steps of a program; each character of a text looks at each step twice at most.
  public static let stepsMax = 1_000
  /// Characters of a text that are looked at; where there are more, the end is out of sight.
  public static let textMax = 2_000

  private var steps: [Step] = []

  public init(_ pattern: String) throws(PatternFault) {
    let node = try PatternParser.parse(Folding.fold(pattern, keepingEscapes: true))
    try compile(node)
    try emit(.match)
  }

  public var stepCount: Int { steps.count }

  private mutating func emit(_ step: Step) throws(PatternFault) {
    guard steps.count < Pattern.stepsMax else {
      throw PatternFault(
        sentence:
          "The pattern is too large: counted groups unfold to over \(Pattern.stepsMax) steps."
      )
    }
    steps.append(step)
  }

  private mutating func compile(_ node: PatternNode) throws(PatternFault) {
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

  /// The steps that wait for the next character, each once.
  private struct Threads {
    var list: [Int] = []
    /// The last position at which a step was added.
    var seen: [Int]
    var stack: [Int] = []

    init(count: Int) { seen = Array(repeating: -1, count: count) }
  }

  /// Looks that all patterns together may take for one message: the time limit, counted in what
  /// does not depend on how busy the machine is. It lasts some 20 ms.
  public static let looksMax = 2_000_000

  /// Whether the pattern occurs in the text, which was folded; nil when the looks were used up
  /// before that was known.
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
          looks += 1
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

  private func accepts(_ step: Step, _ scalar: UInt32) -> Bool {
    switch step {
    case .scalar(let wanted): wanted == scalar
    case .set(let set): set.contains(scalar)
    default: false
    }
  }

  /// Adds what can be reached without a character; true when that is the end of the program.
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
