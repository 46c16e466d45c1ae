/// Case folding and trimming change ASCII only.
import Primitives
import Testing

@Suite struct ASCIITests {
  @Test("only A to Z are folded, of all 256 bytes")
  func folding() {
    for byte in UInt8.min...UInt8.max {
      let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      #expect(byte.lowercasedASCII == (isUpper ? byte + 32 : byte))
      let character = Character(Unicode.Scalar(byte))
      #expect(byte.isASCIILetter == (character.isASCII && character.isLetter))
      #expect(byte.isASCIIDigit == (character.isASCII && character.isNumber))
    }
  }

  @Test("texts are equal in any case of their ASCII letters; other letters must be the same")
  func equality() {
    #expect("Content-TYPE".equalsIgnoringASCIICase("content-type"))
    #expect(!"content-type".equalsIgnoringASCIICase("content-typ"))
    #expect(!"Ä".equalsIgnoringASCIICase("ä"))
    // U+212A, the Kelvin sign, is "k" in Unicode's lower case.
    #expect(!"\u{212A}eep".equalsIgnoringASCIICase("keep"))
    #expect(!"@".equalsIgnoringASCIICase("`") && !"[".equalsIgnoringASCIICase("{"))
  }

  @Test(
    "spaces and tabs are trimmed at both ends, and nothing else (RFC 9110 §5.6.3)",
    arguments: [
      ("", ""), (" \t ", ""), ("\ta b\t ", "a b"), ("\u{A0}a", "\u{A0}a"), ("a\r\n", "a\r\n"),
    ])
  func trimming(text: String, trimmed: String) {
    #expect(text.trimmingBlanks == trimmed)
    let bytes = Array(text.utf8)
    let range = bytes.withRawSpan { $0.trimmingBlanks(0..<$0.byteCount) }
    #expect(String(decoding: bytes[range], as: UTF8.self) == trimmed)
  }
}
