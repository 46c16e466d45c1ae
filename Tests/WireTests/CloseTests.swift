import Primitives
import Testing
import Wire

@Suite struct CloseTests {
  @Test("exactly the codes of RFC 6455 §7.4 that may travel are accepted")
  func codes() {
    for value in UInt16.min...UInt16.max {
      let allowed =
        (1000...1003).contains(value) || (1007...1014).contains(value)
        || (3000...4999).contains(value)
      #expect(CloseCode(rawValue: value).isReceivable == allowed, "\(value)")
    }
    for value: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
      let payload = [UInt8(value >> 8), UInt8(value & 0xFF)]
      #expect(receive([rawFrame(0x88, payload)]) == [.fault(.closeCodeForbidden)], "\(value)")
    }
    for value: UInt16 in [1000, 1003, 1007, 1014, 3000, 4999] {
      let payload = [UInt8(value >> 8), UInt8(value & 0xFF)]
      #expect(receive([rawFrame(0x88, payload)]) == [.close(CloseCode(rawValue: value), [])])
    }
  }

  @Test("a close without payload has no code; a reason of 123 bytes is taken (§5.5.1, §7.1.5)")
  func payloads() {
    #expect(receive([rawFrame(0x88)]) == [.close(nil, [])])
    #expect(receive(rawFrame(0x88).map { [$0] }) == [.close(nil, [])])
    let reason = [UInt8](repeating: UInt8(ascii: "r"), count: 123)
    let frame = rawFrame(0x88, [0x0F, 0xA1] + reason)
    #expect(receive([frame]) == [.close(.rebalance, reason)])
    #expect(receive(frame.map { [$0] }) == [.close(.rebalance, reason)])
  }

  @Test("a close between fragments ends the message, and its reason is not a part of it (§5.5.1)")
  func insideAMessage() {
    let stream = rawFrame(0x01, bytes("unfinished")) + rawFrame(0x88, [0x03, 0xE9, 0x6F, 0x6B])
    let expected: [Received] = [.close(.goingAway, bytes("ok"))]
    for point in 0...stream.count { #expect(receive(cut(stream, at: [point])) == expected) }
    #expect(receive(stream.map { [$0] }) == expected)
  }

  @Test("a close frame is built with its code first, unmasked (§5.5.1)")
  func build() {
    var frame: [UInt8] = []
    FrameEncoder.appendClose(.drain, reason: "later", to: &frame)
    #expect(frame == [0x88, 7, 0x0F, 0xA0] + bytes("later"))
    #expect(receive([frame], role: .client) == [.close(.drain, bytes("later"))])
  }

  @Test(
    "a reason that is too long is cut to 123 bytes between two characters (§5.5)",
    arguments: ["x", "é", "€", "\u{1F426}"], 0..<4)
  func cutReason(_ character: String, _ lead: Int) {
    let text = String(repeating: "a", count: lead) + String(repeating: character, count: 130)
    var frame: [UInt8] = []
    FrameEncoder.appendClose(.internalError, reason: text, to: &frame)
    guard case .close(let code, let reason) = receive([frame], role: .client).first else {
      Issue.record("not a close frame")
      return
    }
    #expect(code == .internalError)
    #expect(reason.count <= 123 && reason.count > 123 - character.utf8.count)
    #expect(text.utf8.starts(with: reason))
  }

  @Test("Chirrup's close codes may be sent, and their hundred determines the client's reaction")
  func own() {
    let reconnect: [CloseCode] = [.drain, .rebalance, .administrator]
    let backOff: [CloseCode] = [.tooSlow, .noPong, .rateAbuse, .overloaded, .holeSeen]
    let newToken: [CloseCode] = [.helloTimeout, .tokenExpired, .tokenInvalid, .tokenRevoked]
    let stop: [CloseCode] = [.versionRefused, .banned, .originRefused, .disabled]
    for (hundred, codes) in [(40, reconnect), (41, backOff), (42, newToken), (43, stop)] {
      for code in codes { #expect(code.isReceivable && code.rawValue / 100 == hundred) }
    }
  }
}
