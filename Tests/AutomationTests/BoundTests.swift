import Testing

@testable import Automation

/// Patterns that would take seconds or exhaust memory if the compiler did not count every step.
@Suite struct BoundTests {
  static func nested(_ inner: String, _ counts: [String]) -> String {
    counts.reduce(inner) { "(\($0))\($1)" }
  }

  static let evil: [String] = [
    // The pattern of the finding, and with one level less and more.
    "(((((){200}){200}){200}){200}){200}",
    "((((){200}){200}){200}){200}", "((((((){200}){200}){200}){200}){200}){200}",
    nested("", Array(repeating: "{200}", count: 8)),
    nested("", Array(repeating: "{0,200}", count: 5)),
    nested("", Array(repeating: "{200,}", count: 5)),
    nested("|", Array(repeating: "{200}", count: 4)),
    nested("|||", Array(repeating: "{100}", count: 3)),
    nested("(?:)", Array(repeating: "{200}", count: 4)),
    nested("()()()", Array(repeating: "{200}", count: 3)),
    nested("(){0}", Array(repeating: "{200}", count: 3)),
    "(){200}{200}{200}", "((){200}{200}{200}){200}",
    nested("^", Array(repeating: "{200}", count: 4)),
    nested(#"\b"#, Array(repeating: "{200}", count: 4)),
    nested("a", Array(repeating: "{200}", count: 4)),
    nested("a?", Array(repeating: "{200}", count: 4)),
    nested("[a-z]", Array(repeating: "{200}", count: 3)),
    nested("a*", Array(repeating: "{0,200}", count: 3)),
    nested("", Array(repeating: "{2}", count: 31)),
    nested("", Array(repeating: "{0,1}{2}", count: 31)),
    String(repeating: "(){200}", count: 140),
    String(repeating: "(", count: 33) + String(repeating: ")", count: 33),
    String(repeating: "|", count: 1_001),
    // Folding triples the length, which is below the limit before.
    String(repeating: "\u{390}", count: 499),
    String(repeating: "a", count: 1 << 20),
  ]

  @Test("an excessive pattern is refused before its work is done", arguments: evil.indices)
  func refused(index: Int) {
    var budget = PatternBudget.workspace
    let fault = #expect(throws: PatternFault.self) {
      try Pattern(BoundTests.evil[index], within: &budget)
    }
    #expect(fault?.reason == .tooLarge || fault?.sentence.contains("nested") == true)
    let spent = PatternBudget.workspace.minus(budget)
    #expect(spent.cut(to: .onePattern) == spent, "\(spent)")
  }

  @Test("patterns within the budget compile, up to the last step")
  func inside() throws {
    let largest = "(a{111}){9}"
    #expect(try Pattern(largest).stepCount == 1_000)
    #expect(throws: PatternFault.tooLarge) { try Pattern(largest + "a") }
    // 200 empty groups, 50 times, exceed the visits; 40 times do not.
    #expect(try Pattern("((){200}){40}").stepCount == 1)
    #expect(throws: PatternFault.tooLarge) { try Pattern("((){200}){50}") }
  }

  @Test("the patterns of a workspace share a budget, and those that exceed it are refused")
  func together() throws {
    var budget = PatternBudget.workspace
    var compiled = 0
    var fault: PatternFault?
    for _ in 0..<500 where fault == nil {
      do throws(PatternFault) {
        _ = try Pattern("(a{111}){9}", within: &budget)
        compiled += 1
      } catch {
        fault = error
      }
    }
    #expect(fault?.reason == .workspaceFull)
    #expect(compiled == PatternBudget.workspace.steps / 1_000)
  }

  @Test("500 excessive patterns together spend at most the visits of the workspace")
  func evilTogether() {
    var budget = PatternBudget.workspace
    for _ in 0..<500 {
      #expect(throws: PatternFault.self) {
        try Pattern(BoundTests.evil[0], within: &budget)
      }
    }
    #expect(budget.visits == 0)
  }

  @Test("each range of a set counts")
  func sets() throws {
    let wide = "[" + String(repeating: #"\d"#, count: 300) + "]"
    let narrow = "[x]"
    func looks(_ pattern: String) throws -> Int {
      var looks = 1 << 30
      let text = Array(repeating: UInt32(0x61), count: 1_000)
      _ = try Pattern(pattern + "{9}").matches(folded: text, looks: &looks)
      return (1 << 30) - looks
    }
    #expect(try looks(wide) > 50 * looks(narrow))
  }

  @Test("the length of a keyword is checked before it is folded")
  func keywords() {
    for kind in Intent.MatchKind.allCases {
      let fault = #expect(throws: PatternFault.self) {
        try Intent(
          name: "x", keyword: String(repeating: "a", count: 1 << 20), kind: kind, replies: [])
      }
      #expect(fault?.reason == .tooLarge)
    }
  }
}
