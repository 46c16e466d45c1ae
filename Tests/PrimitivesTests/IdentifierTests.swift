import Primitives
import Testing

@Suite struct IdentifierTests {
  private let sample = "019e5a3c-7f21-7abc-8def-0123456789ab"

  @Test("the text form is read in either case and written in lower case (RFC 9562 §4)")
  func text() throws {
    let id = try #require(Identifier(sample))
    #expect(id.high == 0x019E_5A3C_7F21_7ABC && id.low == 0x8DEF_0123_4567_89AB)
    #expect(id.description == sample)
    #expect(Identifier(sample.uppercased()) == id)
    #expect(Identifier.zero.description == "00000000-0000-0000-0000-000000000000")
  }

  @Test("every hexadecimal digit is parsed and written at its place")
  func halfBytes() throws {
    for index in 0..<32 {
      for value in 1..<16 {
        var digits = [Character](repeating: "0", count: 32)
        digits[index] = Character(String(value, radix: 16))
        for hyphen in [20, 16, 12, 8] { digits.insert("-", at: hyphen) }
        let id = try #require(Identifier(String(digits)))
        #expect(id.description == String(digits))
      }
    }
  }

  @Test(
    "other texts are no ids",
    arguments: [
      "", "019e5a3c7f217abc8def0123456789ab", "{019e5a3c-7f21-7abc-8def-0123456789ab}",
      "urn:uuid:019e5a3c-7f21-7abc-8def-0123456789ab", "019e5a3c-7f21-7abc-8def-0123456789a",
      "019e5a3c-7f21-7abc-8def-0123456789abc", "019e5a3c-7f21-7abc-8def-0123456789ag",
      "019e5a3c-7f217-abc-8def-0123456789ab", "019e5a3c-7f21-7abc-8def 0123456789ab",
      " 019e5a3c-7f21-7abc-8def-0123456789a", "019e5a3c-7f21-7abc-8def-01234567é9a",
    ])
  func refused(_ text: String) {
    #expect(Identifier(text) == nil)
  }

  @Test("every byte at every place is a digit, a hyphen or a fault")
  func everyByte() {
    let valid = Array(sample.utf8)
    for place in valid.indices {
      for byte in UInt8.min...UInt8.max {
        var text = valid
        text[place] = byte
        let isHyphen = [8, 13, 18, 23].contains(place)
        let isGood = isHyphen ? byte == UInt8(ascii: "-") : hexadecimalValue(byte) != nil
        let id = text.withRawSpan { Identifier(text: $0) }
        #expect((id != nil) == isGood, "byte \(byte) at \(place)")
      }
    }
  }

  @Test("ids are ordered as PostgreSQL orders them: byte by byte, without a sign")
  func order() throws {
    let ordered = [
      "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001",
      "00000000-0000-0000-8000-000000000000", "00000000-0000-0001-0000-000000000000",
      "7fffffff-ffff-ffff-ffff-ffffffffffff", "80000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ]
    let ids = try ordered.map { try #require(Identifier($0)) }
    #expect(ids.shuffled().sorted() == ids)
  }

  @Test("a version 7 id carries its milliseconds, version and variant (RFC 9562 §5.7)")
  func version7() {
    // The sample of RFC 9562 §A.6.
    let time = WallTime(microseconds: 1_645_557_742_000_000)
    let id = Identifier(version7At: time, randomHigh: 0xFCC3, randomLow: 0xD8C4_DC0C_0C07_398F)
    #expect(id.description == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
    let later = Identifier(
      version7At: WallTime(microseconds: time.microseconds + 1_000), randomHigh: 0, randomLow: 0)
    #expect(id < later)
  }

  @Test("the binary form is its 16 bytes, most significant first")
  func binary() throws {
    var bytes: [UInt8] = []
    try #require(Identifier(sample)).appendBytes(to: &bytes)
    #expect(bytes.prefix(4) == [0x01, 0x9E, 0x5A, 0x3C] && bytes.suffix(2) == [0x89, 0xAB])
    #expect(bytes.count == 16)
  }
}
