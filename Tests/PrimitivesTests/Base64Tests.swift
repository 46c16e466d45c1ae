/// The examples of RFC 4648 §10, and texts that must not decode.
import Primitives
import Testing

@Suite struct Base64Tests {
  @Test(
    "the examples of RFC 4648 §10",
    arguments: [
      ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
      ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
    ])
  func examples(plain: String, encoded: String) {
    #expect(Base64.standard.encode(Array(plain.utf8)) == encoded)
    #expect(Base64.standard.decode(encoded.utf8) == Array(plain.utf8))
    var padded: [UInt8] = []
    Base64.standard.append(Array(plain.utf8), padded: true, to: &padded)
    let padding = String(repeating: "=", count: (4 - encoded.utf8.count % 4) % 4)
    #expect(String(decoding: padded, as: UTF8.self) == encoded + padding)
  }

  @Test("the two alphabets differ in their last two digits only")
  func alphabets() {
    #expect(Base64.url.encode([0xFB, 0xFF]) == "-_8")
    #expect(Base64.standard.encode([0xFB, 0xFF]) == "+/8")
    #expect(Base64.url.decode("+/8".utf8) == nil)
    #expect(Base64.standard.decode("-_8".utf8) == nil)
  }

  @Test("texts of every length are decoded to the same bytes")
  func roundTrip() {
    for count in 0..<100 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 89 + count) }
      #expect(Base64.url.decode(Base64.url.encode(bytes).utf8) == bytes)
    }
  }

  @Test(
    "padding, blanks, a lone digit and spare bits are refused",
    arguments: ["Zg==", "Z g", "Z", "Zh", "Zm9"])
  func refused(text: String) {
    #expect(Base64.standard.decode(text.utf8) == nil)
  }
}
