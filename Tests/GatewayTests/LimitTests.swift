/// Limits and proxies over real sockets: refusals before the upgrade and their responses. Other
/// clients are not affected.
import Kernel
import Primitives
import Settings
import Testing

@testable import Gateway

private func handshake(_ fields: String = "") -> String {
  """
  GET /api/v1/ws HTTP/1.1\r
  Host: 127.0.0.1\r
  Upgrade: websocket\r
  Connection: Upgrade\r
  Sec-WebSocket-Version: 13\r
  Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
  \(fields)\r

  """
}

@Suite("Limits and proxies on real sockets", .serialized)
struct LimitTests {
  private func answer(_ gateway: RunningGateway, _ request: String) throws -> RawClient {
    let client = try RawClient(port: gateway.port)
    try client.send(request)
    try client.read(until: "\r\n\r\n")
    return client
  }

  @Test("an address over its limit gets 429 with Retry-After, before the upgrade (faults H28)")
  func perAddress() async throws {
    let gateway = try await RunningGateway(loops: 2) {
      $0.limits.exemptAddresses = []
      $0.limits.connectionsPerAddress = 2
    }
    defer { gateway.stop() }
    let first = try answer(gateway, handshake())
    let second = try answer(gateway, handshake())
    for client in [first, second] { #expect(client.text.hasPrefix("HTTP/1.1 101 ")) }
    let third = try RawClient(port: gateway.port)
    let text = try third.readToEnd()
    #expect(text.hasPrefix("HTTP/1.1 429 "))
    #expect(text.contains("\r\nRetry-After: 5\r\n"))
  }

  @Test("an address over its connection rate gets 429 with the seconds to wait")
  func connects() async throws {
    let gateway = try await RunningGateway {
      $0.limits.exemptAddresses = []
      $0.limits.connectsPerAddress = 3
    }
    defer { gateway.stop() }
    for _ in 0..<3 {
      #expect(try answer(gateway, handshake()).text.hasPrefix("HTTP/1.1 101 "))
    }
    let text = try RawClient(port: gateway.port).readToEnd()
    #expect(text.hasPrefix("HTTP/1.1 429 "))
    // An immediate connection has to wait 20 s, a delayed one less.
    let seconds = try #require(text.firstMatch(of: #/\r\nRetry-After: (\d+)\r\n/#)?.1)
    #expect((1...20).contains(Int(seconds) ?? 0))
  }

  @Test("a full gateway returns 503 with Retry-After, and admits a client when another leaves")
  func full() async throws {
    let gateway = try await RunningGateway { $0.limits.connections = 1 }
    defer { gateway.stop() }
    var only: RawClient? = try answer(gateway, handshake())
    let refused = try RawClient(port: gateway.port).readToEnd()
    #expect(refused.hasPrefix("HTTP/1.1 503 "))
    #expect(refused.contains("\r\nRetry-After: "))
    _ = only
    only = nil
    while try !answer(gateway, handshake()).text.hasPrefix("HTTP/1.1 101 ") { continue }
  }

  @Test("the metrics of a full gateway can be read")
  func admin() async throws {
    let gateway = try await RunningGateway {
      $0.limits.connections = 1
      $0.adminListen = [ListenAddress(host: "127.0.0.1", port: 0)]
    }
    defer { gateway.stop() }
    let only = try answer(gateway, handshake())
    let refused = try RawClient(port: gateway.port).readToEnd()
    #expect(refused.hasPrefix("HTTP/1.1 503 "))
    for path in ["/metrics", "/readyz"] {
      let client = try RawClient(port: gateway.adminPort)
      try client.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      let response = try client.readToEnd()
      #expect(response.hasPrefix("HTTP/1.1 200 "), "\(path): \(response.prefix(2_000))")
    }
    #expect(only.text.hasPrefix("HTTP/1.1 101 "))
  }

  @Test("a forwarded address counts from a trusted proxy only (faults H27)")
  func forwarded() async throws {
    let gateway = try await RunningGateway {
      $0.trustedProxies = ["127.0.0.0/8"]
      $0.limits.connectionsPerAddress = 1
    }
    defer { gateway.stop() }
    let one = try answer(gateway, handshake("X-Forwarded-For: 203.0.113.7\r\n"))
    #expect(one.text.hasPrefix("HTTP/1.1 101 "))
    let twin = try answer(gateway, handshake("X-Forwarded-For: 203.0.113.7\r\n"))
    #expect(twin.text.hasPrefix("HTTP/1.1 429 "))
    #expect(twin.text.contains("\r\nRetry-After: 5\r\n"))
    let other = try answer(gateway, handshake("X-Forwarded-For: 203.0.113.8\r\n"))
    #expect(other.text.hasPrefix("HTTP/1.1 101 "))

    let distrustful = try await RunningGateway { $0.limits.connectionsPerAddress = 1 }
    defer { distrustful.stop() }
    for _ in 0..<2 {
      let forger = try answer(distrustful, handshake("X-Forwarded-For: 203.0.113.7\r\n"))
      #expect(forger.text.hasPrefix("HTTP/1.1 101 "))
    }
  }

  static let proxyHeader: [UInt8] =
    [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, 0x21, 0x11, 0, 15]
    + [203, 0, 113, 7, 10, 0, 0, 1, 4, 210, 0, 80] + [4, 0, 0]

  @Test("a PROXY header in any fragments names the client; without one there is no response")
  func proxyProtocol() async throws {
    let gateway = try await RunningGateway {
      $0.trustedProxies = ["127.0.0.1"]
      $0.proxyProtocol = true
      $0.limits.connectionsPerAddress = 1
    }
    defer { gateway.stop() }
    let whole = try RawClient(port: gateway.port)
    try whole.send(Self.proxyHeader + Array(handshake().utf8))
    try whole.read(until: "HTTP/1.1 101 ")
    let pieces = try RawClient(port: gateway.port)
    try pieces.descriptor.setNoDelay()
    for byte in Self.proxyHeader { try pieces.send([byte]) }
    #expect(
      try pieces.readToEnd().hasPrefix("HTTP/1.1 429 "),
      "the client's address has reached its limit")
    for garbage in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PROXY TCP4 1.1.1.1 2.2.2.2 3 4\r\n"] {
      let client = try RawClient(port: gateway.port)
      try client.send(garbage)
      #expect(try client.readToEnd().isEmpty)
    }
  }

  @Test(
    "a visitor over the limit receives an error and close 4103; other visitors are not affected")
  func perVisitor() async throws {
    let gateway = try await RunningGateway { $0.limits.connectionsPerVisitor = 1 }
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let first = try SocketClient(port: gateway.port)
    try first.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
    _ = try first.hear(#""welcome""#)
    let second = try SocketClient(port: gateway.port)
    try second.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
    _ = try second.hear("too many connections")
    #expect(try second.hearTheEnd() == 4103)
    let other = try SocketClient(port: gateway.port)
    try other.say(#"{"type":"hello","ref":1,"token":"\#(try gateway.visitor().token)"}"#)
    _ = try other.hear(#""welcome""#)
  }

  @Test("hellos over the rate of their address are closed with 4103")
  func hellos() async throws {
    let gateway = try await RunningGateway {
      $0.limits.exemptAddresses = []
      $0.limits.hellosPerAddress = 2
    }
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    for number in 1...3 {
      let client = try SocketClient(port: gateway.port)
      try client.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
      _ = try client.hear(number <= 2 ? #""welcome""# : "Too many hellos")
    }
  }
}
