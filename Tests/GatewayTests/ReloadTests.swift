/// Settings that change while real loops serve real connections (issue 18.5).
import Kernel
import Postgres
import Primitives
import REST
import Settings
import Testing

@testable import Gateway

@Suite("Settings change without a stop", .serialized)
struct ReloadTests {
  private func names(_ changes: [ReloadReport.Change]) -> [String] { changes.map(\.setting) }

  private func isAdmitted(_ gateway: RunningGateway, from origin: String) -> Bool {
    (try? SocketClient(port: gateway.port, origin: origin)) != nil
  }

  @Test("allowed origins change on every loop; open connections stay; the report has each key once")
  func origins() async throws {
    let gateway = try await RunningGateway(loops: 3) { $0.allowedOrigins = ["https://one.test"] }
    defer { gateway.stop() }
    let early = try SocketClient(port: gateway.port, origin: "https://one.test")
    #expect(!isAdmitted(gateway, from: "https://two.test"))
    let report = await gateway.reload {
      $0.allowedOrigins = ["https://two.test"]
      $0.tls.hstsSeconds = 5
      $0.loops = 7
    }
    #expect(report.refusal == nil)
    #expect(names(report.applied).sorted() == ["allowed_origins", "tls.hsts_seconds"])
    #expect(names(report.waiting) == ["loops"])
    #expect(report.waiting.first?.before == "3" && report.waiting.first?.after == "7")
    // The kernel distributes the connections over the loops.
    for _ in 0..<24 {
      #expect(isAdmitted(gateway, from: "https://two.test"))
      #expect(!isAdmitted(gateway, from: "https://one.test"))
    }
    try early.say("{}")
    _ = try early.hear("error")
    let again = await gateway.reload()
    #expect(again.applied.isEmpty, "nothing has changed since")
    #expect(names(again.waiting) == ["loops"], "it still waits")
  }

