/// The connections of all gateways of one database: listed, shown and disconnected at any of them.
import JSON
import Kernel
import Postgres
import Primitives
import REST
import Synchronization
import Testing

@testable import Gateway

@Suite("Connections of several gateways", .serialized)
struct PeerConnectionsTests {
  private let path = "/api/v1/admin/connections"

  private func ask(
    _ method: String, _ path: String, _ token: String, _ port: UInt16
  ) throws -> String {
    let client = try RawClient(port: port)
    try client.send(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
        + "Content-Length: 0\r\nConnection: close\r\n\r\n")
    return try client.readToEnd()
  }

  private func ids(_ field: String, in text: String) -> [String] {
    text.split(separator: "\"\(field)\":\"").dropFirst().map { String($0.prefix(36)) }
  }

  @Test("a list has the connections of both gateways; one gateway kicks a client of the other")
  func both() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let (first, second) = (
      try nodes.visitor(on: nodes.here), try nodes.visitor(on: nodes.there)
    )
    let mika = try nodes.here.operatorAndToken()
    let (here, there) = (nodes.here.context.peers.id, nodes.there.context.peers.id)
    let list = try ask("GET", path, mika.token, nodes.here.port)
    #expect(Set(ids("gateway", in: list)) == ["\(here)", "\(there)"])
    #expect(list.contains(#""silent_gateways":[]"#))
    // Both gateways give the same pages.
    let page = try ask("GET", path + "?limit=1", mika.token, nodes.there.port)
    #expect(ids("id", in: page) == [try #require(ids("id", in: list).max())])

    let found = try ask("GET", path + "?session=\(second.session)", mika.token, nodes.here.port)
    let id = try #require(ids("id", in: found).first)
    #expect(ids("gateway", in: found) == ["\(there)"])
    let shown = try ask("GET", "\(path)/\(id)", mika.token, nodes.here.port)
    #expect(shown.hasPrefix("HTTP/1.1 200") && shown.contains(#""state":"open""#))

