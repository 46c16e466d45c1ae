import Testing

@testable import Directory

@Suite struct PasswordPolicyTests {
  static let own = ["ada.lovelace@engines.example", "Ada Lovelace", "Tidewater Cycles"]

  @Test(
    "a password that is easy to guess is refused",
    arguments: [
      ("123456789", .short), ("sunshine", .short), ("", .short), ("äöüäöüäöü", .short),
      (String(repeating: "long ", count: 300), .long),
      ("1234567890", .common), ("QwertyUiop", .common), ("password123", .common),
      ("iloveyou123", .common), ("          ", .repetitive), ("aaaaaaaabbbbc", .repetitive),
      ("adalovelace", .own), ("Lovelace-1815!", .own), ("tidewatercycles", .own),
      ("ada.lovelace@engines.example", .own), ("TidewaterAda24", .own),
    ] as [(String, PasswordPolicy.Fault)])
  func refused(password: String, fault: PasswordPolicy.Fault) {
    #expect(PasswordPolicy.fault(password, own: Self.own) == fault)
  }

  @Test(
    "any other password is taken, whatever its characters",
    arguments: [
      "correct horse battery staple", "ada keeps seven bees", "zwölf Boxkämpfer jagen",
      "สวัสดีค่ะสายเบรก", "k7mq-x94r-zr5v",
    ])
  func taken(password: String) {
    #expect(PasswordPolicy.fault(password, own: Self.own) == nil)
  }

  @Test("of random passwords at most 1 of 300 is taken for a common one")
  func falsePositives() {
    var generator = SplitMix(state: 17)
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
    let count = (0..<30_000).count { _ in
      PasswordPolicy.isCommon(
        String((0..<14).map { _ in letters[Int.random(in: 0..<32, using: &generator)] }))
    }
    #expect(count < 100, "\(count) of 30,000")
  }

  /// Repeats with its seed.
  struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
      return z ^ z >> 31
    }
  }
}
