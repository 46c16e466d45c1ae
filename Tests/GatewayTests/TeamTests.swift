import Fixtures
import Kernel
import Postgres
import Primitives
import Testing

@Suite("Teams on two gateways", .serialized)
struct TeamTests {
  /// A visitor on a gateway whose conversation has the team before its first message.
  private func visitor(
    of team: Identifier, _ nodes: Nodes, on gateway: RunningGateway
  ) throws -> (session: Identifier, client: SocketClient) {
    let visit = try nodes.here.visitor()
    try nodes.here.run(
      Query(
        "UPDATE chat_sessions SET team_id = $1::uuid, team_since = now() WHERE id = $2::uuid",
        [.uuid(team), .uuid(visit.session)]))
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    _ = try client.hear(#""live""#)
    try client.post("hello", to: visit.session)
    return (visit.session, client)
  }

  /// An operator with an open inbox.
  private func clerk(
    _ nodes: Nodes, on gateway: RunningGateway
  ) throws -> (id: Identifier, token: String, client: SocketClient) {
    let login = try nodes.here.operatorAndToken()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(login.token)"}"# + "\n"
        + #"{"type":"watch","ref":"w","inbox":true}"#)
    _ = try client.hear(#""ref":"w""#)
    return (login.id, login.token, client)
  }

  private func members(
    _ ids: [Identifier], of team: Identifier, _ gateway: RunningGateway, token: String
  ) throws -> String {
    let list = ids.map { #""\#($0)""# }.joined(separator: ",")
    let body = #"{"members":[\#(list)]}"#
    let client = try RawClient(port: gateway.port)
    try client.send(
      "PUT /api/v1/admin/teams/\(team)/members HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    return String(try client.readToEnd().dropFirst("HTTP/1.1 ".count).prefix(3))
  }

  private func holders(_ nodes: Nodes) throws -> [Identifier: Int64] {
    let rows = try nodes.here.ask(
      Query(
        """
        SELECT assigned_operator_id, count(*) FROM chat_sessions
        WHERE workspace_id = $1::uuid AND status = 'active' GROUP BY 1
        """, [.uuid(nodes.here.workspace)]))
    return (0..<rows.count).reduce(into: [:]) { found, row in
      if let id = rows.uuid(row, 0) { found[id] = rows.int(row, 1) }
    }
  }

  @Test func `members who join get the conversations that wait on both gateways, each once`()
    async throws
  {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let team = RunningGateway.makeID()
    try nodes.here.run(
      Query(
        """
        INSERT INTO chat_teams (workspace_id, id, name, assign, capacity)
        VALUES ($1::uuid, $2::uuid, 'Billing', 'least_busy', 3)
        """, [.uuid(nodes.here.workspace), .uuid(team)]))
    let outside = try clerk(nodes, on: nodes.there)
    let first = try clerk(nodes, on: nodes.here)
    let second = try clerk(nodes, on: nodes.there)
    var visitors: [(session: Identifier, client: SocketClient)] = []
    for number in 0..<6 {
      visitors.append(
        try visitor(of: team, nodes, on: number % 2 == 0 ? nodes.here : nodes.there))
    }
    // The team has no member: an operator who asks for the next one gets none either.
    #expect(try nodes.there.post("next", token: outside.token) == "404")
    #expect(try holders(nodes).isEmpty)
    for visitor in visitors {
      let heard = try visitor.client.hear("")
      #expect(!heard.contains { $0.contains(#""type":"queue""#) })
    }

    #expect(try members([first.id], of: team, nodes.here, token: first.token) == "200")
    try await eventually("the first member has as many as the team allows") {
      (try? holders(nodes)) == [first.id: 3]
    }
    // The others have a position among those of the team.
    _ = try visitors[3].client.hear(#""position":1"#)
    _ = try visitors[5].client.hear(#""position":3"#)

    #expect(try members([second.id], of: team, nodes.there, token: second.token) == "200")
    try await eventually("the next member has the others") {
      (try? holders(nodes)) == [first.id: 3, second.id: 3]
    }
    for visitor in visitors {
      _ = try visitor.client.hear(#""assigned""#)
      #expect(try nodes.here.stored(visitor.session).map(\.seq) == [1, 2])
    }
    // Members have left, so what is closed makes no room for another one.
    #expect(
      try nodes.here.post("conversations/\(visitors[0].session)/close", token: first.token)
        == "200")
    #expect(try members([], of: team, nodes.here, token: first.token) == "200")
    let late = try visitor(of: team, nodes, on: nodes.there)
    #expect(try nodes.there.post("next", token: second.token) == "404")
    #expect(try nodes.here.stored(late.session).count == 1)
  }
}