  @Test("limits change in both directions, and count connections that were opened before")
  func limits() async throws {
    let gateway = try await RunningGateway(loops: 2) {
      $0.limits.exemptAddresses = []
      $0.limits.connectionsPerAddress = 0
      $0.limits.connections = 4
    }
    defer { gateway.stop() }
    func isAdmitted() -> RawClient? {
      guard let client = try? RawClient(port: gateway.port) else { return nil }
      let isSent: Void? = try? client.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      guard isSent != nil, (try? client.read(until: "\r\n\r\n")) != nil else { return nil }
      return client.text.hasPrefix("HTTP/1.1 200 ") ? client : nil
    }
    var open = (0..<3).compactMap { _ in isAdmitted() }
    #expect(open.count == 3)
    await gateway.reload { $0.limits.connectionsPerAddress = 3 }
    #expect(isAdmitted() == nil, "the three that are open count")
    await gateway.reload { $0.limits.connectionsPerAddress = 9 }
    await gateway.reload { $0.limits.connections = 6 }
    // A socket that was refused counts until the gateway sees its end.
    for _ in 0..<6_000 where open.count < 6 {
      if let client = isAdmitted() { open.append(client) }
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(open.count == 6 && isAdmitted() == nil)
    await gateway.reload { $0.limits.exemptAddresses = ["127.0.0.0/8"] }
    #expect(isAdmitted() == nil, "the whole limit is of all addresses")
  }

  @Test("trusted proxies change: X-Forwarded-For counts from then on")
  func proxies() async throws {
    let gateway = try await RunningGateway(loops: 2) { $0.limits.connectionsPerAddress = 1 }
    defer { gateway.stop() }
    func open() throws -> SocketClient { try SocketClient(port: gateway.port) }
    let first = try open()
    await gateway.reload { $0.trustedProxies = ["127.0.0.1"] }
    let request =
      "GET /api/v1/ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      + "X-Forwarded-For: 203.0.113.7\r\n\r\n"
    var answers: [RawClient] = []
    for _ in 0..<4 {
      let client = try RawClient(port: gateway.port)
      try client.send(request)
      try client.read(until: "\r\n\r\n")
      answers.append(client)
    }
    #expect(answers.count { $0.text.hasPrefix("HTTP/1.1 101 ") } == 1)
    #expect(answers.count { $0.text.hasPrefix("HTTP/1.1 429 ") } == 3)
    try first.say("{}")
    _ = try first.hear("error")
  }

  @Test("a quota changes for a connection that is open")
  func quotas() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    _ = try client.hear(#""live""#)
    func send(_ ref: Int, _ id: Identifier) throws {
      try client.say(
        #"{"type":"send","ref":\#(ref),"session":"\#(visit.session)","id":"\#(id)","body":"b"}"#)
    }
    try send(2, RunningGateway.makeID())
    _ = try client.hear(#""ack""#)
    await gateway.reload { $0.limits.sendsPerVisitor = 1 }
    let refused = RunningGateway.makeID()
    try send(3, refused)
    _ = try client.hear("rate_limited")
    await gateway.reload { $0.limits.sendsPerVisitor = 0 }
    try send(4, refused)
    _ = try client.hear(#""ack""#, count: 2)
  }

  @Test("a check changes nothing; neither do settings with a database that cannot be used")
  func refused() async throws {
    let gateway = try await RunningGateway(loops: 2) { $0.allowedOrigins = ["https://one.test"] }
    defer { gateway.stop() }
    let checked = await gateway.reload(isCheck: true) { $0.allowedOrigins = ["https://two.test"] }
    #expect(names(checked.applied) == ["allowed_origins"])
    #expect(!isAdmitted(gateway, from: "https://two.test"))
    let report = await gateway.reload {
      $0.databaseURL = "host=/nonexistent user=nobody password=swordfish dbname=none"
    }
    let refusal = try #require(report.refusal)
    #expect(refusal.contains("nothing was changed") && !refusal.contains("swordfish"))
    #expect(isAdmitted(gateway, from: "https://one.test"))
    #expect(!isAdmitted(gateway, from: "https://two.test"))
  }

  @Test("eight requests for a reload wait at most; when the gateway stops, none waits forever")
  func requests() async throws {
    let requests = try ReloadRequests()
    let answers = await withTaskGroup(of: ReloadReport?.self) { group in
      for _ in 0..<(ReloadRequests.waitingMax + 3) {
        group.addTask { await requests.reload(isCheck: true) }
      }
      // Those above the bound are refused at once; then the waiting ones are answered.
      var answers: [ReloadReport?] = []
      for _ in 0..<3 { answers.append(await group.next() ?? nil) }
      let taken = requests.take()
      #expect(taken.count == ReloadRequests.waitingMax && taken.allSatisfy(\.isCheck))
      for request in taken { request.continuation.resume(returning: ReloadReport()) }
      for await answer in group { answers.append(answer) }
      return answers
    }
    #expect(answers.count { $0 == nil } == 3)
    async let late = requests.reload(isCheck: false)
    requests.close()
    #expect(await late == nil)
    #expect(await requests.reload(isCheck: false) == nil)
  }

  @Test("another database URL replaces every connection, and no message is lost or doubled")
  func database() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let visits = try (0..<4).map { _ in try gateway.visitor() }
    let clients = try visits.map { visit in
      let client = try SocketClient(port: gateway.port)
      try client.say(
        #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
          + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
      return client
    }
    for client in clients { _ = try client.hear(#""live""#) }
    // As many as may be under way on one connection.
    let rounds = 16
    for round in 0..<rounds {
      for (visit, client) in zip(visits, clients) {
        try client.say(
          #"{"type":"send","ref":3,"session":"\#(visit.session)","#
            + #""id":"\#(RunningGateway.makeID())","body":"\#(round)"}"#)
      }
      if round % 5 == 3 {
        let report = await gateway.reload {
          $0.databaseURL =
            ($0.databaseURL ?? "").replacing(#/&application_name=\w+/#, with: "")
            + "&application_name=round_\(round)"
        }
        #expect(report.refusal == nil && names(report.applied) == ["database_url"])
        #expect(report.applied.first?.after == nil, "a URL is a secret")
      }
    }
    for (visit, client) in zip(visits, clients) {
      let texts = try client.hear(#""ack""#, count: rounds)
      #expect(!texts.contains { $0.contains(#""error""#) })
      #expect(try gateway.stored(visit.session).map(\.body) == (0..<rounds).map { "\($0)" })
    }
    // Two connections of each loop.
    while try gateway.databaseConnections(named: "round_13") < 4 {
      try await Task.sleep(for: .milliseconds(5))
    }
    while try gateway.databaseConnections(named: "round_8") > 0 {
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

extension RunningGateway {
  fileprivate func databaseConnections(named name: String) throws -> Int64 {
    let rows = try ask(
      Query(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = $1
        """, [.text(name)]))
    return rows.int(0, 0) ?? 0
  }
}
