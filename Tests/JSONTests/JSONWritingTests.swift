import Foundation
import JSON
import Primitives
import Testing

@Suite struct JSONWritingTests {
  @Test("a parser reads the written values")
  func roundTrip() throws {
    let text = "\"\\/\u{1}\n\t\u{7F}é漢😀</script>\u{2028}"
    let json = [UInt8].object { json in
      json.appendMember("text", text)
      json.appendMember("number", Int64.min)
      json.appendObject("nested") { nested in
        nested.appendMember("ends with a brace", "{")
        nested.appendMember("yes", true)
      }
      json.appendMember("empty", json: "{}")
      json.appendMember("none", WallTime?.none)
      json.appendMember("at", WallTime(microseconds: 1_795_000_000_123_456))
    }
    let parsed = try JSONSerialization.jsonObject(with: Data(json))
    let object = try #require(parsed as? [String: Any])
    #expect(object["text"] as? String == text)
    #expect(object["number"] as? Int64 == .min)
    #expect((object["nested"] as? [String: Any])?["yes"] as? Bool == true)
    #expect(object["none"] is NSNull)
    #expect(object["at"] as? String == "2026-11-18T11:06:40.123Z")
  }
}
