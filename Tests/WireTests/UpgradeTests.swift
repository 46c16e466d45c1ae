import Primitives
import Testing
import Wire

private let sampleKey = "dGhlIHNhbXBsZSBub25jZQ=="

/// The fields of a good handshake, of which a test replaces or removes some.
private func handshake(
  _ line: String = "GET /api/v1/ws HTTP/1.1", without: String = "", _ more: String...
) throws -> Upgrade.Outcome {
  let fields = [
    "Host: example.test", "Upgrade: websocket", "Connection: Upgrade",
    "Sec-WebSocket-Key: \(sampleKey)", "Sec-WebSocket-Version: 13",
  ].filter { without.isEmpty || !$0.hasPrefix(without + ":") }
  let text = ([line] + fields + more).map { $0 + "\r\n" }.joined() + "\r\n"
  return Upgrade.evaluate(try parse(text).get(), subprotocol: "chirrup.v1")
}

private func response(_ outcome: Upgrade.Outcome) -> String? {
  guard case .accept(let bytes, _) = outcome else { return nil }
  return String(decoding: bytes, as: UTF8.self)
}

private func refusal(_ outcome: Upgrade.Outcome) -> Upgrade.Refusal? {
  guard case .refuse(let refusal) = outcome else { return nil }
  return refusal
}

@Suite struct UpgradeTests {
  @Test("the sample handshake of RFC 6455 §1.3 gets its 101 (H01)")
  func sample() throws {
    #expect(
      response(try handshake()) == """
        HTTP/1.1 101 Switching Protocols\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
        \r

        """)
  }

  @Test("tokens are found in lists and in any case (H09)")
  func lists() throws {
    let upgraded = try handshake(
      without: "Connection", "Connection: keep-alive,  ,uPGRADE", "Upgrade: h2c, WebSocket")
    #expect(response(upgraded) != nil)
  }

  @Test("our subprotocol is echoed when it is offered, and nothing otherwise (§4.2.2)")
  func subprotocol() throws {
    let echo = "Sec-WebSocket-Protocol: chirrup.v1\r\n"
    let offers: [(String, Bool)] = [
      ("chirrup.v1", true), ("other, chirrup.v1", true), ("chirrup.v2", false),
      ("CHIRRUP.V1", false), ("", false), (", ,", false),
      ("b" + String(repeating: " ", count: 8_000) + "x", false),
    ]
    for (offer, isEchoed) in offers {
      let text = response(try handshake(without: "", "Sec-WebSocket-Protocol: \(offer)"))
      #expect(text?.contains(echo) == isEchoed, "\(offer.prefix(20))")
      #expect(text?.contains("Sec-WebSocket-Protocol") == isEchoed)
    }
    let many = (0..<1_000).map { "p\($0)" }.joined(separator: ",")
    #expect(response(try handshake(without: "", "Sec-WebSocket-Protocol: \(many)")) != nil)
  }

  @Test("unknown and malformed extensions are ignored (H21, H22)")
  func extensions() throws {
    let quoted = "a; b=\"" + String(repeating: "\\c", count: 5_000)
    let offers = ["permessage-deflate", "constructor, __proto__", ",;", quoted]
    for offer in offers {
      let text = response(try handshake(without: "", "Sec-WebSocket-Extensions: \(offer)"))
      #expect(text?.contains("Extensions") == false)
    }
  }

  @Test(
    "other methods than GET are answered with Allow: GET (H03)", arguments: ["POST", "PUT", "BREW"])
  func methods(_ method: String) throws {
    let refused = refusal(try handshake("\(method) /api/v1/ws HTTP/1.1"))
    #expect(refused?.status == 405)
    #expect(refused?.fields == [HeadFields.Field(name: "Allow", value: "GET")])
  }

  @Test(
    "other versions are answered with the supported one (§4.4, H05, H06)",
    arguments: ["8", "0", "7777", "013", "13, 8", ""])
  func versions(_ version: String) throws {
    let refused = refusal(
      try handshake(without: "Sec-WebSocket-Version", "Sec-WebSocket-Version: \(version)"))
    #expect(refused?.status == 426)
    #expect(
      refused?.fields.contains(HeadFields.Field(name: "Sec-WebSocket-Version", value: "13")) == true
    )
  }

  @Test("a request without Upgrade is answered with 426 (H08)")
  func noUpgrade() throws {
    for outcome in [
      try handshake(without: "Upgrade"), try handshake(without: "Connection"),
      try handshake(without: "Upgrade", "Upgrade: h2c"),
      try handshake(without: "Connection", "Connection: keep-alive"),
    ] {
      #expect(refusal(outcome)?.status == 426)
      #expect(
        refusal(outcome)?.fields.contains(HeadFields.Field(name: "Upgrade", value: "websocket"))
          == true)
    }
  }

  @Test(
    "a key is 16 bytes in base64, and occurs once (§4.2.1, H10)",
    arguments: [
      "", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZTE=",
      "dGhlIHNhbXBsZSBub25jZQ==x", "dGhlIHNhbXBsZSBub25jZQ= =", "dGhl*HNhbXBsZSBub25jZQ==",
      "dGhlIHNhbXBsZSBub25jZTEy", "====dGhlIHNhbXBsZSBub25j",
    ])
  func keys(_ key: String) throws {
    #expect(
      refusal(try handshake(without: "Sec-WebSocket-Key", "Sec-WebSocket-Key: \(key)"))?.status
        == 400)
    #expect(refusal(try handshake(without: "", "Sec-WebSocket-Key: \(sampleKey)"))?.status == 400)
    #expect(refusal(try handshake(without: "Sec-WebSocket-Key"))?.status == 400)
  }

  @Test("HTTP/1.0 and a body are refused (H04, H17)")
  func others() throws {
    #expect(refusal(try handshake("GET /api/v1/ws HTTP/1.0"))?.status == 400)
    #expect(refusal(try handshake(without: "", "Content-Length: 5"))?.status == 400)
    #expect(response(try handshake(without: "", "Content-Length: 0")) != nil)
  }

  @Test("server and client agree, and the client refuses anything that it did not offer (§4.1)")
  func bothHalves() throws {
    let client = UpgradeRequest(
      host: "example.test:80", target: "/api/v1/ws?x=1", subprotocol: "chirrup.v1",
      fields: [("Origin", "https://example.test\r\nEvil: 1")], random: (1, 2))
    var sent: [UInt8] = []
    client.append(to: &sent)
    let head = try parse(sent).get()
    #expect(head.query("x") == "1" && head.value(of: "evil") == nil)
    guard case .accept(let bytes, _) = Upgrade.evaluate(head, subprotocol: "chirrup.v1") else {
      Issue.record("the upgrade was refused")
      return
    }
    let answer = try bytes.withRawSpan { try ResponseHead.parse($0) }
    #expect(client.judge(answer) == .accepted(subprotocol: "chirrup.v1"))
    let other = UpgradeRequest(host: "a", target: "/", subprotocol: nil, random: (3, 4))
    #expect(other.judge(answer) == .invalid("wrong accept value"))
    let unasked = UpgradeRequest(host: "a", target: "/", subprotocol: nil, random: (1, 2))
    #expect(unasked.judge(answer) == .invalid("subprotocol that was not offered"))
    let refused = try Array("HTTP/1.1 503 Busy\r\nRetry-After: 3\r\n\r\n".utf8)
      .withRawSpan { try ResponseHead.parse($0) }
    #expect(client.judge(refused) == .refused(status: 503))
  }
}
