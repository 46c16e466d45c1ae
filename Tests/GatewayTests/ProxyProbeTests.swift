import Kernel
import Primitives
import Settings
import Testing

@testable import Gateway

@Suite struct ProxyProbeTests {
  private let start = Instant.zero.advanced(byMilliseconds: 1_000)

  @Test("a token admits a few requests, for a limited time")
  func uses() {
    let probe = ProxyProbe()
    let path = ProxyProbe.path + probe.issue(now: start)
    for _ in 0..<ProxyProbe.usesMax { #expect(probe.admits(path, now: start)) }
    #expect(!probe.admits(path, now: start))
    let late = ProxyProbe.path + probe.issue(now: start)
    let end = start.advanced(byMilliseconds: ProxyProbe.tokenMilliseconds)
    #expect(!probe.admits(late, now: end))
  }

  @Test("no other path is admitted, also without a token")
  func strangers() {
    let probe = ProxyProbe()
    #expect(!probe.admits(ProxyProbe.path, now: start))
    _ = probe.issue(now: start)
    for path in [ProxyProbe.path, ProxyProbe.path + "0", ProxyProbe.path + "/"] {
      #expect(!probe.admits(path, now: start))
    }
  }

  @Test("the number of tokens is bounded: a further one replaces the oldest")
  func bound() {
    let probe = ProxyProbe()
    let paths = (0...ProxyProbe.tokensMax).map { _ in ProxyProbe.path + probe.issue(now: start) }
    #expect(!probe.admits(paths[0], now: start))
    #expect(paths.dropFirst().allSatisfy { probe.admits($0, now: start) })
  }

  @Test("the answer shows how the request arrived, comes at once, and ends later")
  func answer() async throws {
    let gateway = try await RunningGateway { $0.adminIsPublic = true }
    defer { gateway.stop() }
    let issuer = try RawClient(port: gateway.port)
    try issuer.send("POST /probe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")
    let issued = try issuer.read(until: "}")
    let path = try #require(issued.firstMatch(of: /"path":"([^"]+)"/)).output.1
    let client = try RawClient(port: gateway.port)
    let begin = SystemClock.now()
    try client.send(
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n")
    let answer = try client.read(until: "}\n")
    #expect(answer.hasPrefix("HTTP/1.1 200 ") && !answer.contains("Content-Length"))
    #expect(answer.contains(#""peer_is_trusted":false,"client":"127.0.0.1""#))
    #expect(answer.contains(#""forwarded_for":"203.0.113.7""#))
    _ = try client.readToEnd()
    let milliseconds = SystemClock.now().milliseconds(since: begin)
    #expect(milliseconds >= ProxyProbe.heldMilliseconds)
    let stranger = try RawClient(port: gateway.port)
    try stranger.send("GET /probe/00000000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    #expect(try stranger.read(until: "}").hasPrefix("HTTP/1.1 404 "))
  }
}
