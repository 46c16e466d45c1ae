import Chat
import HTTPClient
import JSON
import Primitives
import Testing

@testable import Channels

/// LINE's side of the channel as values: signatures, events, messages, and what answers mean.
@Suite struct LineTests {
  let line = LineChannel()

  func message(
    _ body: String, kind: EntryKind = .text, payload: String = ""
  ) -> OutboundMessage {
    OutboundMessage(
      id: Identifier(high: 1, low: 2), address: "U1", kind: kind, body: body,
      payload: Array(payload.utf8))
  }

  func meaning(_ json: String) -> InboundEvent.Kind { line.meaning(of: Array(json.utf8)).kind }

  func event(_ members: String) -> String {
    #"{"source":{"type":"user","userId":"U1"},"timestamp":7,"webhookEventId":"E1",\#(members)}"#
  }

  @Test func signature() {
    // Computed by: printf body | openssl dgst -sha256 -hmac secret -binary | base64
    let good = "3EaYNVf+oSe0OvchRn65s/3iM4/j4U9RlSqoR4wT01U="
    let secret = Array("secret".utf8)
    #expect(line.isAuthentic(Array("body".utf8), signature: good, secret: secret))
    #expect(!line.isAuthentic(Array("body ".utf8), signature: good, secret: secret))
    #expect(
      !line.isAuthentic(Array("body".utf8), signature: String(good.dropLast()), secret: secret))
    #expect(!line.isAuthentic(Array("body".utf8), signature: "", secret: secret))
  }

  @Test func bodies() throws {
    let events = try line.events(
      in: Array(#"{"events":[\#(event(#""type":"x""#)),{"a":1}]}"#.utf8))
    #expect(events.map(\.id)[0] == "E1" && events[0].address == "U1")
    #expect(events[1].id.hasPrefix("sha256-") && events[1].address == nil)
    for bad in ["", "[]", "{}", #"{"events":1}"#, #"{"events":["#] {
      #expect(throws: ChannelFault.self) { try line.events(in: Array(bad.utf8)) }
    }
  }

  @Test func addresses() throws {
    for id in ["", "U/../v2", "U 1", String(repeating: "U", count: 129)] {
      let json = #"{"events":[{"source":{"type":"user","userId":"\#(id)"}}]}"#
      #expect(try line.events(in: Array(json.utf8))[0].address == nil)
    }
  }

  @Test func meanings() {
    #expect(
      meaning(event(#""type":"message","message":{"type":"text","id":"9","text":"hi"}"#))
        == .message(key: "message:9", body: "hi", payload: []))
    #expect(
      meaning(event(#""type":"follow","follow":{"isUnblocked":true}"#)) == .followed(isAgain: true))
    #expect(meaning(event(#""type":"follow""#)) == .followed(isAgain: false))
    #expect(meaning(event(#""type":"unfollow""#)) == .left)
    #expect(meaning(event(#""type":"beacon""#)) == .unsupported)
    #expect(meaning("no json") == .unsupported)
    #expect(meaning(event(#""type":"message","message":{"type":"text"}"#)) == .unsupported)
    guard
      case .message(_, let body, let payload) = meaning(
        event(##""type":"postback","postback":{"data":"{\"v\":\"yes\",\"l\":\"Yes, please\"}"}"##))
    else {
      Issue.record("a postback is a message")
      return
    }
    #expect(body == "Yes, please" && JSONValue(payload)?["reply"]?["value"]?.string == "yes")
  }

  @Test func aRepeatedEventHasNoReplyToken() {
    func token(_ isAgain: Bool) -> String? {
      line.meaning(
        of: Array(
          event(
            #""type":"follow","replyToken":"r","deliveryContext":{"isRedelivery":\#(isAgain)}"#
          ).utf8)
      ).replyToken
    }
    #expect(token(false) == "r" && token(true) == nil)
  }

  @Test func unstorableTexts() {
    func repaired(_ text: String) -> String {
      String(decoding: storable(Array(text.utf8)), as: UTF8.self)
    }
    #expect(repaired(#"a\u0000b"#) == #"a\ufffdb"#)
    #expect(repaired(#"\ud83d\ude00"#) == #"\ud83d\ude00"#)
    #expect(repaired(#"\ud83d"#) == #"\ufffd"#)
    #expect(repaired(#"\ud83dx\ude00"#) == #"\ufffdx\ufffd"#)
    #expect(repaired(#"\\u0000"#) == #"\\u0000"#)
    #expect(repaired("\\") == "\\")
  }

  @Test func longTexts() {
    let lines = Array(repeating: "a line of text", count: 1_000).joined(separator: "\n")
    let parts = textParts(of: lines, unitsMax: 5_000)
    #expect(parts.joined() == lines)
    #expect(parts.allSatisfy { $0.utf16.count <= 5_000 })
    #expect(parts.dropLast().allSatisfy { $0.hasSuffix("\n") })
    let solid = String(repeating: "👩‍👩‍👧‍👧", count: 2_000)
    #expect(textParts(of: solid, unitsMax: 5_000).joined() == solid)
    // One character of the user that is longer than a part.
    let tower = "e" + String(repeating: "\u{301}", count: 20)
    let pieces = textParts(of: tower, unitsMax: 8)
    #expect(pieces.joined().unicodeScalars.elementsEqual(tower.unicodeScalars))
    // The longest body of the log fits into one request.
    let longest = String(repeating: "x", count: Limits.bodyBytes)
    #expect(
      textParts(of: longest, unitsMax: 5_000).count
        <= line.capabilities.messagesPerRequest)
  }

  @Test func requests() {
    let token = Array("token".utf8)
    let push = line.request(
      for: message("hi"), part: 0, replyToken: nil, at: "http://l", secret: token, milliseconds: 1)
    #expect(push.url == "http://l/v2/bot/message/push")
    #expect(push.headers.contains("Authorization: Bearer token"))
    #expect(push.headers.contains("X-Line-Retry-Key: \(Identifier(high: 1, low: 2))"))
    let reply = line.request(
      for: message("hi"), part: 0, replyToken: "r", at: "http://l", secret: token, milliseconds: 1)
    #expect(reply.url == "http://l/v2/bot/message/reply")
    #expect(!reply.headers.contains { $0.hasPrefix("X-Line-Retry-Key") })
    #expect(JSONValue(reply.body ?? [])?["replyToken"]?.string == "r")
  }

  @Test func shapes() {
    let card = #"{"title":"T","buttons":[{"label":"L","value":"V"}],"image_url":"http://x/y"}"#
    let flex = LineMessages.messages(
      for: message("T", kind: .card, payload: card), line.capabilities)
    #expect(flex.count == 1 && flex[0]["type"]?.string == "flex")
    // LINE takes pictures by https only.
    #expect(flex[0]["contents"]?["hero"] == nil)
    let broken = LineMessages.messages(
      for: message("T", kind: .card, payload: "{}"), line.capabilities)
    #expect(broken.map { $0["type"]?.string } == ["text"])
    let value = String(repeating: "v", count: 400)
    let replies = #"{"quick_replies":[{"label":"\#(value)","value":"\#(value)"}]}"#
    let text = LineMessages.messages(for: message("?", payload: replies), line.capabilities)[0]
    let action = text["quickReply"]?["items"]?.array?.first?["action"]
    #expect(action?["type"]?.string == "message")
    #expect(action?["label"]?.string?.utf16.count ?? 0 <= LineMessages.quickReplyLabelUnits)
    #expect(action?["text"]?.string?.utf16.count ?? 0 <= LineMessages.dataUnits)
  }

  @Test("files are images if LINE takes them as such, else links, five messages at most")
  func files() {
    func kinds(_ files: [OutboundFile], _ payload: String = "{}") -> [String] {
      var message = message("see", kind: .file, payload: payload)
      message.files = files
      return LineMessages.messages(for: message, line.capabilities).map {
        $0["type"]?.string == "text" ? $0["text"]?.string ?? "" : $0["type"]?.string ?? ""
      }
    }
    func file(_ name: String, _ type: String?, _ bytes: Int64 = 10, _ scheme: String = "https")
      -> OutboundFile
    {
      OutboundFile(name: name, type: type, byteCount: bytes, url: "\(scheme)://c/\(name)")
    }
    let (photo, bill) = (file("a.png", "image/png"), file("b.pdf", "application/pdf"))
    #expect(kinds([photo]) == ["image"])
    #expect(kinds([bill]) == ["b.pdf\nhttps://c/b.pdf"])
    let caption = #"{"caption":true}"#
    #expect(kinds([bill, photo], caption) == ["see", "image", "b.pdf\nhttps://c/b.pdf"])
    // Too large, no type that LINE shows, or without TLS.
    for other in [
      file("c", "image/png", 1_000_001), file("c", "image/webp"), file("c", nil),
      file("c", "image/jpeg", 10, "http"),
    ] {
      #expect(kinds([other]) == ["c\n" + other.url])
    }
    let ten = (0..<10).map { file("\($0).jpg", "image/jpeg") }
    let shown = kinds(ten, caption)
    #expect(shown.count == 5 && shown.first == "see")
    #expect(shown.count { $0 == "image" } == 3 && shown.last?.split(separator: "\n").count == 14)
  }

  @Test func verdicts() {
    func verdict(_ status: Int, _ body: String = "{}", reply: Bool = false, used: Bool = false)
      -> SendVerdict
    {
      line.verdict(
        on: .answered(status: status, body: Array(body.utf8), retryAfter: 3),
        wasSent: true, usedReplyToken: reply, mayBeUsed: used)
    }
    #expect(verdict(200) == .sent)
    #expect(verdict(409) == .sent)
    let invalid = #"{"message":"Invalid reply token"}"#
    #expect(verdict(400, invalid, reply: true) == .withoutReplyToken)
    #expect(verdict(400, invalid, reply: true, used: true) == .sent)
    #expect(
      verdict(400, #"{"message":"bad","details":[{"message":"too long","property":"x"}]}"#)
        == .failed(reason: "LINE answered 400: bad: too long: x"))
    #expect(verdict(403) == .failed(reason: "LINE answered 403"))
    #expect(verdict(429) == .retry(reason: "LINE answered 429", seconds: 3, isUnknown: false))
    #expect(verdict(401) == .retry(reason: "LINE answered 401", seconds: 3, isUnknown: false))
    #expect(verdict(500) == .retry(reason: "LINE answered 500", seconds: 3, isUnknown: true))
    #expect(
      line.verdict(
        on: .failed(reason: "timeout"), wasSent: true, usedReplyToken: true, mayBeUsed: false)
        == .retry(reason: "timeout", seconds: 0, isUnknown: true))
    #expect(
      [1, 2, 3, 7, 100].map { ChannelLoop.pause(after: $0) } == [
        1_000, 2_000, 4_000, 60_000, 60_000,
      ])
  }

  /// Any bytes are read without a trap, and become at most one event each.
  @Test func anyBytes() {
    var random = SystemRandomNumberGenerator()
    let seed = Array(
      event(#""type":"message","message":{"type":"text","id":"9","text":"\ud83d"}"#).utf8)
    for _ in 0..<2_000 {
      var bytes = seed
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      _ = line.meaning(of: bytes)
      _ = try? line.events(in: Array(#"{"events":["#.utf8) + bytes + Array("]}".utf8))
    }
  }
}
