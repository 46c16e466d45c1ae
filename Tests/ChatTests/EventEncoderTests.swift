import Chat
import Primitives
import Testing

@Suite("Events of chirrup.v1 as JSON")
struct EventEncoderTests {
  @Test("the longest acknowledgement fits: a ref of 64 bytes, the last seq, a duplicate")
  func longestAck() throws {
    let token = Array("\"\(String(repeating: "r", count: Limits.referenceBytes))\"".utf8)
    let ref = try #require(token.withRawSpan { Reference(token: $0) })
    let session = try #require(Identifier("0199c5a2-7be1-7d40-9c55-3f0e8a61b204"))
    var json: [UInt8] = []
    EventEncoder.ack(
      ref: ref, session: session, id: session, seq: .max, at: WallTime(microseconds: 0),
      isDuplicate: true, to: &json)
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.hasPrefix(#"{"type":"ack","ref":"rrrr"#))
    let end = #""seq":9223372036854775807,"at":"1970-01-01T00:00:00.000Z","duplicate":true}"#
    #expect(text.hasSuffix(end))
    #expect(json.count <= ShortText.byteCountMax)
  }
}
