/// HTTP over real sockets (tables H and N of the faults): the response to each request, and the
/// counters.
import Kernel
import Primitives
import Settings
import Testing

@testable import Gateway

private let handshake = """
  GET /api/v1/ws HTTP/1.1\r
  Host: 127.0.0.1\r
  Upgrade: websocket\r
  Connection: Upgrade\r
  Sec-WebSocket-Version: 13\r
  Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r

  """

private func get(_ path: String, _ fields: String = "", method: String = "GET") -> String {
  "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n"
}

@Suite("HTTP on real sockets", .serialized)
struct HTTPTests {
  @Test("each malformed or misplaced request gets its status and a problem document, then a close")
  func refusals() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    for (request, status) in [
      (handshake.replacing("GET", with: "POST") + "\r\n", 405),
      (handshake.replacing("GET", with: "BREW") + "\r\n", 405),
      (handshake.replacing("HTTP/1.1", with: "HTTP/1.0") + "\r\n", 400),
      ("GET /\r\n", 400), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
      (handshake.replacing("Version: 13", with: "Version: 8") + "\r\n", 426),
      (handshake.replacing("Host: 127.0.0.1\r\n", with: "") + "\r\n", 400),
      (handshake.replacing("127.0.0.1", with: "127.0.0.1 x") + "\r\n", 400),
      (handshake.replacing("127.0.0.1", with: "attacker.test") + "\r\n", 421),
      (handshake.replacing("Upgrade: websocket", with: "Upgrade: h2c") + "\r\n", 426),
      (handshake + "Content-Length: 5\r\n\r\nhello", 400),
      (handshake + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
      (get("/", "X: " + String(repeating: "a", count: 20_000) + "\r\n"), 431),
      ("GET /" + String(repeating: "a", count: 20_000), 414),
      (get("/", String(repeating: "A: b\r\n", count: 101)), 431),
      (get("/../etc/passwd"), 400), (get("/%2e%2e/etc/passwd"), 400), (get("/\\..\\x"), 404),
      (get("http://127.0.0.1/healthz"), 400), (get("//healthz"), 404), (get("/nothing"), 404),
      (get("/debug/echo"), 404),
      (get("/debug/echo", "Upgrade: websocket\r\nConnection: upgrade\r\n"), 404),
      (get("/healthz", "Upgrade: websocket\r\nConnection: upgrade\r\n"), 400),
      (
        get("/api/v1/auth/login", "Upgrade: websocket\r\nConnection: upgrade\r\n", method: "POST"),
        400
      ),
      (get("/healthz", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400),
      (get("/healthz", "Expect: tea\r\n"), 417), (get("/healthz", "A : b\r\n"), 400),
      (get("/healthz", method: "OPTIONS"), 405), (get("/widget.js", method: "POST"), 405),
      ("\u{16}\u{3}\u{1}\u{2}", 400),
    ] {
      let client = try RawClient(port: gateway.port)
      // After a fatal refusal, the gateway must not answer a second request.
      try client.send(request)
      let answer = try client.read(until: "}")
      #expect(
        answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(60)): \(answer.prefix(40))")
      #expect(
        answer.contains("Content-Type: application/problem+json\r\n"), "\(request.prefix(60))")
      #expect(answer.contains(#"{"type":"urn:chirrup:problem:"#), "\(request.prefix(60))")
      #expect(answer.contains("\r\nDate: "))
      #expect(!answer.contains("attacker"), "the response contains none of the peer's input")
    }
    let healthy = try RawClient(port: gateway.port)
    try healthy.send(get("/healthz"))
    try healthy.read(until: "ok\n")
  }

  @Test("405 and 426 have their required fields, once each")
  func obligations() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    for (request, fields) in [
      (handshake.replacing("GET", with: "POST") + "\r\n", ["Allow: GET"]),
      (
        handshake.replacing("13", with: "7") + "\r\n",
        ["Sec-WebSocket-Version: 13", "Upgrade: websocket"]
      ),
      (get("/api/v1/auth/login"), ["Allow: POST"]),
      (get("*", method: "OPTIONS"), ["Allow: GET, HEAD, POST, OPTIONS"]),
      (get("/healthz", method: "DELETE"), ["Allow: GET, HEAD"]),
      (
        get("/api/v1/widget/token", "Origin: https://shop.test\r\n", method: "OPTIONS"),
        [
          "Access-Control-Allow-Origin: https://shop.test", "Access-Control-Max-Age: 7200",
          "Vary: Origin", "Access-Control-Allow-Methods: POST",
        ]
      ),
    ] {
      let client = try RawClient(port: gateway.port)
      try client.send(request)
      let answer = try client.read(until: "\r\n\r\n")
      for field in fields { #expect(answer.contains("\r\n\(field)\r\n"), "\(answer)") }
      #expect(answer.ranges(of: "\r\nConnection: ").count == 1)
    }
  }

  @Test("1,000 requests on one connection get responses in order, pipelined or not (faults H26)")
  func keepAlive() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let client = try RawClient(port: gateway.port)
    for _ in 0..<500 {
      try client.send(get("/healthz"))
      try client.read(until: "ok\n")
      client.forget()
    }
    var text = ""
    for number in 0..<500 {
      text += number % 2 == 0 ? get("/healthz", method: "HEAD") : get("/api/v1/widget/config")
    }
    try client.send(text + get("/healthz", "Connection: close\r\n"))
    let statuses = try client.readToEnd().matches(of: #/HTTP/1\.1 (\d+) /#).map { $0.1 }
    #expect(statuses.count == 501)
    for (number, status) in statuses.enumerated() {
      #expect(status == (number % 2 == 0 ? "200" : "400"))
    }
  }

  @Test("a head is parsed in one segment with the first frame, and in single bytes (H01, H02, H13)")
  func segments() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let whole = try RawClient(port: gateway.port)
    // An unmasked ping: the bytes after the head are parsed as frames.
    try whole.send(Array((handshake + "\r\n").utf8) + [0x89, 0])
    _ = try whole.readToEnd()
    #expect(whole.text.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
    #expect(whole.heard.suffix(40).contains(0x88))
    let slow = try RawClient(port: gateway.port)
    try slow.descriptor.setNoDelay()
    let padding = "X-Pad: " + String(repeating: "a", count: 15_900) + "\r\n\r\n"
    for byte in Array((handshake + padding).utf8) { try slow.send([byte]) }
    try slow.read(until: "HTTP/1.1 101 ")
  }

  @Test("an asset has an entity tag, supports 304, and is revalidated after a minute")
  func assets() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let client = try RawClient(port: gateway.port)
    try client.send(get("/widget.js", method: "HEAD"))
    let head = try client.read(until: "\r\n\r\n")
    #expect(head.contains("\r\nCache-Control: public, max-age=60, must-revalidate\r\n"))
    let tag = try #require(head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") })
    client.forget()
    try client.send(get("/widget.js", "If-None-Match: \(tag.dropFirst(6))\r\n"))
    #expect(try client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 304 "))
  }
}
