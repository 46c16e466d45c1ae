/// The access log: a line for each request, without tokens, and none while it is off.
import Kernel
import Logging
import Primitives
import REST
import Settings
import Testing

@testable import Gateway

@Suite("The access log", .serialized)
struct AccessLogTests {
  private static let token =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTlhYmZhMSJ9.c2lnbmF0dXJlLXRoYXQtaXMtc2VjcmV0"

  private func request(_ method: String, _ target: String, _ fields: String = "") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: probe 1\r\n"
      + "Content-Length: 0\r\n\(fields)\r\n"
  }

  /// The answer to one request, and its line once the log has `count` of them.
  private func line(
    _ gateway: RunningGateway, _ book: LogBook, _ text: String, count: Int
  ) async throws -> (answer: String, line: String) {
    let client = try RawClient(port: gateway.port)
    try client.send(text)
    let answer = try client.read(until: "\r\n\r\n")
    let lines = book.lines(with: "request ")
    try #require(lines.count == count, "the line precedes the answer: \(lines)")
    return (answer, lines[count - 1])
  }

  private func id(_ line: String) -> String {
    line.firstMatch(of: #/ request=([0-9a-f-]{36}) /#).map { String($0.1) } ?? "none"
  }

  @Test("a request is one line with its route, its bytes and the id of the answer, and no token")
  func requests() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(log: book) { $0.log.access = true }
    defer { gateway.stop() }
    let secret = AccessLogTests.token
    let health = try await line(
      gateway, book, request("GET", "/healthz?token=\(secret)&key=hunter2"), count: 1)
    #expect(health.line.contains(" method=GET path=/healthz request="))
    #expect(health.line.contains(" status=200 user_agent=probe 1"))
    #expect(health.line.contains(" address=127.0.0.1 "))
    #expect(health.line.firstMatch(of: #/ bytes_in=([1-9][0-9]*) bytes_out=[1-9][0-9]* /#) != nil)
    #expect(health.answer.contains("\r\nX-Request-Id: \(id(health.line))\r\n"))
    let route = try await line(
      gateway, book,
      request(
        "PUT", "/api/v1/admin/tags/\(secret)?a=\(secret)",
        "Authorization: Bearer \(secret)\r\nCookie: a=\(secret)\r\n"), count: 2)
    #expect(route.line.contains(" path=/api/v1/admin/tags/{name} "))
    #expect(route.line.contains(" route=/api/v1/admin/tags/{name} status=401 "))
    let session = RunningGateway.makeID()
    let withID = try await line(
      gateway, book, request("GET", "/api/v1/admin/connections/\(session)"), count: 3)
    #expect(withID.line.contains(" path=/api/v1/admin/connections/\(session) "))
    let unknown = try await line(
      gateway, book, request("GET", "/reset/\(secret)/\(session)/wp-login.php"), count: 4)
    #expect(unknown.line.contains(" path=/reset/…/\(session)/wp-login.php "))
    #expect(unknown.line.contains(" status=404 "))
    let lines = book.lines(with: "")
    #expect(!lines.contains { $0.contains("eyJ") || $0.contains("hunter2") }, "\(lines)")
  }

  @Test("what is no request, or one of 8 KiB, is one short line without its text")
  func hostile() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(log: book) { $0.log.access = true }
    defer { gateway.stop() }
    let garbage = try await line(gateway, book, "GET\t/\u{1}evil HTTP/1.1\r\n\r\n", count: 1)
    #expect(garbage.line.contains(" status=400"))
    #expect(!garbage.line.contains("path=") && !garbage.line.contains("method="))
    let long = String(repeating: "/a", count: 4_000)
    let deep = try await line(gateway, book, request("GET", long), count: 2)
    #expect(deep.line.contains(" status=404 "))
    #expect(deep.line.contains("a…"), "the path is cut")
    let tooLong = try await line(
      gateway, book, request("GET", "/" + String(repeating: "b", count: 9_000)), count: 3)
    #expect(tooLong.line.contains(" status=414"))
    let agent = String(repeating: "u", count: 4_000)
    let loud = try await line(
      gateway, book, "BREWBREWBREWBREWBREW /x%01 HTTP/1.1\r\nHost: a\r\n\r\n", count: 4)
    #expect(loud.line.contains(" status=400"))
    let method = try await line(
      gateway, book,
      "BREWBREWBREWBREWBREW / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: \(agent)\r\n\r\n",
      count: 5)
    #expect(method.line.contains(" method=BREWBREWBREWBREW… "))
    for line in book.lines(with: "request ") {
      #expect(line.utf8.count < 800, "\(line)")
      #expect(!line.utf8.contains { $0 < 0x20 }, "\(line)")
    }
  }

  @Test("paths: control characters, foreign scripts and long segments are left out")
  func paths() {
    let log = AccessLog(logger: Logger(label: "test"), assets: Assets(values: [:]))
    for (path, shown) in [
      ("/", "/"), ("*", "…"), ("/a\u{1}b/c", "/…/c"), ("/\u{202E}txt", "/…"),
      ("/1234567890123456", "/1234567890123456"), ("/12345678901234567", "/…"),
      ("/console", "/console"), ("/a b", "/…"), ("//x", "//x"),
      ("/019abfa1-0000-7000-8000-000000000001", "/019abfa1-0000-7000-8000-000000000001"),
    ] {
      #expect(log.path(path, nil) == shown)
    }
    #expect(log.path("/t/secret", "/t/{name}") == "/t/{name}")
    #expect(log.path("/t/a/b", "/t/{name}") == "/t/a/b", "a pattern of another path")
    let deep = log.path(String(repeating: "/abc", count: 2_048), nil)
    #expect(deep.utf8.count == AccessLog.pathBytesMax + AccessLog.omission.utf8.count)
  }

  @Test("an upgrade is one line with the id of the connection; its messages and its end are none")
  func upgrades() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(loops: 2, log: book) { $0.log.access = true }
    defer { gateway.stop() }
    do {
      let client = try SocketClient(port: gateway.port)
      try client.say("{}")
      _ = try client.hear("error")
    }
    let end = try await book.first(with: "connection ended")
    let name = try #require(end.firstMatch(of: #/ connection=([0-9a-f-]{36}) /#)).1
    let lines = book.lines(with: "request ")
    #expect(lines.count == 1)
    #expect(lines[0].contains(" connection=\(name) "))
    #expect(lines[0].contains(" method=GET path=/api/v1/ws ") && lines[0].contains(" status=101"))
  }

  @Test("a reload turns it on and off on every loop; while it is off, answers have no id")
  func reload() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(loops: 3, log: book)
    defer { gateway.stop() }
    /// The kernel distributes the connections over the loops.
    func ask() throws -> [String] {
      try (0..<12).map { _ in
        let client = try RawClient(port: gateway.port)
        try client.send(request("GET", "/healthz"))
        return try client.read(until: "ok\n")
      }
    }
    #expect(try ask().allSatisfy { !$0.contains("X-Request-Id") })
    #expect(book.lines(with: "request ").isEmpty)
    let on = await gateway.reload { $0.log.access = true }
    #expect(on.applied.map(\.setting) == ["log.access"] && on.waiting.isEmpty)
    #expect(try ask().allSatisfy { $0.contains("X-Request-Id") })
    #expect(book.lines(with: "request ").count == 12)
    await gateway.reload { $0.log.access = false }
    #expect(try ask().allSatisfy { !$0.contains("X-Request-Id") })
    #expect(book.lines(with: "request ").count == 12)
  }

  @Test("a client that left before the answer has no status; every field is documented")
  func fields() throws {
    let book = LogBook()
    AccessLog(logger: book.logger, assets: Assets(values: [:])).write(
      AccessEntry(
        nil, id: RunningGateway.makeID(), address: .loopback, byteCount: 1,
        began: SystemClock.now()), status: nil)
    let line = try #require(book.lines(with: "request ").first)
    #expect(line.contains(" bytes_in=1 bytes_out=0 ") && !line.contains("status="))
    #expect(
      try ConnectionJournalTests.documented("`request`")
        == AccessLog.Field.allCases.map(\.rawValue))
  }
}
