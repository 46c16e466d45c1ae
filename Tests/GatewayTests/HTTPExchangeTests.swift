import API
import Primitives
import Testing
import Wire

@testable import Gateway

@Suite("One HTTP connection")
struct HTTPExchangeTests {
  private func feed(_ exchange: inout HTTPExchange, _ text: String) {
    Array(text.utf8).withRawSpan { exchange.receive($0) }
  }

  private func describe(_ step: HTTPExchange.Step) -> String {
    switch step {
    case .needMoreBytes: "more"
    case .request(let head, let body): "\(head.method) \(head.path) \(body.count)"
    case .expectsContinue: "continue"
    case .fault(let status, _): "\(status)"
    }
  }

  @Test("requests are taken one behind the other, however the bytes are cut")
  func pipelined() {
    let text =
      "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
      + "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      + "GET /c HTTP/1.1\r\nHost: x\r\n\r\n"
    var exchange = HTTPExchange(openedAt: .zero)
    var seen: [String] = []
    for character in text {
      feed(&exchange, String(character))
      while case let step = exchange.next(), describe(step) != "more" {
        seen.append(describe(step))
      }
    }
    #expect(seen == ["GET /a 0", "POST /b 3", "GET /c 0"])
  }

  @Test("a body above 64 KiB is refused on its length, before it is read")
  func tooLarge() {
    var exchange = HTTPExchange(openedAt: .zero)
    feed(&exchange, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n")
    #expect(describe(exchange.next()) == "413")
  }

  @Test("100-continue is asked for once")
  func expectation() {
    var exchange = HTTPExchange(openedAt: .zero)
    feed(
      &exchange,
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(describe(exchange.next()) == "continue")
    #expect(describe(exchange.next()) == "more")
    feed(&exchange, "ok")
    #expect(describe(exchange.next()) == "POST / 2")
  }

  @Test("the deadline belongs to a request and is not moved by its bytes (faults H11)")
  func slowloris() {
    var exchange = HTTPExchange(openedAt: .zero)
    let deadline = exchange.deadline
    for character in "GET / HTTP/1.1\r\nHost:" {
      feed(&exchange, String(character))
      _ = exchange.next()
    }
    #expect(exchange.deadline == deadline)
    #expect(deadline == Instant.zero.advanced(byMilliseconds: 10_000))
  }
}

@Suite("HTTP answers")
struct HTTPResponseTests {
  private func text(_ response: APIResponse, isHead: Bool = false) -> String {
    var bytes: [UInt8] = []
    HTTPResponse.append(response, isHead: isHead, isKeptAlive: true, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a value cannot begin a new header (faults H25)")
  func splitting() {
    let response = APIResponse(
      status: 302, headers: [("Location", "/x\r\nSet-Cookie: stolen=1")])
    #expect(!text(response).contains("\r\nSet-Cookie"))
  }

  @Test("HEAD, 204 and 304 have no body; every other answer says its length")
  func lengths() {
    let response = APIResponse(status: 200, body: Array("hello".utf8))
    #expect(text(response).hasSuffix("\r\n\r\nhello"))
    #expect(text(response, isHead: true).hasSuffix("\r\n\r\n"))
    #expect(text(response, isHead: true).contains("Content-Length: 5\r\n"))
    for status in [204, 304] {
      #expect(!text(APIResponse(status: status)).contains("Content-Length"))
    }
  }

  @Test("a problem is valid JSON whatever its detail says")
  func problem() {
    let body = HTTPResponse.problem(400, "a \"quote\" and\na line").body
    let json = String(decoding: body, as: UTF8.self)
    #expect(json.contains(#"a \"quote\" and a line"#))
  }
}

@Suite("Origins (faults A02, A03)")
struct OriginsTests {
  let origins = Origins(allowed: ["https://good.com", "http://shop.test:8080"])

  @Test(
    "only exact origins pass, in any case",
    arguments: [
      ("https://good.com", true), ("HTTPS://GOOD.COM", true), ("http://good.com", false),
      ("https://good.com.evil.com", false), ("https://evilgood.com", false),
      ("https://good.com:444", false), ("null", false), ("", false),
      ("http://shop.test:8080", true), ("https://chat.test", true),
    ])
  func exact(_ pair: (String, Bool)) {
    #expect(origins.admits([pair.0], host: "chat.test") == pair.1)
  }

  @Test("two Origins never pass; none passes, since only browsers send it")
  func counts() {
    #expect(!origins.admits(["https://good.com", "https://good.com"], host: nil))
    #expect(origins.admits([], host: nil))
    #expect(Origins(allowed: ["*"]).admits(["https://anything.test"], host: nil))
  }
}
