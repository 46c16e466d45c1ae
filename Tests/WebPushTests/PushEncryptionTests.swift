import OpenSSL
import Primitives
import Testing

@testable import WebPush

@Suite struct PushEncryptionTests {
  static func decoded(_ text: String) throws -> [UInt8] {
    try #require(Base64.url.decode(text.utf8))
  }

  @Test("the example of RFC 8291 §5: the body of the request, byte by byte")
  func example() throws {
    let sender = try #require(
      P256Key(
        scalar: try Self.decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        point: try Self.decoded(
          "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
            + "InmYWAmS6TlzAC8wEqKK6PBru3jl7A8")))
    let body = PushEncryption.seal(
      Array("When I grow up, I want to be a watermelon".utf8),
      for: try Self.decoded(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvT"
          + "BHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
      auth: try Self.decoded("BTBZMqHH6r4Tts7J_aSIgg"), key: sender,
      salt: try Self.decoded("DGv6ra1nlYgDCS1FRnbzlw"))
    #expect(
      body.map { Base64.url.encode($0) }
        == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
        + "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV"
        + "WGNWQexS"
        + "gSxsj_Qulcy4a-fN")
  }

  @Test("every message has a salt and a key of its own, and no more than 4,096 bytes")
  func fresh() throws {
    let browser = P256Key()
    let auth = SecureRandom.bytes(PushEncryption.authByteCount)
    let plain = [UInt8](repeating: 65, count: PushEncryption.plainBytesMax)
    let first = try #require(PushEncryption.seal(plain, for: browser.point, auth: auth))
    let second = try #require(PushEncryption.seal(plain, for: browser.point, auth: auth))
    #expect(first.count == 4_096 && second.count == 4_096)
    #expect(first.prefix(16) != second.prefix(16))
    #expect(first[21..<86] != second[21..<86])
    #expect(PushEncryption.seal(plain + [65], for: browser.point, auth: auth) == nil)
  }

  @Test("a key that is not on the curve is refused")
  func foreign() {
    let point = [0x04] + [UInt8](repeating: 7, count: 64)
    #expect(!P256Key.isPoint(point))
    #expect(!P256Key.isPoint([]))
    #expect(!P256Key.isPoint([0x02] + [UInt8](repeating: 7, count: 32)))
    #expect(PushEncryption.seal([1], for: point, auth: [UInt8](repeating: 0, count: 16)) == nil)
  }

  @Test("a token of VAPID is signed by the key, for the origin of the push service (RFC 8292 §2)")
  func token() throws {
    let key = P256Key()
    let now = WallTime(microseconds: 1_795_000_000_000_000)
    let header = VAPID.authorization(
      for: "https://push.example.net", contact: "https://chat.example.com", key: key, now: now)
    let match = try #require(header.wholeMatch(of: /vapid t=([^.]+)\.([^.]+)\.([^,]+),k=(\S+)/))
    #expect(
      String(decoding: try Self.decoded(String(match.1)), as: UTF8.self)
        == #"{"typ":"JWT","alg":"ES256"}"#)
    let claims = String(decoding: try Self.decoded(String(match.2)), as: UTF8.self)
    #expect(
      claims == #"{"aud":"https://push.example.net","exp":1795043200,"#
        + #""sub":"https://chat.example.com"}"#)
    let point = try Self.decoded(String(match.4))
    #expect(point == key.point)
    let der = try #require(PublicKey.p256(x: Array(point[1..<33]), y: Array(point[33...])))
    #expect(
      PublicKey.isValidJOSE(
        try Self.decoded(String(match.3)), for: Array("\(match.1).\(match.2)".utf8), key: der,
        .es256))
  }
}
