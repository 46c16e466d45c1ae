import HTTPClient
import JSON
import Primitives
import Testing

@testable import Channels

/// Which messages have contents, and the steps that fetch one from LINE, as values.
@Suite struct ContentTests {
  let line = LineChannel()

  func content(_ message: String) -> InboundContent? {
    let json = #"{"type":"message","source":{"type":"user","userId":"U1"},"message":\#(message)}"#
    return line.meaning(of: Array(json.utf8)).content
  }

  @Test func whichMessagesHaveOne() {
    let own = #""contentProvider":{"type":"line"}"#
    let image = content(#"{"type":"image","id":"9",\#(own)}"#)
    #expect(image == InboundContent(id: "9", kind: "image", name: "image.jpg", isNamed: false))
    #expect(content(#"{"type":"video","id":"9",\#(own)}"#)?.name == "video.mp4")
    #expect(content(#"{"type":"audio","id":"9",\#(own)}"#)?.name == "audio.m4a")
    let file = content(#"{"type":"file","id":"9","fileName":"a.pdf","fileSize":7}"#)
    #expect(
      file == InboundContent(id: "9", kind: "file", name: "a.pdf", isNamed: true, byteCount: 7))
    #expect(content(#"{"type":"image","id":"9","contentProvider":{"type":"external"}}"#) == nil)
    #expect(content(#"{"type":"image","id":"../9",\#(own)}"#) == nil)
    #expect(content(#"{"type":"text","id":"9","text":"hi"}"#) == nil)
    #expect(content(#"{"type":"sticker","id":"9"}"#) == nil)
  }

  func fetch(_ kind: String) throws -> any ContentFetch {
    try #require(
      line.contentFetch(
        InboundContent(id: "9", kind: kind, name: "x", isNamed: false),
        at: MenuPlace(api: "https://api.example.com", data: "https://data.example.com"),
        secret: Array("t".utf8), milliseconds: 1_000, downloadMilliseconds: 60_000))
  }

  static let path = "https://data.example.com/v2/bot/message/9/content"

  /// The step in words.
  func words(_ step: ContentStep) -> String {
    switch step {
    case .request(let request): "ask \(request.url.dropFirst(ContentTests.path.count))"
    case .download(let request): "load \(request.url.dropFirst(ContentTests.path.count))"
    case .end(.fetched): "fetched"
    case .end(.missing(let reason)): "missing: \(reason)"
    case .end(.retry(let reason, let seconds)): "again in \(seconds): \(reason)"
    }
  }

  func answer(_ status: Int, _ body: String = "", after seconds: Int64 = 0) -> HTTPOutcome {
    .answered(status: status, body: Array(body.utf8), retryAfter: seconds)
  }

  @Test func aPictureIsLoadedAtOnce() throws {
    var picture = try fetch("image")
    #expect(words(picture.next(after: nil)) == "load ")
    #expect(words(picture.next(after: answer(200))) == "fetched")
  }

  @Test func aVideoIsAskedForFirst() throws {
    for kind in ["video", "audio"] {
      var ready = try fetch(kind)
      #expect(words(ready.next(after: nil)) == "ask /transcoding")
      #expect(words(ready.next(after: answer(200, #"{"status":"succeeded"}"#))) == "load ")
      #expect(words(ready.next(after: answer(200))) == "fetched")
    }
    var early = try fetch("video")
    _ = early.next(after: nil)
    #expect(
      words(early.next(after: answer(200, #"{"status":"processing"}"#)))
        == "again in 0: LINE still prepares it")
    var bad = try fetch("video")
    _ = bad.next(after: nil)
    #expect(
      words(bad.next(after: answer(200, #"{"status":"failed"}"#)))
        == "missing: LINE could not prepare it.")
  }

  @Test func refusals() throws {
    for (outcome, expected) in [
      (answer(202), "again in 0: LINE still prepares it"),
      (answer(404), "missing: LINE has deleted it."),
      (answer(410), "missing: LINE has deleted it."),
      (answer(403), "missing: LINE answered 403"),
      (answer(401), "again in 0: LINE answered 401"),
      (answer(429, after: 7), "again in 7: LINE answered 429"),
      (answer(503), "again in 0: LINE answered 503"),
      (.failed(reason: "x"), "again in 0: x"),
    ] {
      var picture = try fetch("image")
      _ = picture.next(after: nil)
      #expect(words(picture.next(after: outcome)) == expected)
    }
  }

  /// An outage of an hour must end before the contents are given up, and the pauses must not
  /// outlive it by much.
  @Test func pauses() {
    #expect((1...8).map { ContentLoop.pause(after: $0) / 1_000 } == [1, 2, 4, 8, 16, 32, 60, 60])
    #expect(ContentLoop.pause(after: 1_000_000) == 60_000)
    #expect(ContentLoop.waitSeconds >= 2 * 3_600)
  }

  @Test func quota() {
    func quota(_ bodies: String...) -> ChannelQuota? {
      line.quota(in: bodies.map { Array($0.utf8) })
    }
    #expect(
      quota(#"{"type":"limited","value":200}"#, #"{"totalUsage":12}"#)
        == ChannelQuota(limit: 200, used: 12))
    #expect(quota(#"{"type":"none"}"#, #"{"totalUsage":3}"#) == ChannelQuota(limit: nil, used: 3))
    #expect(quota(#"{"type":"none"}"#, "{}") == nil)
    #expect(quota("{}", #"{"totalUsage":3}"#) == nil)
  }

  @Test func aUsedQuotaIsNoRateLimit() {
    let used = answer(429, #"{"message":"You have reached your monthly limit."}"#)
    #expect(
      line.verdict(on: used, wasSent: true, usedReplyToken: false, mayBeUsed: false)
        == .failed(reason: "LINE answered 429: You have reached your monthly limit."))
    let limited = answer(429, #"{"message":"The API rate limit has been exceeded."}"#, after: 3)
    #expect(
      line.verdict(on: limited, wasSent: true, usedReplyToken: false, mayBeUsed: false)
        == .retry(
          reason: "LINE answered 429: The API rate limit has been exceeded.", seconds: 3,
          isUnknown: false))
  }
}