    // The other gateway's own workspace sees nothing of it, at either gateway.
    let stranger = try nodes.there.operatorToken()
    for gateway in [nodes.here, nodes.there] {
      #expect(try ask("GET", path, stranger, gateway.port).contains(#""connections":[]"#))
      #expect(
        try ask("POST", "\(path)/\(id)/disconnect", stranger, gateway.port)
          .hasPrefix("HTTP/1.1 404"))
    }
    let kick = try ask("POST", "\(path)/\(id)/disconnect", mika.token, nodes.here.port)
    #expect(kick.hasPrefix("HTTP/1.1 204"), "\(kick)")
    #expect(try second.client.hearTheEnd() == 4003)
    try first.client.post("still here", to: first.session)
    let audit = try ask("GET", "/api/v1/admin/audit-log", mika.token, nodes.here.port)
    #expect(audit.contains("connection.disconnected") && audit.contains(id))
    var ended = ""
    for _ in 0..<3_000 where !ended.contains(#""closed_by":"kick""#) {
      ended = try ask("GET", "\(path)/\(id)", mika.token, nodes.here.port)
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(ended.contains(#""closed_by":"kick""#), "\(ended)")
    let again = try ask("POST", "\(path)/\(id)/disconnect", mika.token, nodes.here.port)
    #expect(again.hasPrefix("HTTP/1.1 409"))
  }

  @Test("a gateway that does not answer is named, and the others' connections are listed")
  func silent() async throws {
    let nodes = try await Nodes(loops: 1)
    defer { nodes.stop() }
    let visit = try nodes.visitor(on: nodes.there)
    let mika = try nodes.here.operatorAndToken()
    let silent = RunningGateway.makeID()
    // It counts as running for 15 s after `seen_at`, which here never comes.
    try nodes.here.run(
      Query(
        """
        INSERT INTO gateways
          (id, version, schema_revision, secret_keys, host, process_id, started_at, seen_at)
        VALUES ($1::uuid, '1', '1', '', 'nowhere', 1, now(), now() + interval '1 hour')
        """, [.uuid(silent)]))
    let list = try ask("GET", path, mika.token, nodes.here.port)
    #expect(list.contains(#""silent_gateways":["\#(silent)"]"#), "\(list)")
    #expect(list.contains("\(visit.session)"))
    // A kick at it is not confirmed.
    var record = ConnectionRecord(
      id: RunningGateway.makeID(), gateway: silent, loop: 0,
      openedAt: WallTime(microseconds: 0))
    record.address = "127.0.0.1"
    let isDone = await nodes.here.context.connections.disconnect(
      record, of: nil, reason: "a test")
    #expect(isDone == nil)
  }

  @Test("few questions wait, and few are answered at once")
  func bounds() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let connections = gateway.context.connections
    let questions = (0..<PeerConnections.askedMax).map { _ in connections.begin([.zero]) }
    #expect(questions.allSatisfy { $0 != nil } && connections.begin([.zero]) == nil)
    #expect((0..<PeerConnections.answeringMax).allSatisfy { _ in connections.beginAnswer() })
    #expect(!connections.beginAnswer())
  }

  @Test("an answer counts once for a gateway that was asked; the rows of one are limited")
  func answers() throws {
    let (one, other) = (RunningGateway.makeID(), RunningGateway.makeID())
    let asked = PeerConnections.Asked([one, other])
    let rows = (0..<5).map { record($0).json }
    asked.take(rows, isDone: nil, isLast: false, from: one, rowsMax: 7)
    asked.take(rows, isDone: nil, isLast: true, from: one, rowsMax: 7)
    asked.take(rows, isDone: nil, isLast: true, from: one, rowsMax: 7)
    asked.take(rows, isDone: true, isLast: true, from: RunningGateway.makeID(), rowsMax: 7)
    #expect(!asked.countdown.isOver)
    #expect(asked.state.withLock { $0.records[one]?.count } == 7)
    #expect(asked.state.withLock { $0.silent } == [other])
    #expect(asked.state.withLock { !$0.isDone })
    asked.take([], isDone: true, isLast: true, from: other, rowsMax: 7)
    #expect(asked.countdown.isOver && asked.state.withLock { $0.isDone })
  }

  // MARK: Messages

  private func record(_ number: Int) -> ConnectionRecord {
    var record = ConnectionRecord(
      id: Identifier(high: 1, low: UInt64(number)), gateway: Identifier(high: 2, low: 2),
      loop: 3, openedAt: WallTime(microseconds: 1_700_000_000_123_456))
    record.party = ConnectionRecord.Party(
      id: Identifier(high: 4, low: 4), isOperator: number.isMultiple(of: 2),
      workspace: Identifier(high: 5, low: 5))
    record.sessions = (0..<8).map { Identifier(high: 6, low: UInt64($0)) }
    record.sessionCount = 20
    record.address = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"
    record.milliseconds = 86_400_000
    record.slowMilliseconds = number.isMultiple(of: 3) ? 2_100 : nil
    record.traffic = ConnectionRecord.Traffic(
      bytesIn: 1 << 40, bytesOut: 1 << 40, messagesIn: 12, messagesOut: 41)
    if !number.isMultiple(of: 5) {
      record.end = ConnectionRecord.End(
        at: WallTime(microseconds: 1_700_000_086_123_456), code: 4003,
        reason: String(repeating: "\u{1}", count: 200), side: "kick")
    }
    return record
  }

  @Test("the longest records of a whole answer fit into its payloads, and none is lost")
  func payloads() throws {
    let seal = SignalSeal(signingSecret: Array(repeating: 9, count: 32))
    let (question, gateway) = (Identifier(high: 7, low: 7), Identifier(high: 8, low: 8))
    let rows = (0..<ConnectionFilter.limitMax).map { record($0).json }
    let parts = PeerMessage.answers(to: question, rows)
    #expect(parts.count <= PeerMessage.payloadsMax)
    var heard: [JSONValue] = []
    for (number, part) in parts.enumerated() {
      let payload = seal.payload(part, as: gateway)
      #expect(payload.utf8.count < 8_000)
      let change = try #require(PeerNotifier.changes(in: payload, as: .zero).first)
      guard case .connections(let sealed, gateway) = change,
        case .answer(question, let rows, nil, let isLast)? = seal.message(
          in: sealed, from: gateway)
      else { throw RawClient.Failure(text: "not an answer: \(change)") }
      #expect(isLast == (number == parts.count - 1))
      #expect(seal.message(in: sealed, from: question) == nil, "of another gateway")
      heard += rows
    }
    #expect(heard == rows)
    for row in heard { #expect(ConnectionRecord(row)?.json == row) }
    #expect(PeerMessage.answers(to: question, []).count == 1, "no row is an answer too")
    let huge = JSONValue.string(String(repeating: "x", count: 4_000))
    #expect(
      PeerMessage.answers(to: question, Array(repeating: huge, count: 1_000)).count
        == PeerMessage.payloadsMax)
  }

  @Test("searches and kicks arrive as they were sent; a damaged search accepts nothing")
  func questions() throws {
    var filter = ConnectionFilter(workspace: Identifier(high: 1, low: 1), limit: 51)
    filter.session = Identifier(high: 1, low: 2)
    filter.address = "::1"
    filter.isEnded = false
    filter.before = Identifier(high: 1, low: 3)
    #expect(ConnectionFilter(filter.json)?.json == filter.json)
    var damaged = try #require(filter.json.object)
    damaged["workspace"] = .string("everyone")
    #expect(ConnectionFilter(.object(damaged)) == nil)
    damaged["workspace"] = nil
    #expect(ConnectionFilter(.object(damaged)) == nil)
    damaged["workspace"] = .null
    damaged["limit"] = .int(ConnectionFilter.limitMax + 1)
    #expect(ConnectionFilter(.object(damaged)) == nil)
    let kick = PeerMessage.question(
      id: .zero,
      .kick(
        connection: Identifier(high: 1, low: 4), workspace: nil, reason: "“why”",
        gateway: Identifier(high: 1, low: 5)))
    #expect(PeerMessage(kick.json) == kick)
    for text in ["{}", "[]", #"{"ask":"x"}"#, #"{"ask":"\#(Identifier.zero)","kick":1}"#] {
      #expect(PeerMessage(try #require(JSONValue(text))) == nil)
    }
  }
}
