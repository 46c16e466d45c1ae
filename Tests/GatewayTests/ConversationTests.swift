import Kernel
import Primitives
import Settings
import Testing

/// The value of a number field of flat JSON.
private func number(_ name: String, _ json: String) -> Int64? {
  json.firstRange(of: "\"\(name)\":").flatMap { range in
    Int64(json[range.upperBound...].prefix { $0.isNumber })
  }
}

@Suite("Loops on threads, sockets and PostgreSQL", .serialized)
struct ConversationTests {
  @Test("visitors and operators on several loops receive every committed message once and in order")
  func severalLoops() async throws {
    let gateway = try await RunningGateway(loops: 3)
    defer { gateway.stop() }
    let visits = try (0..<6).map { _ in try gateway.visitor() }
    var visitors: [SocketClient] = []
    for visit in visits {
      let client = try SocketClient(port: gateway.port)
      try client.say(
        #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
          + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
      visitors.append(client)
    }
    let clerk = try SocketClient(port: gateway.port)
    try clerk.say(#"{"type":"hello","ref":1,"token":"\#(try gateway.operatorToken())"}"#)
    for visit in visits {
      try clerk.say(#"{"type":"subscribe","ref":2,"session":"\#(visit.session)","after":0}"#)
    }
    for client in visitors { _ = try client.hear(#""live""#) }
    _ = try clerk.hear(#""live""#, count: visits.count)

    let rounds = 5
    for round in 1...rounds {
      for (visit, client) in zip(visits, visitors) {
        try post("visitor \(round)", client, visit.session)
        try post("operator \(round)", clerk, visit.session)
      }
      // `in_flight` is a limit for the operator's one connection.
      _ = try clerk.hear(#""ack""#, count: round * visits.count)
    }
    for (visit, client) in zip(visits, visitors) {
      _ = try client.hear(#""ack""#, count: rounds)
      // The operator's first reply claims the conversation, which adds a log entry.
      let heard = try client.hear(#""message""#, count: 2 * rounds + 1)
      check(heard, visit.session)
      #expect(try gateway.stored(visit.session).map(\.seq) == Array(1...Int64(2 * rounds + 1)))
    }
    let heard = try clerk.hear(#""message""#, count: (2 * rounds + 1) * visits.count)
    for visit in visits { check(heard, visit.session) }
  }

  private func post(_ body: String, _ client: SocketClient, _ session: Identifier) throws {
    try client.say(
      #"{"type":"send","ref":3,"session":"\#(session)","id":"\#(RunningGateway.makeID())","#
        + #""body":"\#(body)"}"#)
  }

  /// A session's messages are numbered 1, 2, 3, … without gaps, duplicates or reordering.
  private func check(_ heard: [String], _ session: Identifier) {
    let seqs = heard.filter { $0.contains(#""message""#) && $0.contains("\(session)") }
      .compactMap { number("seq", $0) }
    #expect(seqs == Array(1...Int64(seqs.count)))
  }

  @Test("a slow subscriber receives its pages back to back, not one per sweep")
  func catchUp() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let count = 400
    // More than memory keeps of a session, in messages so long that a page holds few.
    try gateway.fill(visit.session, count: count)
    let client = try SocketClient(port: gateway.port)
    let begin = SystemClock.now()
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    check(try client.hear(#""message""#, count: count), visit.session)
    // A page holds 64 KiB, so there are about 100 pages. At two sweeps a second, one page per sweep
    // would take 35 to 50 seconds.
    #expect(SystemClock.now().milliseconds(since: begin) < 20_000)
  }

  @Test("a drain closes every connection and ends the loops")
  func drain() async throws {
    let gateway = try await RunningGateway(loops: 2)
    let visit = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
    _ = try client.hear(#""welcome""#)
    gateway.stop()
    #expect(throws: SocketClient.Failure.self) { try client.hear("never") }
    #expect(client.isClosed)
  }

  @Test("a gateway that drains refuses new clients at once, and still answers probes")
  func refusedInDrain() async throws {
    let gateway = try await RunningGateway(loops: 2) {
      $0.adminListen = [ListenAddress(host: "127.0.0.1", port: 0)]
    }
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
    _ = try client.hear(#""welcome""#)
    // The client stays until the end of the test.
    gateway.drain(milliseconds: 60_000)
    _ = try client.hear(#""drain""#)
    // The other loop may drain a moment later. A client that waits to be accepted at that moment is
    // reset, as the kernel does with all that wait for a socket that is closed.
    let deadline = SystemClock.now().advanced(byMilliseconds: 600_000)
    var refusal: Errno?
    while refusal == nil || refusal == .connectionReset, SystemClock.now() < deadline {
      do { _ = try RawClient(port: gateway.port) } catch let error as Errno { refusal = error }
    }
    #expect(refusal == .connectionRefused)
    // The loop without a client ends at once, and may take a probe with it.
    var answer = ""
    while answer.isEmpty, SystemClock.now() < deadline {
      let probe = try RawClient(port: gateway.adminPort)
      try probe.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      answer = try probe.readToEnd()
    }
    #expect(answer.contains(#""reason":"draining""#))
  }
}
