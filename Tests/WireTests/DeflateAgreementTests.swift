/// The negotiation of permessage-deflate (RFC 7692 §7.1) from a field's text to the answer's, and
/// the grammar below it (RFC 6455 §9.1).
import Primitives
import Testing

@testable import Wire

/// The field's value in the 101; nil when no offer was accepted.
private func answer(_ fields: String..., policy: DeflatePolicy = DeflatePolicy()) -> String? {
  policy.agree(on: fields)?.fieldValue
}

@Suite struct DeflateAgreementTests {
  private static let plain =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
  private static let keeping = DeflatePolicy(allowsContext: true, contextWindowBits: 12)
  private static let keepingAll = DeflatePolicy(allowsContext: true, contextWindowBits: 15)

  @Test(
    "without context takeover the answer says so for both sides, for any offer (D01)",
    arguments: [
      ("permessage-deflate", ""),
      ("permessage-deflate; client_max_window_bits", ""),
      ("permessage-deflate; client_max_window_bits=10", ""),
      ("permessage-deflate; client_max_window_bits=8", ""),
      ("permessage-deflate; server_no_context_takeover; client_no_context_takeover", ""),
      ("permessage-deflate;server_max_window_bits=9", "; server_max_window_bits=9"),
      ("permessage-deflate; server_max_window_bits=15", "; server_max_window_bits=15"),
      (
        "permessage-deflate ; server_max_window_bits = 12 ;\tclient_max_window_bits",
        "; server_max_window_bits=12"
      ),
    ])
  func withoutContext(offer: String, more: String) {
    #expect(answer(offer) == Self.plain + more)
  }

  @Test(
    "with context takeover the windows are the configured ones, within the offer",
    arguments: [
      ("permessage-deflate", "; client_no_context_takeover; server_max_window_bits=12"),
      (
        "permessage-deflate; client_max_window_bits",
        "; server_max_window_bits=12; client_max_window_bits=12"
      ),
      ("permessage-deflate; client_max_window_bits=11", "; server_max_window_bits=12"),
      (
        "permessage-deflate; client_max_window_bits=14; server_max_window_bits=10",
        "; server_max_window_bits=10; client_max_window_bits=12"
      ),
      (
        "permessage-deflate; server_no_context_takeover; client_max_window_bits=8",
        "; server_no_context_takeover"
      ),
      (
        "permessage-deflate; client_no_context_takeover",
        "; client_no_context_takeover; server_max_window_bits=12"
      ),
    ])
  func withContext(offer: String, parameters: String) {
    #expect(answer(offer, policy: Self.keeping) == "permessage-deflate" + parameters)
  }

