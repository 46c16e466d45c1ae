import Primitives
import Testing

@Suite struct PercentEncodingTests {
  private func decode(_ text: String, plusIsSpace: Bool = false) -> String? {
    Array(text.utf8).withRawSpan { $0.percentDecoded(plusIsSpace: plusIsSpace) { _ in } }
  }

  @Test(
    "escapes are decoded once, with digits in either case (RFC 3986 §2.1)",
    arguments: [
      ("", ""), ("a", "a"), ("%41%7a%7A", "Azz"), ("%2541", "%41"), ("%C3%A4", "ä"), ("a+b", "a+b"),
    ])
  func decoding(text: String, decoded: String) {
    #expect(decode(text) == decoded)
  }

  @Test("a plus is a space in queries only; an escaped plus never is")
  func plus() {
    #expect(decode("a+b%2B", plusIsSpace: true) == "a b+")
    #expect(decode("a+b%2B") == "a+b+")
  }

  @Test(
    "malformed escapes and invalid UTF-8 are refused", arguments: ["%", "%4", "%4g", "%C3", "%ff"])
  func malformed(text: String) {
    #expect(decode(text) == nil)
  }

  @Test("the caller sees each escaped byte, and can refuse it")
  func check() {
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try Array("a/%2F".utf8).withRawSpan { text throws(Refused) in
        try text.percentDecoded(plusIsSpace: false) { byte throws(Refused) in
          if byte == UInt8(ascii: "/") { throw Refused() }
        }
      }
    }
  }

  @Test("all but unreserved and allowed bytes are escaped (RFC 3986 §2.3), and come back")
  func encoding() {
    #expect("/a b~-._%ä".percentEncoded() == "%2fa%20b~-._%25%c3%a4")
    #expect("/a b".percentEncoded(allowing: "/") == "/a%20b")
    #expect(decode("/a b~-._%ä+".percentEncoded(), plusIsSpace: true) == "/a b~-._%ä+")
  }
}
