import Directory
import JSON
import Primitives
import Testing

@testable import Automation

@Suite struct ReplyObjectTests {
  private func object(_ type: String, _ json: String, alt: String? = nil) throws -> ReplyObject? {
    ReplyObject(type: type, payload: try #require(JSONValue(json)), altText: alt)
  }

  @Test("a reply object has a text for clients that cannot show the payload")
  func bodies() throws {
    let text = try object("text", #"{"text":"Hi"}"#, alt: "other")
    #expect(text == ReplyObject(text: "Hi"))
    let quick = try object("text", #"{"text":"Hi","quick_replies":[{"label":"a","value":"b"}]}"#)
    #expect(quick?.body == "Hi")
    #expect(quick?.payload.isEmpty == false)
    #expect(
      try object("buttons", #"{"text":"Choose"}"#, alt: "Please choose")?.body == "Please choose")
    #expect(try object("card", #"{"title":"T","text":"x"}"#)?.body == "T — x")
    #expect(
      try object("carousel", #"{"cards":[{"title":"A"},{"title":"B","text":"b"}]}"#)?.body
        == "A\nB — b")
    #expect(try object("flex", #"{"text":"x"}"#) == nil)
    #expect(try object("card", "{}") == nil)
    let long = String(repeating: "ä", count: 20_000)
    #expect(ReplyObject(text: long).body.utf8.count == 16_384)
  }

  @Test("replies are parsed from the JSON of the table")
  func replies() throws {
    for (json, reply) in [
      (#""plain""#, .text("plain")), (#"{"text":"a"}"#, .text("a")),
      (#"{"object":"o"}"#, .object("o")), (#"{"handover":true}"#, .handover(team: nil)),
      (#"{"handover":true,"team":"Billing"}"#, .handover(team: "Billing")), ("{}", nil),
      (#"{"text":""}"#, nil), ("7", nil), (#"{"handover":false}"#, nil),
    ] as [(String, Intent.Reply?)] {
      #expect(Intent.Reply(try #require(JSONValue(json))) == reply, "\(json)")
    }
  }

  @Test("a reply's id depends on the message and the ordinal, and has version 7")
  func identifiers() {
    let message = Identifier(high: 0x0192_3456_789A_7BCD, low: 0x8123_4567_89AB_CDEF)
    let all = (0...6).map { Identifier.answer(to: message, ordinal: $0) }
    #expect(Set(all).count == 7)
    #expect(all == (0...6).map { Identifier.answer(to: message, ordinal: $0) })
    for id in all {
      #expect(id.high >> 16 == message.high >> 16)
      #expect(id.high >> 12 & 0xF == 7)
      #expect(id.low >> 62 == 2)
    }
    let other = Identifier(high: message.high, low: message.low + 1)
    #expect(Identifier.answer(to: other, ordinal: 0) != all[0])
  }
}