  @Test("with context takeover and full windows the answer is as short as the offer")
  func wholeWindows() {
    #expect(answer("permessage-deflate", policy: Self.keepingAll) == "permessage-deflate")
    #expect(
      answer("permessage-deflate; client_max_window_bits", policy: Self.keepingAll)
        == "permessage-deflate")
    let agreement = Self.keepingAll.agree(on: ["permessage-deflate; server_max_window_bits=15"])
    #expect(agreement?.fieldValue == "permessage-deflate; server_max_window_bits=15")
    #expect(agreement?.serverForgets == false && agreement?.clientForgets == false)
  }

  @Test(
    "an invalid offer is declined (faults D02, D03, D04)",
    arguments: [
      "permessage-deflate; unknown", "permessage-deflate; unknown=1",
      "permessage-deflate; server_no_context_takeover=true",
      "permessage-deflate; client_no_context_takeover=\"a\"",
      "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
      "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
      "permessage-deflate; client_max_window_bits; client_max_window_bits",
      "permessage-deflate; client_max_window_bits; client_max_window_bits=10",
      "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10",
      "permessage-deflate; server_max_window_bits",
      "permessage-deflate; server_max_window_bits=8",
      "permessage-deflate; Server_max_window_bits=10", "Permessage-Deflate",
      "x-webkit-deflate-frame", "permessage-bzip2", "constructor", "__proto__", "toString; a=b",
    ]
      + ["7", "16", "08", "010", "1e1", "\"15\"", "-1", "+9", "99999999999", "0x9", "9.0"].flatMap {
        [
          "permessage-deflate; server_max_window_bits=\($0)",
          "permessage-deflate; client_max_window_bits=\($0)",
        ]
      })
  func declined(offer: String) {
    #expect(answer(offer) == nil)
    #expect(answer(offer, policy: Self.keeping) == nil)
    // The next one is tried.
    #expect(answer(offer + ", permessage-deflate") == Self.plain)
    #expect(answer(offer, "permessage-deflate") == Self.plain)
  }

  @Test("the first offer that can be accepted is chosen, over elements and fields")
  func order() {
    let first = "permessage-deflate; server_max_window_bits=10"
    let second = "permessage-deflate; server_max_window_bits=11"
    let chosen = Self.plain + "; server_max_window_bits=10"
    #expect(answer("\(first), \(second)") == chosen)
    #expect(answer(first, second) == chosen)
    #expect(answer("foo; a=b; c, , ,\(first),,", second) == chosen)
    #expect(answer(",", " ", "") == nil)
    #expect(answer() == nil)
  }

  @Test(
    "a malformed list is refused, before and after a valid offer (faults H21)",
    arguments: [
      "a; b=\"\\c\\c\\c", "a; b=\"", "a; b=\"\"", "a; b=\"c d\"", "a; b=", "a;", "a; =b", ";", "=",
      "a b", "a; b c", "a=b", "a; b=\"c\"d", "\"a\"", "a; \"b\"", "a@", "a; b=c=d", "a; b=\"c\\",
      "a; b='c d'",
    ])
  func malformed(list: String) {
    #expect(answer(list) == nil)
    #expect(answer("permessage-deflate, \(list)") == nil)
    #expect(answer(list, "permessage-deflate") == nil)
  }

  @Test("quoted values and escapes are read (RFC 6455 §9.1)")
  func quoted() {
    #expect(answer(#"a; b="c\d"; e, permessage-deflate"#) == Self.plain)
    #expect(answer(#"a;b="x""# + ",permessage-deflate") == Self.plain)
  }

  @Test(
    "the longest list that fits into a head is read in linear time (faults H21, H22)",
    arguments: [
      ("", "permessage-deflate; a,"), ("", ","), ("a; b=\"", "\\c"), ("", "x"), ("a", ";b"),
      ("permessage-deflate; ", "c"), ("a; b=", " "),
    ])
  func speed(start: String, repeated: String) {
    func cost(_ byteCount: Int) -> Duration {
      let text = start + String(repeating: repeated, count: byteCount / repeated.utf8.count)
      return (0..<5).map { _ in
        ContinuousClock().measure { #expect(answer(text) == nil) }
      }.min() ?? .zero
    }
    // Eight times the text: 8 times the time, where a quadratic reader takes 64, in every round.
    let isLinear = (0..<10).contains { _ in cost(15_000) < cost(15_000 / 8) * 30 }
    #expect(isLinear)
  }

  @Test("the 101 names the agreed extension, and none without a policy or an agreement")
  func upgrade() throws {
    func response(_ field: String, _ policy: DeflatePolicy?) throws -> (String, DeflateAgreement?) {
      let head = try RequestHead.parse(
        """
        GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r
        Sec-WebSocket-Extensions: foo\r\nSec-WebSocket-Extensions: \(field)\r\n\r\n
        """)
      guard
        case .accept(let response, let agreement) = Upgrade.evaluate(
          head, subprotocol: "chirrup.v1", deflate: policy)
      else { return ("", nil) }
      return (String(decoding: response, as: UTF8.self), agreement)
    }
    let (text, agreement) = try response(
      "permessage-deflate; server_max_window_bits=10", DeflatePolicy())
    #expect(
      text.contains(
        "\r\nSec-WebSocket-Extensions: \(Self.plain); server_max_window_bits=10\r\n\r\n"))
    #expect(agreement?.serverWindowBits == 10 && agreement?.serverForgets == true)
    #expect(try !response("permessage-deflate", nil).0.contains("Extensions"))
    #expect(try !response("permessage-bzip2", DeflatePolicy()).0.contains("Extensions"))
  }
}

@Suite struct DeflateAnswerTests {
  @Test("a client reads the server's answer")
  func readBack() {
    for policy in [DeflatePolicy(), DeflatePolicy(allowsContext: true, contextWindowBits: 11)] {
      for offer in [
        "permessage-deflate", "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_max_window_bits=9; client_no_context_takeover",
      ] {
        let agreement = policy.agree(on: [offer])
        #expect(agreement != nil)
        #expect(DeflateAgreement(answer: agreement?.fieldValue ?? "") == agreement)
      }
    }
  }

  @Test(
    "an invalid answer is refused",
    arguments: [
      "", "foo", "permessage-deflate, foo", "foo, permessage-deflate",
      "permessage-deflate, permessage-deflate", "permessage-deflate; client_max_window_bits",
      "permessage-deflate; server_max_window_bits", "permessage-deflate; x", "permessage-deflate;",
      "permessage-deflate; server_max_window_bits=16",
    ])
  func refused(answer: String) {
    #expect(DeflateAgreement(answer: answer) == nil)
  }

  @Test("a client accepts the answer if it made the offer, and fails the connection otherwise")
  func request() throws {
    var request = UpgradeRequest(host: "a", target: "/", random: (1, 2))
    func judge(_ extensions: String) throws -> UpgradeRequest.Answer {
      let text =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(Upgrade.acceptValue(forKey: request.key))\r\n"
        + "Sec-WebSocket-Extensions: \(extensions)\r\n\r\n"
      return request.judge(
        try Array(text.utf8).withRawSpan { (span) throws(HeadFault) in
          try ResponseHead.parse(span)
        })
    }
    #expect(try judge("permessage-deflate") == .invalid("extension that was not offered"))
    request.offersDeflate = true
    #expect(try judge("permessage-deflate") == .accepted(subprotocol: nil))
    #expect(try judge("foo") == .invalid("permessage-deflate that cannot be accepted"))
    var bytes: [UInt8] = []
    request.append(to: &bytes)
    #expect(
      String(decoding: bytes, as: UTF8.self).contains(
        "\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"))
  }
}

extension RequestHead {
  fileprivate static func parse(_ text: String) throws -> RequestHead {
    try Array(text.utf8).withRawSpan { (span) throws(HeadFault) in try parse(span) }
  }
}
