import Fixtures
import Kernel
import Postgres
import Primitives
import Testing

@testable import Gateway

/// All gateways of a database share one queue.
@Suite("Operators of several gateways on one queue", .serialized)
struct NodesRaceTests {
  private static let capacity: Int64 = 3

  /// A request in progress.
  private struct Asked {
    var client: RawClient
    var what: String

    init(_ path: String, _ token: String, on gateway: RunningGateway) throws {
      client = try RawClient(port: gateway.port)
      what = path
      try client.send(
        "POST /api/v1/admin/live-chat/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
          + "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
          + "Content-Length: 2\r\nConnection: close\r\n\r\n{}")
    }

    func answer() throws -> (status: String, text: String) {
      let text = try client.readToEnd()
      return (String(text.dropFirst("HTTP/1.1 ".count).prefix(3)), text)
    }
  }

  /// The waiting conversations, in queue order.
  private func line(_ nodes: Nodes, _ count: Int) throws -> [Identifier] {
    try (0..<count).map { place in
      let session = try nodes.here.visitor().session
      try nodes.here.run(
        Query(
          """
          UPDATE chat_sessions SET waiting_since = now() - make_interval(secs => $3::bigint)
          WHERE workspace_id = $1 AND id = $2
          """, [.uuid(nodes.here.workspace), .uuid(session), .int(Int64(1_000 - place))]))
      return session
    }
  }

  @Test("next, claims and assignment race: each conversation has one owner, oldest first")
  func race() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    try nodes.set(#"{"assign":"least_busy","capacity":3}"#)
    let waiting = try line(nodes, 40)
    let agents = try (0..<4).map { _ in try nodes.here.operatorAndToken() }
    let given = try (0..<2).map { _ in try nodes.here.operatorAndToken() }

    var asked: [Asked] = []
    var consoles: [SocketClient] = []
    for turn in 0..<20 {
      let gateway = turn % 2 == 0 ? nodes.here : nodes.there
      asked.append(try Asked("next", agents[turn % agents.count].token, on: gateway))
      // Two claims for each of the last conversations, one per gateway. The other requests do not
      // reach these conversations.
      if turn < 6 {
        asked.append(
          try Asked(
            "conversations/\(waiting[39 - turn / 2])/claim", agents[turn % agents.count].token,
            on: gateway))
      }
      // Consoles open on both gateways during the race.
      if turn == 8 || turn == 9 {
        let console = try SocketClient(port: gateway.port)
        try console.say(
          #"{"type":"hello","ref":1,"token":"\#(given[turn - 8].token)"}"# + "\n"
            + #"{"type":"watch","ref":2,"inbox":true}"#)
        consoles.append(console)
      }
    }
    let answers = try asked.map { (what: $0.what, try $0.answer()) }
    for (what, answer) in answers {
      #expect(["200", "409"].contains(answer.status), "\(what): \(answer.text)")
    }
    // Each available operator is assigned conversations up to the capacity.
    let connection = try BlockingConnection(nodes.url)
    let full = Self.capacity * Int64(agents.count + given.count)
    try await eventually("all operators are at their capacity") {
      try connection.number("SELECT count(*) FROM chat_sessions WHERE status = 'active'") >= full
    }
    withExtendedLifetime(consoles) {}

    let workspace = Parameter.uuid(nodes.here.workspace)
    let loads = try connection.run(
      Query(
        """
        SELECT count(*) FROM chat_sessions WHERE workspace_id = $1 AND status = 'active'
        GROUP BY assigned_operator_id
        """, [workspace]))
    #expect((0..<loads.count).allSatisfy { loads.int($0, 0) == Self.capacity })
    #expect(loads.count == agents.count + given.count)

    // Each conversation was assigned once, to its current owner.
    let lines = try connection.run(
      Query(
        """
        SELECT s.id, c.payload -> 'operator' ->> 'id' = s.assigned_operator_id::text,
          s.last_seq = 1 AND c.seq = 1
        FROM chat_sessions s JOIN chats c ON c.workspace_id = $1 AND c.session_id = s.id
        WHERE s.workspace_id = $1 ORDER BY c.created_at
        """, [workspace]))
    let taken = (0..<lines.count).compactMap { lines.uuid($0, 0) }
    #expect(Set(taken).count == taken.count)
    #expect((0..<lines.count).allSatisfy { lines.bool($0, 1) == true && lines.bool($0, 2) == true })
    #expect(Int64(taken.count) == full)
    let applied = answers.count { $0.1.status == "200" }
    #expect(applied >= Int(Self.capacity) * agents.count)

    // The conversations from the front were assigned in queue order, without a gap.
    let fromFront = taken.filter { waiting.firstIndex(of: $0).map { $0 < 37 } ?? false }
    #expect(fromFront == Array(waiting.prefix(fromFront.count)))
  }
}
