import HTTPClient
import Kernel
import Primitives
import Testing

@Suite struct HTTPClientTests {
  /// The outcome of one POST, within 10 s.
  private func outcome(
    of url: String, admits: @escaping @Sendable (PeerAddress) -> Bool
  ) -> HTTPOutcome? {
    var client = HTTPClient(connectionsMax: 2, admits: admits)
    let post = HTTPRequest(
      url: url, headers: ["X-Test: 1"], body: Array("{}".utf8), milliseconds: 5_000)
    guard client.begin(post, ticket: 7) else { return nil }
    let limit = SystemClock.now().advanced(byMilliseconds: 10_000)
    while SystemClock.now() < limit {
      client.advance(milliseconds: 50)
      if let (ticket, outcome) = client.takeEnded() {
        #expect(ticket == 7 && client.count == 0)
        return outcome
      }
    }
    return nil
  }

  @Test(
    "the guard receives the resolved address, in any notation (X12)",
    arguments: [
      "http://127.0.0.1:9/", "http://localhost:9/", "http://2130706433:9/", "http://0x7f.1:9/",
      "http://017700000001:9/", "http://127.1:9/",
    ])
  func refusal(url: String) {
    // localhost may resolve to ::1 first.
    let refused = outcome(of: url) { _ in false }
    #expect(
      refused == .refused(.loopback) || refused == .refused(IPAddress(high: 0, low: 1)), "\(url)")
  }

  @Test("an admitted address is connected to; here nothing listens")
  func nobody() {
    guard case .failed = outcome(of: "http://127.0.0.1:9/", admits: { $0.port == 9 }) else {
      Issue.record("a closed port answered")
      return
    }
  }

  /// Whoever repeats a request must know whether the server may have the first.
  @Test func itIsKnownWhetherARequestWasSent() throws {
    func wasSent(_ port: UInt16) -> Bool? {
      var client = HTTPClient(connectionsMax: 1) { _ in true }
      let post = HTTPRequest(
        url: "http://127.0.0.1:\(port)/", headers: [], body: Array("{}".utf8), milliseconds: 500)
      guard client.begin(post, ticket: 7) else { return nil }
      let limit = SystemClock.now().advanced(byMilliseconds: 10_000)
      while SystemClock.now() < limit {
        client.advance(milliseconds: 50)
        if let (_, outcome, wasSent) = client.takeSent() {
          guard case .failed = outcome else { return nil }
          return wasSent
        }
      }
      return nil
    }
    let silent = try Sockets.listen(on: .loopback, port: 0)
    #expect(wasSent(try silent.localPort()) == true)
    #expect(wasSent(9) == false)
  }

  @Test(
    "other protocols are refused",
    arguments: ["file:///etc/hostname", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "dict://x/"])
  func protocols(url: String) {
    guard case .failed = outcome(of: url, admits: { _ in true }) else {
      Issue.record("\(url) was requested")
      return
    }
  }

  @Test("releasing a client ends its requests")
  func leaving() {
    for _ in 0..<50 {
      var client = HTTPClient(connectionsMax: 2) { _ in true }
      let post = HTTPRequest(url: "http://127.0.0.1:9/", headers: [], body: [1], milliseconds: 100)
      let hasBegun = client.begin(post, ticket: 1)
      #expect(hasBegun)
      client.advance(milliseconds: 0)
    }
  }
}
