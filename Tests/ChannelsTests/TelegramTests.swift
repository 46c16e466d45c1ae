import Chat
import HTTPClient
import JSON
import Primitives
import Testing

@testable import Channels

/// Telegram's side of the channel as values: secrets, updates, calls, and what answers mean.
@Suite struct TelegramTests {
  let telegram = TelegramChannel()
  let token = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"

  func message(
    _ body: String, kind: EntryKind = .text, payload: String = ""
  ) -> OutboundMessage {
    OutboundMessage(
      id: Identifier(high: 1, low: 2), address: "77", kind: kind, body: body,
      payload: Array(payload.utf8))
  }

  func calls(_ message: OutboundMessage) -> [TelegramMessages.Call] {
    TelegramMessages.calls(for: message, unitsMax: telegram.capabilities.textUnitsMax)
  }

  func update(_ members: String) -> [UInt8] { Array(#"{"update_id":5,\#(members)}"#.utf8) }

  func meaning(_ members: String) -> InboundEvent.Kind {
    telegram.meaning(of: update(members)).kind
  }

  /// The meaning of a message in a private chat.
  func meaning(ofMessage members: String) -> InboundEvent.Kind {
    meaning(
      #""message":{"message_id":9,"date":7,"chat":{"id":77,"type":"private"},"#
        + #""from":{"id":77,"is_bot":false,"first_name":"Mali"},\#(members)}"#)
  }

  func body(_ kind: InboundEvent.Kind) -> String? {
    if case .message(_, let body, _) = kind { body } else { nil }
  }

  @Test func theSecretIsComparedAsAWhole() {
    func isAuthentic(_ signature: String, _ secret: String = "secret-1") -> Bool {
      telegram.isAuthentic([], signature: signature, secret: Array(secret.utf8))
    }
    #expect(isAuthentic("secret-1"))
    for wrong in ["", "secret-", "secret-11", "Secret-1"] { #expect(!isAuthentic(wrong)) }
    #expect(!isAuthentic("", ""))
  }

  @Test func bodies() throws {
    let chat = #""chat":{"id":77,"type":"private"}"#
    let event = try telegram.events(in: update(#""message":{\#(chat)}"#))[0]
    #expect(event.id == "5" && event.address == "77")
    for other in [
      #""message":{"chat":{"id":-77,"type":"group"}}"#,
      #""message":{"chat":{"id":-77,"type":"private"}}"#,
      #""message":{"chat":{"id":99999999999999999999,"type":"private"}}"#,
      #""message":{"chat":{"id":"77","type":"private"}}"#, #""message":{"chat":[77]}"#,
      #""message":7"#, #""channel_post":{\#(chat)}"#,
    ] {
      #expect(try telegram.events(in: update(other))[0].address == nil)
      #expect(meaning(other) == .unsupported)
    }
    let deep = String(repeating: "[", count: 10_000)
    for bad in ["", "[]", "{}", "{\"update_id\":\"5\"}", "{\"update_id\":1e300}", deep] {
      #expect(throws: ChannelFault.self) { try telegram.events(in: Array(bad.utf8)) }
    }
  }

  @Test func meanings() {
    #expect(
      meaning(ofMessage: #""text":"hi""#)
        == .message(key: "message:77:9:7", body: "hi", payload: []))
    let lines = [
      #""sticker":{"emoji":"😀"}"#: "[sticker: 😀]", #""photo":[{"file_id":"a"}]"#: "[image]",
      #""photo":[],"caption":"my cat""#: "[image]\nmy cat", #""video":{}"#: "[video]",
      #""animation":{},"document":{"file_name":"a.mp4"}"#: "[video]", #""voice":{}"#: "[audio]",
      #""document":{"file_name":"bill.pdf"},"caption":"the bill""#: "[file: bill.pdf]\nthe bill",
      #""location":{"latitude":13.72,"longitude":100.53}"#: "[location: 13.72, 100.53]",
      #""venue":{"title":"Shop","address":"1 Silom Rd","location":{"latitude":1,"longitude":2}}"#:
        "[location: Shop, 1 Silom Rd, 1, 2]",
      #""contact":{"first_name":"Ada","phone_number":"+66 2"}"#: "[contact: Ada +66 2]",
      #""text":"a\u0000b \ud83d""#: "a\u{FFFD}b \u{FFFD}",
    ]
    for (members, line) in lines { #expect(body(meaning(ofMessage: members)) == line) }
    #expect(meaning(ofMessage: #""text":"/start""#) == .followed(isAgain: false))
    #expect(meaning(ofMessage: #""text":"/start ref-7""#) == .followed(isAgain: false))
    #expect(body(meaning(ofMessage: #""text":"/started""#)) == "/started")
    for other in [#""text":"""#, #""text":7"#, #""pinned_message":{}"#] {
      #expect(meaning(ofMessage: other) == .unsupported)
    }
    func member(_ old: String, _ new: String) -> InboundEvent.Kind {
      meaning(
        #""my_chat_member":{"chat":{"id":77,"type":"private"},"date":7,"#
          + #""old_chat_member":{"status":"\#(old)"},"new_chat_member":{"status":"\#(new)"}}"#)
    }
    #expect(member("member", "kicked") == .left)
    #expect(member("kicked", "member") == .followed(isAgain: true))
    #expect(member("member", "administrator") == .unsupported)
    #expect(
      meaning(#""edited_message":{"chat":{"id":77,"type":"private"},"text":"x"}"#) == .unsupported)
  }

  /// A button of ours comes back with its label and its value; a value that does not fit into 64
  /// bytes with its label only.
  @Test(arguments: ["track", "ส่งของ", String(repeating: "v", count: 62)])
  func taps(value: String) throws {
    let long = String(repeating: "v", count: 63)
    let payload =
      #"{"text":"Now?","buttons":[{"label":"Track","value":"\#(value)"},"#
      + #"{"label":"Long","value":"\#(long)"}]}"#
    let sent = calls(message("Now?", kind: .buttons, payload: payload))[0].members
    let markup = try #require(sent["reply_markup"])
    let rows = try #require(markup["inline_keyboard"]?.array)
    let data = rows.compactMap { $0.array?.first?["callback_data"]?.string }
    #expect(data.count == 2 && data.allSatisfy { (1...64).contains($0.utf8.count) })
    func tap(_ data: String) -> (String, String?) {
      let kind = meaning(
        #""callback_query":{"id":"q","data":"\#(data)","message":{"date":7,"#
          + #""chat":{"id":77,"type":"private"},"#
          + #""reply_markup":\#(String(decoding: markup.text, as: UTF8.self))}}"#)
      guard case .message("callback:q", let body, let payload) = kind else { return ("", nil) }
      return (body, JSONValue(payload)?["reply"]?["value"]?.string)
    }
    #expect(tap(data[0]) == ("Track", value))
    #expect(tap(data[1]) == ("Long", nil))
    // A button that another program has sent with this bot.
    #expect(tap("vote_7") == ("vote_7", "vote_7"))
    let answer = telegram.answer(to: update(#""callback_query":{"id":"q"}"#))
    #expect(JSONValue(answer)?["method"]?.string == "answerCallbackQuery")
    #expect(telegram.answer(to: update(#""message":{}"#)) == Array("{}".utf8))
  }

  @Test func longTexts() {
    let text = Array(repeating: "a line of 🎉 text", count: 900).joined(separator: "\n")
    let texts = calls(message(text)).compactMap { $0.members["text"]?.string }
    #expect(texts.joined() == text && texts.count > 1)
    #expect(texts.allSatisfy { $0.utf16.count <= 4_096 })
    #expect(telegram.requestCount(for: message(text)) == texts.count)
    // The worst case of the longest body fits.
    let body = String(repeating: "x\n" + String(repeating: "y", count: 4_096), count: 4)
    let worst = message(String(body.prefix(Limits.bodyBytes)))
    #expect(
      calls(worst).compactMap { $0.members["text"]?.string }.joined() == worst.body)
    #expect(calls(worst).count < TelegramMessages.callsMax)
  }

  @Test func shapes() {
    let card =
      #"{"title":"T","text":"B","image_url":"https://x/y","buttons":["#
      + #"{"label":"Shop","type":"url","value":"https://shop/"},"#
      + #"{"label":"Call","type":"url","value":"tel:+66"}]}"#
    let call = calls(message("T — B", kind: .card, payload: card))[0].members
    // Telegram would refuse a button with another link.
    #expect(call["text"]?.string == "T\nB\nCall: tel:+66")
    #expect(call["entities"]?.array?.first?["length"]?.int == 1)
    #expect(call["link_preview_options"]?["url"]?.string == "https://x/y")
    #expect(call["reply_markup"]?["inline_keyboard"]?.array?.count == 1)
    let carousel = calls(
      message("T", kind: .carousel, payload: #"{"cards":[\#(card),{"title":"U"},{}]}"#))
    #expect(carousel.count == 2)
    let broken = calls(message("T", kind: .card, payload: "{}"))
    #expect(broken.map { $0.members["text"]?.string } == ["T"])
  }

  @Test func files() {
    var message = message("see", kind: .file, payload: #"{"caption":true}"#)
    message.files = [
      OutboundFile(name: "b.pdf", type: "application/pdf", byteCount: 1, url: "https://c/b"),
      OutboundFile(name: "a.png", type: "image/png", byteCount: 1, url: "https://c/a"),
      OutboundFile(name: "c.png", type: "image/png", byteCount: 5_000_001, url: "https://c/c"),
    ]
    let calls = calls(message)
    #expect(calls.map(\.method) == ["sendMessage", "sendPhoto", "sendMessage"])
    #expect(calls[1].members["photo"]?.string == "https://c/a")
    #expect(calls[2].members["text"]?.string == "b.pdf\nhttps://c/b\n\nc.png\nhttps://c/c")
  }

  @Test func requests() {
    func request(_ secret: String) -> HTTPRequest {
      telegram.request(
        for: message("hi"), part: 0, replyToken: nil, at: "http://t", secret: Array(secret.utf8),
        milliseconds: 1)
    }
    #expect(request(token).url == "http://t/bot\(token)/sendMessage")
    #expect(request(token).isSentOnce)
    #expect(JSONValue(request(token).body ?? [])?["chat_id"]?.int == 77)
    // Whatever is stored as a token stays within its part of the path.
    #expect(request("a/../b?c#d\r\n").url == "http://t/bota%2f..%2fb%3fc%23d%0d%0a/sendMessage")
  }

  func verdict(_ status: Int, _ body: String) -> SendVerdict {
    telegram.verdict(
      on: .answered(status: status, body: Array(body.utf8), retryAfter: 3), wasSent: true,
      usedReplyToken: false, mayBeUsed: false)
  }

  @Test func verdicts() {
    func refusal(_ status: Int, _ description: String, more: String = "") -> SendVerdict {
      verdict(
        status, #"{"ok":false,"error_code":\#(status),"description":"\#(description)"\#(more)}"#)
    }
    func again(_ status: Int, _ seconds: Int64 = 3) -> SendVerdict {
      .retry(reason: "Telegram answered \(status): x", seconds: seconds, isUnknown: false)
    }
    #expect(verdict(200, #"{"ok":true,"result":{}}"#) == .sent)
    let blocked = "Forbidden: bot was blocked by the user"
    #expect(refusal(403, blocked) == .failed(reason: "Telegram answered 403: \(blocked)"))
    #expect(refusal(400, "x") == .failed(reason: "Telegram answered 400: x"))
    for status in [401, 404, 500, 502] { #expect(refusal(status, "x") == again(status)) }
    #expect(refusal(429, "x", more: #","parameters":{"retry_after":12}"#) == again(429, 12))
    for absurd in ["\(Int.max)", "86400"] {
      #expect(
        refusal(429, "x", more: #","parameters":{"retry_after":\#(absurd)}"#) == again(429, 3_600))
    }
    #expect(refusal(429, "x", more: #","parameters":{"retry_after":-9}"#) == again(429, 0))
  }

  /// Telegram recognises no repeated message: what it may have is not sent again.
  @Test func unknownOutcomes() {
    func failed(_ wasSent: Bool) -> SendVerdict {
      telegram.verdict(
        on: .failed(reason: "Timeout"), wasSent: wasSent, usedReplyToken: false, mayBeUsed: false)
    }
    #expect(failed(true) == .unknown(reason: "Telegram's answer is missing: Timeout"))
    #expect(failed(false) == .retry(reason: "Timeout", seconds: 0, isUnknown: false))
    // Answers that are not Telegram's: of a server in between.
    #expect(verdict(504, "<html>") == .unknown(reason: "Telegram answered 504"))
    #expect(verdict(200, "<html>") == .unknown(reason: "Telegram answered 200"))
    for status in [302, 403, 407, 503] {
      #expect(
        verdict(status, "<html>")
          == .retry(reason: "Telegram answered \(status)", seconds: 3, isUnknown: false))
    }
  }

  /// The token is in the URL of each request: a platform that repeats it must not bring it into a
  /// reason, which operators read.
  @Test func noReasonHasTheToken() {
    let padding = String(repeating: "x", count: 260)
    for text in ["no \(token)", "\(padding) /bot\(token)/sendMessage", "\(token)\(token)"] {
      guard
        case .failed(let reason) = verdict(400, #"{"ok":false,"description":"\#(text)"}"#)
      else {
        Issue.record("400 is a failure")
        continue
      }
      #expect(!reason.contains(token.prefix(20)) && reason.contains("…"))
    }
  }

  @Test func profileAndAccount() {
    func profile(_ json: String) -> ChannelProfile? {
      telegram.profile(in: Array(json.utf8))
    }
    #expect(
      profile(#"{"ok":true,"result":{"first_name":"Mali","last_name":"Suksan"}}"#)
        == ChannelProfile(name: "Mali Suksan", pictureURL: nil))
    #expect(profile(#"{"result":{"first_name":"M\ud83d"}}"#)?.name == "M\u{FFFD}")
    #expect(profile("[]") == nil)
    let me = Array(#"{"ok":true,"result":{"first_name":"Shop","username":"shop_bot"}}"#.utf8)
    #expect(telegram.accountName(in: me) == "@shop_bot")
  }

  /// Any bytes are read without a trap, and become at most one event each.
  @Test func anyBytes() {
    var random = SystemRandomNumberGenerator()
    let seeds = [
      #""message":{"message_id":9,"date":7,"chat":{"id":77,"type":"private"},"text":"\ud83d"}"#,
      #""callback_query":{"id":"q","data":"v=1","message":{"chat":{"id":7,"type":"private"}}}"#,
    ].map { update($0) }
    for _ in 0..<2_000 {
      var bytes = seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      _ = telegram.meaning(of: bytes)
      _ = telegram.answer(to: bytes)
      #expect((try? telegram.events(in: bytes).count) ?? 0 <= 1)
    }
  }
}
