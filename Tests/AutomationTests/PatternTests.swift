import Testing

@testable import Automation

@Suite struct PatternTests {
  private func finds(_ pattern: String, in text: String) throws -> Bool? {
    var looks = Pattern.looksMax
    let scalars = Folding.fold(text).unicodeScalars.map { $0.value }
    return try Pattern(pattern).matches(folded: scalars, looks: &looks)
  }

  @Test(
    "the syntax of patterns",
    arguments: [
      ("abc", "xxABCxx", true), ("^abc", "xabc", false), ("abc$", "abcx", false),
      ("a.c", "abc", true),
      ("^$", "", true), ("a*", "", true), ("^a+$", "aaa", true), ("^a+$", "", false),
      ("^a?b$", "b", true), ("colou?r", "COLOR", true), ("^(ab|cd)+$", "abcdab", true),
      ("^(ab|cd)+$", "abc", false), ("^(?:x|)y$", "y", true), ("^a{2,3}$", "aa", true),
      ("^a{2,3}$", "aaaa", false), ("^a{2}$", "aaa", false), ("^a{2,}$", "aaaaa", true),
      ("a{,2}", "a{,2}", true), ("[a-c]x", "bx", true), ("[^a-c]x", "bx", false),
      ("[]x]", "]", true),
      ("[a-]", "-", true), ("[\\d.]+€", "12.50€", true), (#"^\d{3}-\d{4}$"#, "555-1234", true),
      (#"\bcat\b"#, "a cat!", true), (#"\bcat\b"#, "concat", false), (#"\Bcat"#, "concat", true),
      (#"\bราคา"#, "ราคา", true), (#"^\w+$"#, "größe", true), (#"^\W$"#, "!", true),
      (#"^\S+\s\S+$"#, "a  b", true), (#"\("#, "(", true), (#"\x41"#, "a", true),
      (#"\u00c4rger"#, "ärger", true), ("ÄRGER", "ärger", true), ("STRASSE", "Straße", true),
      ("refund|money.*back", "I want my money all back", true), ("a+?b", "aab", true),
      ("😀+", "ok 😀😀", true), ("^.$", "ก", true), ("(a|b)*c|d", "xd", true),
    ])
  func meaning(pattern: String, text: String, isFound: Bool) throws {
    #expect(try finds(pattern, in: text) == isFound)
  }

  @Test(
    "unsupported and malformed syntax is refused with an explanation",
    arguments: [
      "(", ")", "a)", "[a", "[z-a]", "*a", "a**********", "a{3,2}", "a{201}", "(a{100}){100}",
      #"(a)\1"#, "(?=a)", "(?<n>a)", "(?i)a", #"\q"#, #"\x4"#, #"\ud800"#, "\\",
      String(repeating: "(", count: 40) + String(repeating: ")", count: 40),
      String(repeating: "a", count: 1_001),
    ])
  func refused(pattern: String) {
    #expect(throws: PatternFault.self) { try Pattern(pattern) }
  }

  @Test(
    "matching takes at most steps times characters, where backtracking takes exponential time",
    arguments: ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*a){12}$", "^([a-z]+)*$", "(x+x+)+y"])
  func catastrophic(pattern: String) throws {
    let compiled = try Pattern(pattern)
    let letter = pattern.contains("x") ? UInt32(0x78) : 0x61
    for count in [30, 300, 1_900] {
      var looks = 1 << 40
      let text = Array(repeating: letter, count: count) + [0x21]
      #expect(compiled.matches(folded: text, looks: &looks) == false)
      #expect((1 << 40) - looks <= 2 * compiled.stepCount * (text.count + 1))
    }
  }

  @Test("the largest pattern on the longest text ends at the limit, within milliseconds")
  func limit() throws {
    let parts = (0..<18).map { "(a?b?c?d?e?f?g?h?i?j?k?l?m?\($0 % 10))*" }.joined()
    let compiled = try Pattern(parts + "z")
    #expect(compiled.stepCount > 500)
    let text = (0..<2_000).map { UInt32(0x61 + $0 % 13) }
    var looks = Pattern.looksMax
    let clock = ContinuousClock()
    var isMatch: Bool?
    let time = clock.measure {
      for _ in 0..<3 where looks > 0 { isMatch = compiled.matches(folded: text, looks: &looks) }
    }
    #expect(isMatch != true)
    // A debug build is about 30 times as slow, on a busy machine.
    #expect(time < .seconds(20))
    let intents = try [
      Intent(name: "slow", keyword: parts + "z", kind: .regex, replies: []),
      Intent(name: "quick", keyword: "abc", kind: .contains, replies: []),
    ]
    let text2 = String((0..<2_000).map { Character(Unicode.Scalar(UInt8(0x61 + $0 % 13))) })
    let (intent, undecided) = intents.first(matching: text2, looksMax: 50_000)
    #expect(undecided == ["slow"])
    #expect(intent?.name == "quick", "the other intents still match")
  }
}

@Suite struct IntentTests {
  private func first(_ intents: [Intent], _ text: String) -> String? {
    intents.first(matching: text).intent?.name
  }

  @Test(
    "keywords ignore case, width, canonical form and white space",
    arguments: [
      ("Price", "  PRICE ", true), ("straße", "STRASSE", true), ("İstanbul", "istanbul", true),
      ("istanbul", "İSTANBUL", true), ("ΟΔΟΣ", "οδος", true),
      ("opening hours", "Opening\n hours", true),
      ("café", "cafe\u{301}", true), ("ｐｒｉｃｅ", "price", true), ("ราคา", "ราคา", true),
      ("price", "pri\u{200D}ce", true), ("price", "prices", false),
    ])
  func folding(keyword: String, text: String, isEqual: Bool) throws {
    let intent = try Intent(name: "x", keyword: keyword, kind: .exact, replies: [])
    #expect((first([intent], text) == "x") == isEqual)
  }

  @Test("the first intent that matches replies, by its kind")
  func order() throws {
    let intents = try [
      Intent(name: "exact", keyword: "hours", kind: .exact, replies: []),
      Intent(name: "starts", keyword: "where", kind: .startsWith, replies: []),
      Intent(name: "contains", keyword: "hours", kind: .contains, replies: []),
      Intent(name: "regex", keyword: #"\d{5,}"#, kind: .regex, replies: []),
    ]
    #expect(first(intents, "Hours") == "exact")
    #expect(first(intents, "your hours?") == "contains")
    #expect(first(intents, "Where are your hours") == "starts")
    #expect(first(intents, "somewhere") == nil)
    #expect(first(intents, "order 1234567") == "regex")
    #expect(first(intents, "") == nil)
  }

  @Test("a keyword without visible characters is refused")
  func empty() {
    for keyword in ["", "  ", "\u{200B}"] {
      #expect(throws: PatternFault.self) {
        try Intent(name: "x", keyword: keyword, kind: .contains, replies: [])
      }
    }
  }

  @Test("an intent has at most five replies")
  func bounded() throws {
    let replies = (0..<9).map { Intent.Reply.text("\($0)") }
    let intent = try Intent(name: "x", keyword: "x", kind: .exact, replies: replies)
    #expect(intent.replies.count == 5)
  }
}
