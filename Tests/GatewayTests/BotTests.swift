import Fixtures
import Kernel
import Postgres
import Primitives
import Testing

@testable import Gateway

@Suite("Bots, with sockets and PostgreSQL", .serialized)
struct BotTests {
  private func teach(_ gateway: RunningGateway) throws {
    try gateway.run(
      Query(
        """
        INSERT INTO intents (workspace_id, name, keyword, match_kind, replies) VALUES
          ($1, 'hours', 'open', 'contains', '[{"text":"From 9 to 5"},{"text":"Every day"}]')
        """, [.uuid(gateway.workspace)]))
  }

  private func join(_ gateway: RunningGateway, _ visit: (session: Identifier, token: String)) throws
    -> SocketClient
  {
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    _ = try client.hear(#""live""#)
    return client
  }

  private func post(_ body: String, _ client: SocketClient, _ session: Identifier) throws {
    try client.say(
      #"{"type":"send","ref":3,"session":"\#(session)","id":"\#(RunningGateway.makeID())","#
        + #""body":"\#(body)"}"#)
  }

  @Test("a bot answers a visitor's question over the socket, in order, and ignores other bots")
  func answers() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(loops: 2, database: database.url)
    defer { gateway.stop() }
    try teach(gateway)
    try await eventually("the gateway knows of bots") { gateway.hasBots }
    let visit = try gateway.visitor()
    let client = try join(gateway, visit)
    try post("When are you open?", client, visit.session)
    _ = try client.hear(#""body":"Every day""#)
    try post("open on Sunday?", client, visit.session)
    let heard = try client.hear(#""body":"Every day""#, count: 2)
    #expect(heard.contains { $0.contains(#""kind":"bot""#) })
    #expect(
      try gateway.stored(visit.session).map(\.body) == [
        "When are you open?", "From 9 to 5", "Every day", "open on Sunday?", "From 9 to 5",
        "Every day",
      ])
  }

  @Test("a bot answers a message that was committed before a crash")
  func afterCrash() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(database: database.url)
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    // The state after a crash of the gateway: stored, acknowledged and unanswered.
    try gateway.run(
      Query(
        """
        WITH line AS (
          INSERT INTO chats (id, workspace_id, session_id, seq, role, content, content_hash)
          VALUES (gen_random_uuid(), $1, $2, 1, 'visitor', 'open today?', sha256('x'))
        )
        UPDATE chat_sessions SET last_seq = 1, message_count = 1, last_message_role = 'visitor',
          last_message_at = now() - interval '5 seconds', waiting_since = now()
        WHERE id = $2
        """, [.uuid(gateway.workspace), .uuid(visit.session)]))
    try teach(gateway)
    // Any gateway of this process may answer.
    let expected = ["open today?", "From 9 to 5", "Every day"]
    try await eventually("the bot answers") {
      try gateway.stored(visit.session).map(\.body) == expected
    }
  }

  @Test("without a bot setup, the loops have no bots for the workspace")
  func quiet() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(database: database.url)
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let client = try join(gateway, visit)
    try post("When are you open?", client, visit.session)
    _ = try client.hear(#""ack""#)
    #expect(!gateway.hasBots)
  }
}

extension RunningGateway {
  var hasBots: Bool { context.maintenance.botJob.hasBots(workspace) }
}
