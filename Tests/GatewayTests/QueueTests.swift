import Chat
import Fixtures
import Kernel
import Postgres
import Primitives
import Testing

@Suite("The queue on loops, sockets and PostgreSQL", .serialized)
struct QueueTests {
  private func post(_ client: SocketClient, _ session: Identifier) throws {
    try client.say(
      #"{"type":"send","ref":3,"session":"\#(session)","id":"\#(RunningGateway.makeID())","#
        + #""body":"hello"}"#)
    _ = try client.hear(#""ack""#)
  }

  private func waits(
    _ gateway: RunningGateway
  ) throws -> (session: Identifier, client: SocketClient) {
    let visit = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    _ = try client.hear(#""live""#)
    try post(client, visit.session)
    return (visit.session, client)
  }

  private func set(_ gateway: RunningGateway, _ queue: String) throws {
    try gateway.run(
      Query(
        "INSERT INTO system_settings (workspace_id, key, value) VALUES ($1, 'queue', $2)",
        [.uuid(gateway.workspace), .text(queue)]))
  }

  // Each test has its own database. Otherwise the sweeps of other tests' gateways would assign the
  // waiting conversations, and their notifications reach only their own loops.
  @Test(
    "a waiting visitor receives a position; an operator with an open inbox is assigned in order")
  func assignment() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(loops: 2, database: database.url)
    defer { gateway.stop() }
    try set(gateway, #"{"assign":"least_busy","capacity":1}"#)
    let mika = try gateway.operatorAndToken()
    let clerk = try SocketClient(port: gateway.port)
    try clerk.say(
      #"{"type":"hello","ref":1,"token":"\#(mika.token)"}"# + "\n"
        + #"{"type":"watch","ref":2,"inbox":true}"#)
    let taken = try waits(gateway)
    _ = try taken.client.hear(#""assigned""#)
    let first = try waits(gateway)
    let second = try waits(gateway)
    _ = try first.client.hear(#""position":1"#)
    _ = try second.client.hear(#""position":2"#)

    // No request is needed: the conversation is assigned, its visitor receives the assignment, and
    // the next conversation moves up.
    #expect(
      try gateway.post("conversations/\(taken.session)/close", token: mika.token) == "200")
    _ = try first.client.hear(#""assigned""#)
    _ = try first.client.hear(#""status":"active""#)
    _ = try first.client.hear(#""position":0"#)
    _ = try second.client.hear(#""position":1"#)
    _ = try clerk.hear(#""status":"active""#, count: 2)

    // An unavailable operator is assigned nothing. Assignment resumes when they are available.
    try clerk.say(#"{"type":"available","ref":"a","available":false}"#)
    _ = try clerk.hear(#""ref":"a""#)
    try gateway.run(
      Query(
        "UPDATE chat_sessions SET status = 'closed' WHERE id = $1 AND workspace_id = $2",
        [.uuid(first.session), .uuid(gateway.workspace)]))
    try clerk.say(#"{"type":"available","ref":"b","available":true}"#)
    _ = try second.client.hear(#""assigned""#)
    #expect(try gateway.stored(first.session).map(\.seq) == [1, 2])
    #expect(try gateway.stored(second.session).map(\.seq) == [1, 2])
  }

  @Test("two operators in one conversation receive each other's events and the visitor's")
  func collision() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(loops: 3, database: database.url)
    defer { gateway.stop() }
    let visitor = try waits(gateway)
    var clerks: [SocketClient] = []
    for number in 1...2 {
      let clerk = try SocketClient(port: gateway.port)
      try clerk.say(
        #"{"type":"hello","ref":1,"token":"\#(try gateway.operatorToken())"}"# + "\n"
          + #"{"type":"subscribe","ref":2,"session":"\#(visitor.session)"}"# + "\n"
          + #"{"type":"viewing","session":"\#(visitor.session)","active":true}"#)
      _ = try clerk.hear(#""online":true"#)
      if number == 2 { _ = try clerk.hear(#""viewing":true"#) }
      clerks.append(clerk)
    }
    _ = try clerks[0].hear(#""viewing":true"#)
    try clerks[1].say(#"{"type":"unsubscribe","ref":3,"session":"\#(visitor.session)"}"#)
    _ = try clerks[0].hear(#""viewing":false"#)
    _ = try clerks[0].hear(#""type":"presence""#)
  }
}
