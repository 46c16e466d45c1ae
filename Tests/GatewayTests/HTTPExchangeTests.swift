import Primitives
import REST
import Testing
import Wire

@testable import Gateway

@Suite("One HTTP connection")
struct HTTPExchangeTests {
  private func feed(_ exchange: inout HTTPExchange, _ text: String) {
    Array(text.utf8).withRawSpan { exchange.receive($0, now: .zero) }
  }

  private func describe(_ step: HTTPExchange.Step) -> String {
    switch step {
    case .needMoreBytes: "more"
    case .request(let head, let body): "\(head.method) \(head.path) \(body.count)"
    case .expectsContinue: "continue"
    case .fault(let status, _): "\(status)"
    }
  }

  @Test("pipelined requests are parsed in order, for any split of the bytes")
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

  @Test("a body above 64 KiB is refused by its Content-Length, before it is read")
  func tooLarge() {
    var exchange = HTTPExchange(openedAt: .zero)
    feed(&exchange, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n")
    #expect(describe(exchange.next()) == "413")
  }

  @Test("100 Continue is sent once")
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

  @Test("the deadline belongs to a request, and its bytes do not extend it (faults H11)")
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

  @Test("on a kept-alive connection the next request has 10 s from its first byte")
  func nextRequest() {
    var exchange = HTTPExchange(openedAt: .zero)
    feed(&exchange, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(describe(exchange.next()) == "GET /a 0")
    exchange.output = [1, 2, 3]
    exchange.finish(now: .zero)
    exchange.sent(1, now: .zero)
    #expect(exchange.output == [2, 3])
    exchange.sent(2, now: .zero)
    #expect(exchange.deadline == Instant.zero.advanced(byMilliseconds: 60_000))
    let later = Instant.zero.advanced(byMilliseconds: 30_000)
    for byte in Array("GE".utf8) {
      [byte].withRawSpan { exchange.receive($0, now: later) }
    }
    #expect(exchange.deadline == Instant.zero.advanced(byMilliseconds: 40_000))
  }

  @Test("a protocol other than HTTP/1.1 is refused at its first line (faults H04)")
  func otherProtocols() {
    for (line, status) in [
      ("GET /\r\n", "400"), ("PRI * HTTP/2.0\r\n", "505"), ("GET / HTTP/1.1 \r\n", "400"),
      ("\u{16}\u{3}\u{1}", "400"), ("CONNECT a.test:443 HTTP/1.1\r\n", "400"),
    ] {
      var exchange = HTTPExchange(openedAt: .zero)
      feed(&exchange, line)
      #expect(describe(exchange.next()) == status, "\(line)")
    }
  }

  @Test("an unknown expectation is refused")
  func unknownExpectation() {
    var exchange = HTTPExchange(openedAt: .zero)
    feed(&exchange, "POST / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n")
    #expect(describe(exchange.next()) == "417")
  }

  @Test("a thousand pipelined requests are parsed in order, each with its own body")
  func thousand() {
    var exchange = HTTPExchange(openedAt: .zero)
    var text = ""
    for number in 0..<1_000 {
      let body = "GET /evil HTTP/1.1\r\n\r\n"
      text += "POST /\(number) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      text += body
    }
    feed(&exchange, text)
    for number in 0..<1_000 { #expect(describe(exchange.next()) == "POST /\(number) 22") }
    #expect(describe(exchange.next()) == "more")
    #expect(!exchange.hasInput)
  }
}

@Suite("HTTP responses")
struct HTTPResponseTests {
  private func text(_ response: APIResponse, isHead: Bool = false) -> String {
    var bytes: [UInt8] = []
    HTTPResponse.append(
      response, isHead: isHead, isKeptAlive: true, at: WallTime(microseconds: 0), to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a header value cannot begin a new header (faults H25)")
  func splitting() {
    let response = APIResponse(
      status: 302, headers: [("Location", "/x\r\nSet-Cookie: stolen=1")])
    #expect(!text(response).contains("\r\nSet-Cookie"))
  }

  @Test("HEAD, 204 and 304 have no body; every other response gives its length")
  func lengths() {
    let response = APIResponse(status: 200, body: Array("hello".utf8))
    #expect(text(response).hasSuffix("\r\n\r\nhello"))
    #expect(text(response, isHead: true).hasSuffix("\r\n\r\n"))
    #expect(text(response, isHead: true).contains("Content-Length: 5\r\n"))
    for status in [204, 304] {
      #expect(!text(APIResponse(status: status)).contains("Content-Length"))
    }
  }

  @Test("the JSON of a problem escapes its detail")
  func problem() {
    let body = HTTPResponse.problem(400, "a \"quote\" and\na line").body
    let json = String(decoding: body, as: UTF8.self)
    #expect(json.contains(#"a \"quote\" and\na line"#))
  }
}
