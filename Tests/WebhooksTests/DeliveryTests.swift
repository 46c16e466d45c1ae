import Directory
import HTTPClient
import Kernel
import OpenSSL
import Primitives
import Testing
import Webhooks

@Suite struct DeliveryTests {
  static let delivery = Delivery(
    workspace: Identifier(high: 0, low: 1), id: Identifier(high: 0, low: 2),
    webhook: Identifier(high: 0, low: 3), url: "https://example.com/",
    event: "message.created", payload: Array(#"{"at": "x"}"#.utf8),
    secret: SecretBox.Sealed(keyID: "", bytes: []), attempt: 3)

  @Test("the signature is the HMAC-SHA-256 of time and body, as openssl computes it")
  func signature() {
    // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
    #expect(
      WebhookSignature.header(
        secret: Array("whsec_test".utf8), unixSeconds: 1_700_000_000,
        body: Array(#"{"a":1}"#.utf8))
        == "t=1700000000,v1=38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789")
    #expect(WebhookSignature.makeSecret().hasPrefix("whsec_"))
    #expect(WebhookSignature.makeSecret().utf8.count == 49)
    #expect(WebhookSignature.makeSecret() != WebhookSignature.makeSecret())
  }

  @Test("the signed body begins with the delivery's id and event")
  func body() {
    let delivery = Self.delivery
    let body = String(decoding: delivery.body, as: UTF8.self)
    #expect(
      body == #"{"id":"\#(delivery.id)","type":"message.created","at": "x"}"#)
    var empty = delivery
    empty.payload = Array("{}".utf8)
    #expect(
      String(decoding: empty.body, as: UTF8.self)
        == #"{"id":"\#(delivery.id)","type":"message.created"}"#)
    let post = delivery.post(secret: [1], unixSeconds: 5, milliseconds: 10)
    #expect(post.body == delivery.body)
    let signature = WebhookSignature.header(secret: [1], unixSeconds: 5, body: delivery.body)
    #expect(post.headers.contains("Chirrup-Signature: \(signature)"))
    #expect(post.headers.contains("Chirrup-Delivery: \(delivery.id)"))
    #expect(post.headers.contains("Chirrup-Attempt: 3"))
  }

  @Test("only 2xx is a success; of other responses only the status is stored")
  func outcomes() {
    #expect(failure(of: .answered(status: 204)) == nil)
    #expect(failure(of: .answered(status: 500)) == "HTTP 500")
    #expect(failure(of: .answered(status: 302)) == "HTTP 302: redirects are not followed")
    #expect(failure(of: .refused(.loopback))?.contains("127") == false)
  }

  @Test("a delivery has twelve attempts in about a day, with growing pauses and jitter")
  func schedule() {
    let schedule = RetrySchedule(firstMilliseconds: 5_000)
    let pauses = (1..<RetrySchedule.attemptsMax).compactMap { schedule.pause(after: $0, random: 0) }
    #expect(pauses.count == 11)
    #expect(pauses == pauses.sorted() && pauses[0] == 5_000 && pauses[1] == 15_000)
    #expect((80_000_000...90_000_000).contains(pauses.reduce(0, +)))
    #expect(schedule.pause(after: RetrySchedule.attemptsMax, random: 0) == nil)
    #expect(schedule.pause(after: 40, random: 0) == nil)
    for random in stride(from: UInt64(0), to: 5_000, by: 7) {
      #expect((4_000...5_000).contains(schedule.pause(after: 1, random: random) ?? 0))
    }
  }

  @Test("a secret can be decrypted at its place only, with its key or a configured former one")
  func secrets() {
    let plain = Array("whsec_1".utf8)
    let old = SecretBox(configured: [], signingKey: [1, 2, 3])
    let sealed = old.seal(plain, place: "webhook:1")
    let first = SecretBox(
      configured: ["first key, first key, first key, …"], signingKey: [1, 2, 3])
    let both = SecretBox(
      configured: ["second key, second key, second key", "first key, first key, first key, …"],
      signingKey: [1, 2, 3])
    #expect(old.open(sealed, place: "webhook:1") == plain)
    #expect(old.open(sealed, place: "webhook:2") == nil)
    #expect(first.open(sealed, place: "webhook:1") == plain)
    let newer = first.seal(plain, place: "webhook:1")
    #expect(newer.keyID != sealed.keyID && old.open(newer, place: "webhook:1") == nil)
    #expect(both.open(newer, place: "webhook:1") == plain)
    #expect(!String(decoding: newer.bytes, as: UTF8.self).contains("whsec"))
  }
}
