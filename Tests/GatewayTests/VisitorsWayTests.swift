import Fixtures
import Kernel
import Postgres
import Primitives
import Testing

@testable import Gateway

/// What visitors see of operators, over two gateways: whether anybody is there, whether their own
/// operator is, and the end of a conversation that rests.
@Suite("The visitor's way on several gateways", .serialized)
struct VisitorsWayTests {
  /// A console with an open inbox.
  private func console(
    _ token: String, on gateway: RunningGateway
  ) throws -> SocketClient {
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(token)"}"# + "\n"
        + #"{"type":"watch","ref":"w","inbox":true}"#)
    _ = try client.hear(#""ref":"w""#)
    return client
  }

  @Test("no position outside business hours; with them, the one that is true then")
  func hours() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    func set(_ hours: String) throws {
      try nodes.here.run(
        Query(
          """
          INSERT INTO system_settings (workspace_id, key, value) VALUES ($1, 'hours', $2)
          ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value
          """, [.uuid(nodes.here.workspace), .text(hours)]))
    }
    try set(#"{"always":false,"days":[]}"#)
    let mika = try nodes.here.operatorAndToken()
    let desk = try console(mika.token, on: nodes.here)
    let first = try nodes.visitor(on: nodes.there)
    let second = try nodes.visitor(on: nodes.there)
    #expect(
      try nodes.here.post("conversations/\(first.session)/close", token: mika.token) == "200")
    _ = try first.client.hear(#""status":"closed""#)
    try set(#"{"always":true}"#)
    let heard = try second.client.hear(#""position":1"#)
    #expect(!heard.contains { $0.contains(#""position":2"#) })
    // Nobody takes conversations any more.
    try desk.say(#"{"type":"available","ref":"a","available":false}"#)
    _ = try second.client.hear(#""position":0"#)
  }

  @Test("a visitor on another gateway sees an operator leave and return, but no console reload")
  func away() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let mika = try nodes.here.operatorAndToken()
    var desk: SocketClient? = try console(mika.token, on: nodes.here)
    let visit = try nodes.visitor(on: nodes.there)
    #expect(
      try nodes.here.post("conversations/\(visit.session)/claim", token: mika.token) == "200")
    _ = try visit.client.hear(#""status":"active""#)
    // Not before each gateway has seen its operators for some seconds.
    try await eventually("absences are trusted") {
      try nodes.here.ask(
        Query(
          """
          SELECT count(*) FROM gateways WHERE started_at < now() - interval '12 seconds'
          """)
      ).int(0, 0) == 2
    }
    // A reload: the new console is there within seconds.
    desk = nil
    desk = try console(mika.token, on: nodes.there)
    desk = nil
    var heard = try visit.client.hear(#""online":false"#)
    #expect(heard.count { $0.contains(#""type":"presence""#) } == 1)
    #expect(heard.last { $0.contains(#""type":"presence""#) }?.contains("\(mika.id)") == true)
    // One who comes now learns it too.
    let late = try SocketClient(port: nodes.there.port)
    try late.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    _ = try late.hear(#""online":false"#)
    desk = try console(mika.token, on: nodes.here)
    #expect(desk != nil)
    heard = try visit.client.hear(#""online":true"#)
    #expect(heard.count { $0.contains(#""type":"presence""#) } == 2)
    _ = try late.hear(#""online":true"#)
  }

  @Test("a conversation that rests is closed once, on all gateways, and the next one is assigned")
  func resting() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    try nodes.set(#"{"assign":"least_busy","capacity":1,"close_after_minutes":30}"#)
    let mika = try nodes.here.operatorAndToken()
    let desk = try console(mika.token, on: nodes.here)
    let first = try nodes.visitor(on: nodes.there)
    _ = try first.client.hear(#""assigned""#)
    try desk.say(#"{"type":"subscribe","ref":2,"session":"\#(first.session)","after":0}"#)
    _ = try desk.hear(#""live""#)
    try desk.post("hi", to: first.session)
    let second = try nodes.visitor(on: nodes.here)
    _ = try second.client.hear(#""position":1"#)
    try nodes.here.run(
      Query(
        """
        WITH aged AS (
          UPDATE chats SET created_at = created_at - interval '31 minutes'
          WHERE session_id = $1 AND workspace_id = $2
        )
        UPDATE chat_sessions SET claimed_at = claimed_at - interval '31 minutes',
          last_message_at = last_message_at - interval '31 minutes'
        WHERE id = $1 AND workspace_id = $2
        """, [.uuid(first.session), .uuid(nodes.here.workspace)]))
    for client in [first.client, desk] {
      _ = try client.hear(#""rule": "resting""#)
    }
    _ = try first.client.hear(#""status":"closed""#)
    _ = try second.client.hear(#""assigned""#)
    let lines = try nodes.here.stored(first.session).filter { $0.body.contains("was closed") }
    #expect(lines.count == 1)
  }
}
