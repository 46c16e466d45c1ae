import Testing

@testable import REST

@Suite struct TextTests {
  @Test("an e-mail address has one @ between two texts", arguments: ["a@b", "é+x@例え.jp"])
  func address(text: String) { #expect(isEmailAddress(text)) }

  @Test(
    "white space, control characters and a missing part make an e-mail address invalid",
    arguments: ["", "@", "a@", "@b", "a@b@c", "a b@c", "a\u{7F}@b", "a\u{A0}@b", "a@b\n"])
  func invalidAddress(text: String) { #expect(!isEmailAddress(text)) }

  @Test(
    "a path can contain a name without slashes and control characters",
    arguments: [("a b", true), ("…", true), (".", false), ("..", false), ("a/b", false)])
  func pathName(name: String, isPossible: Bool) { #expect(isPathName(name) == isPossible) }
}
