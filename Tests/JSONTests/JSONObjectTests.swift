import JSON
import Testing

@Suite struct JSONObjectTests {
  func object(_ text: String) throws -> JSONObject { try JSONObject(Array(text.utf8)) }

  @Test(
    "a text that is not one JSON object is refused",
    arguments: [
      "", " ", "null", "[]", "\"x\"", "1", "{", "{}{}", "{} x", "\u{FEFF}{}", "{'a':1}", "{\"a\"}",
      "{\"a\":}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":+1}", "{\"a\":\"\u{0}\"}", "{\"a\":\"\n\"}",
      "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":1,}", "{,}", "{\"a\":tru}", "{\"a\":\"",
    ])
  func malformed(text: String) {
    #expect(throws: JSONObject.Fault.self) { try object(text) }
  }

  @Test("invalid UTF-8 is refused anywhere in the text")
  func encoding() {
    for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] {
      let text = Array("{\"a\":\"".utf8) + bytes + Array("\"}".utf8)
      #expect(throws: JSONObject.Fault.malformed) { try JSONObject(text) }
    }
  }

  @Test("depth and number of members are limited")
  func bounds() throws {
    for opening in ["[", "{\"a\":"] {
      let text = "{\"a\":" + String(repeating: opening, count: 30_000)
      #expect(throws: JSONObject.Fault.tooDeep) { try object(text) }
    }
    let many = (0..<65).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(throws: JSONObject.Fault.tooManyKeys) { try object("{\(many)}") }
    let deepest =
      "{\"a\":" + String(repeating: "[", count: 15) + String(repeating: "]", count: 15) + "}"
    #expect(throws: Never.self) { try object(deepest) }
  }
}
