import Fixtures
import Kernel
import Postgres
import Primitives
import Testing

@testable import Gateway

/// Each gateway shows the changes of the others: row R17 of the table of faults.
@Suite("Several gateways on one database", .serialized)
struct NodesTests {
  @Test(
    "an assignment on one gateway reaches the others: entries, state, positions, in order and once")
  func assignment() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    try nodes.set(#"{"assign":"least_busy","capacity":1}"#)
    let noa = try nodes.onlooker(on: nodes.there)
    // Visitors get positions while somebody is available, here with as much as they may have.
    let busy = try SocketClient(port: nodes.there.port)
    try busy.say(
      #"{"type":"hello","ref":1,"token":"\#(try nodes.here.operatorToken())"}"# + "\n"
        + #"{"type":"watch","ref":2,"inbox":true}"#)
    _ = try nodes.visitor(on: nodes.there).client.hear(#""assigned""#)
    let first = try nodes.visitor(on: nodes.there)
    let second = try nodes.visitor(on: nodes.there)
    _ = try first.client.hear(#""position":1"#)
    _ = try second.client.hear(#""position":2"#)
    try noa.say(#"{"type":"subscribe","ref":2,"session":"\#(first.session)","after":0}"#)
    _ = try noa.hear(#""live""#)

    let mika = try nodes.here.operatorAndToken()
    let clerk = try SocketClient(port: nodes.here.port)
    try clerk.say(
      #"{"type":"hello","ref":1,"token":"\#(mika.token)"}"# + "\n"
        + #"{"type":"watch","ref":2,"inbox":true}"#)
    for client in [first.client, noa] {
      _ = try client.hear(#""assigned""#)
      _ = try client.hear(#""type":"session""#)
    }
    _ = try first.client.hear(#""position":0"#)
    _ = try second.client.hear(#""position":1"#)
    _ = try noa.hear(#""status":"active""#)

    // One conversation on both gateways, with one participant on each.
    try clerk.say(#"{"type":"subscribe","ref":3,"session":"\#(first.session)","after":0}"#)
    _ = try clerk.hear(#""live""#)
    for round in 1...3 {
      try clerk.post("from here \(round)", to: first.session)
      _ = try first.client.hear("from here \(round)")
      try first.client.post("from there \(round)", to: first.session)
      _ = try clerk.hear("from there \(round)")
    }
    #expect(
      try nodes.here.post("conversations/\(first.session)/close", token: mika.token) == "200")
    for client in [first.client, noa, clerk] {
      _ = try client.hear("Mika closed the conversation")
      #expect(try client.seqs(first.session) == Array(1...9))
    }
    // Mika has capacity again and is assigned the next conversation.
    _ = try second.client.hear(#""assigned""#)
  }

  @Test("a gateway that has ended is not notified, while what it has stored is still looked for")
  func ended() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(database: database.url)
    defer { gateway.stop() }
    let peers = gateway.context.peers
    // Its row is renewed, so that it counts for the whole test.
    try gateway.run(
      Query(
        """
        INSERT INTO gateways (id, version, schema_revision, secret_keys, host, process_id,
          started_at, seen_at, stopped_at)
        VALUES ($1::uuid, '1', '1', '', 'h', 1, now(), now() + interval '1 hour', now())
        """, [.uuid(RunningGateway.makeID())]))
    var listener = QueryConnection(url: database.url, listen: "LISTEN chirrup")
    try await eventually("the listener listens") {
      listener.advance(now: SystemClock.now())
      return peers.exist && listener.isListening
    }
    #expect(!peers.isAnyRunning)
    func say(_ text: String) throws -> Identifier {
      let visitor = try gateway.visitor()
      let client = try SocketClient(port: gateway.port)
      try client.say(#"{"type":"hello","ref":1,"token":"\#(visitor.token)"}"#)
      try client.say(#"{"type":"subscribe","ref":2,"session":"\#(visitor.session)","after":0}"#)
      _ = try client.hear(#""live""#)
      try client.post(text, to: visitor.session)
      _ = try client.hear(text)
      return visitor.session
    }
    let unheard = try say("nobody needs to know")
    // Another one has come back.
    try gateway.run(Query("UPDATE gateways SET stopped_at = NULL WHERE stopped_at IS NOT NULL"))
    try await eventually("the other one is known") { peers.isAnyRunning }
    let heard = try say("everybody knows")
    var payloads = ""
    try await eventually("the message is announced") {
      listener.advance(now: SystemClock.now())
      while let payload = listener.takeNotification() { payloads += payload + "\n" }
      return payloads.contains("\(heard)")
    }
    #expect(!payloads.contains("\(unheard)"), "\(payloads)")
  }

  @Test("a claim, a transfer and a close over one gateway's REST API reach the other")
  func rest() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let visit = try nodes.visitor(on: nodes.there)
    let noa = try nodes.onlooker(on: nodes.there)
    let mika = try nodes.here.operatorAndToken()
    let conversation = "conversations/\(visit.session)"
    for (path, body, line) in [
      ("claim", "{}", "Mika joined"), ("transfer", #"{"to":null}"#, "returned the conversation"),
      ("close", "{}", "closed the conversation"), ("reopen", "{}", "reopened the conversation"),
    ] {
      #expect(try nodes.here.post("\(conversation)/\(path)", token: mika.token, body) == "200")
      _ = try visit.client.hear(line)
    }
    _ = try visit.client.hear(#""type":"session""#, count: 4)
    #expect(try visit.client.seqs(visit.session) == Array(1...5))
    // After rapid changes, the list shows the last state.
    _ = try noa.hear(#""last_seq":5"#)
  }

  /// Subscribes until it succeeds. A gateway that lags behind the client answers `unavailable`.
  private func follow(
    _ session: Identifier, after seq: Int, _ client: SocketClient
  ) async throws {
    for attempt in 0..<600 {
      try client.say(
        #"{"type":"subscribe","ref":"f\#(attempt)","session":"\#(session)","after":\#(seq)}"#)
      let answer = try client.hear(#""ref":"f\#(attempt)""#)
      if !answer.contains(where: { $0.contains(#""ref":"f\#(attempt)","code":"unavailable""#) }) {
        return
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("the gateway did not accept the subscription")
  }

  @Test("a client that changes gateways finds the messages that the first one acknowledged")
  func change() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let mika = try nodes.here.operatorToken()
    // Between rounds, neither gateway has a subscriber, and both keep the session in memory.
    let visit = try nodes.here.visitor()
    for round in 0..<10 {
      let gateway = round % 2 == 0 ? nodes.here : nodes.there
      let client = try SocketClient(port: gateway.port)
      try client.say(#"{"type":"hello","ref":1,"token":"\#(mika)"}"#)
      // The first reply has claimed the conversation, which adds a log entry.
      try await follow(visit.session, after: round == 0 ? 0 : round + 1, client)
      try client.post("round \(round)", to: visit.session)
      #expect(try client.hear("").contains { $0.contains("resync") } == false)
    }
    #expect(try nodes.here.stored(visit.session).map(\.seq) == Array(1...11))
  }

  @Test("a change without a notification is found by a check of the sequence numbers")
  func untold() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let visit = try nodes.visitor(on: nodes.there)
    // Another gateway commits, and its notification is lost.
    try nodes.here.run(
      Query(
        """
        WITH line AS (
          INSERT INTO chats (id, workspace_id, session_id, seq, role, content, content_hash)
          SELECT gen_random_uuid(), $1, $2, seq, 'operator', 'line ' || seq, sha256('x')
          FROM generate_series(2, 4) AS seq
        )
        UPDATE chat_sessions SET last_seq = 4 WHERE id = $2 AND workspace_id = $1
        """, [.uuid(nodes.here.workspace), .uuid(visit.session)]))
    _ = try visit.client.hear("line 4")
    #expect(try visit.client.seqs(visit.session) == [1, 2, 3, 4])
  }

  @Test("a message over one gateway's REST API reaches the other")
  func restMessage() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let visit = try nodes.visitor(on: nodes.there)
    let mika = try nodes.here.operatorToken()
    let conversation = "conversations/\(visit.session)"
    #expect(
      try nodes.here.post(
        "\(conversation)/messages", token: mika,
        #"{"id":"\#(RunningGateway.makeID())","body":"over REST"}"#) == "201")
    _ = try visit.client.hear("over REST")
    // The reply has also claimed the conversation.
    #expect(try visit.client.seqs(visit.session) == [1, 2, 3])
  }

  @Test("typing, viewing and a visitor's presence on one gateway are shown on the other")
  func presence() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let visit = try nodes.visitor(on: nodes.there)
    func colleague(on gateway: RunningGateway) throws -> SocketClient {
      let client = try SocketClient(port: gateway.port)
      try client.say(
        #"{"type":"hello","ref":1,"token":"\#(try nodes.here.operatorToken())"}"# + "\n"
          + #"{"type":"subscribe","ref":2,"session":"\#(visit.session)","after":0}"#)
      _ = try client.hear(#""live""#)
      try client.say(#"{"type":"viewing","session":"\#(visit.session)","active":true}"#)
      return client
    }
    let mika = try colleague(on: nodes.here)
    _ = try mika.hear(#""online":true"#)
    let ivo = try colleague(on: nodes.there)
    for client in [mika, ivo] { _ = try client.hear(#""viewing":true"#) }
    try visit.client.say(
      #"{"type":"typing","session":"\#(visit.session)","active":true,"preview":"a question"}"#)
    _ = try mika.hear("a question")
    try mika.say(#"{"type":"typing","session":"\#(visit.session)","active":true}"#)
    _ = try visit.client.hear(#""type":"typing""#)
    try ivo.say(#"{"type":"viewing","session":"\#(visit.session)","active":false}"#)
    _ = try mika.hear(#""viewing":false"#)
    try visit.client.say(#"{"type":"unsubscribe","ref":"u","session":"\#(visit.session)"}"#)
    _ = try mika.hear(#""online":false"#, count: 2)
  }

  @Test("an operator who is not available on one gateway gets no conversation of the other")
  func availability() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    try nodes.set(#"{"assign":"least_busy","capacity":5}"#)
    let mika = try nodes.here.operatorToken()
    let clerk = try SocketClient(port: nodes.here.port)
    try clerk.say(
      #"{"type":"hello","ref":1,"token":"\#(mika)"}"# + "\n"
        + #"{"type":"watch","ref":2,"inbox":true}"# + "\n"
        + #"{"type":"available","ref":"away","available":false}"#)
    _ = try clerk.hear(#""ref":"away""#)
    let visit = try nodes.visitor(on: nodes.there)
    try clerk.say(#"{"type":"available","ref":"back","available":true}"#)
    _ = try visit.client.hear(#""assigned""#)
    #expect(try visit.client.seqs(visit.session) == [1, 2])
  }
}
