import Directory
import Postgres
import Primitives
import Testing

@testable import Webhooks

/// The events that PostgreSQL's triggers write into the outbox.
@Suite struct OutboxTests {
  @Test("each kind of entry except notes is an event, with a name of WebhookEvent")
  func events() throws {
    let database = try OutboxDatabase("events")
    _ = try database.webhook()
    let session = try database.session()
    for event in [
      "claimed", "assigned", "unassigned", "transferred", "handover", "closed", "reopened",
      "rated", "something_else",
    ] {
      try database.line(session, kind: "event", event: event)
    }
    try database.line(session, kind: "note")
    try database.line(session)
    let found = try database.texts(
      "SELECT event FROM webhook_deliveries WHERE session_id IS NOT NULL ORDER BY seq")
    #expect(
      found == [
        "conversation.created", "conversation.claimed", "conversation.assigned",
        "conversation.unassigned", "conversation.transferred", "conversation.handover",
        "conversation.closed", "conversation.reopened", "rating.created", "message.created",
      ])
    try database.connection.execute(
      script: "INSERT INTO visitors (workspace_id, id) SELECT id, gen_random_uuid() FROM workspaces"
    )
    try database.connection.execute(
      script: """
        INSERT INTO visitors (workspace_id, id, name) SELECT id, gen_random_uuid(), 'Ada'
        FROM workspaces;
        UPDATE visitors v SET merged_into = o.id, merged_at = now() FROM visitors o
        WHERE v.name = '' AND o.name = 'Ada'
        """)
    let merged = try database.texts(
      """
      SELECT payload #>> '{visitor,name}' FROM webhook_deliveries WHERE event = 'visitor.merged'
        AND payload ->> 'merged' IN (SELECT id::text FROM visitors WHERE merged_into IS NOT NULL)
      """)
    #expect(!merged.isEmpty && Set(merged) == ["Ada"])
    for time in ["now()", "NULL"] {
      try database.connection.execute(script: "UPDATE chat_sessions SET deleted_at = \(time)")
    }
    let all = Set(try database.texts("SELECT event FROM webhook_deliveries"))
    #expect(all == Set(WebhookEvent.allCases.map(\.rawValue)))
    let message = try database.texts(
      """
      SELECT concat_ws(' ', payload #>> '{message,body}', payload #>> '{message,seq}',
        payload #>> '{message,sender,kind}', payload #>> '{conversation,visitor}')
      FROM webhook_deliveries WHERE event = 'message.created'
      """)
    #expect(message == ["hello 11 visitor \(database.visitor)"])
  }

  @Test("an event commits with its cause, for the webhooks that subscribe to it")
  func together() throws {
    let database = try OutboxDatabase("together")
    let all = try database.webhook()
    let some = try database.webhook("conversation.closed rating.created")
    let session = try database.session()
    try database.connection.execute(script: "BEGIN")
    try database.line(session)
    try database.connection.execute(script: "ROLLBACK")
    #expect(try database.number("SELECT count(*) FROM webhook_deliveries") == 1)
    try database.line(session)
    try database.line(session, kind: "event", event: "closed")
    let found = try database.texts(
      """
      SELECT webhook_id::text || ' ' || event FROM webhook_deliveries WHERE seq > 0
      ORDER BY seq, event, webhook_id::text = $1
      """, [.text("\(all)")])
    #expect(
      found == [
        "\(all) message.created", "\(some) conversation.closed", "\(all) conversation.closed",
      ])
  }

  @Test("without an enabled webhook the trigger of chats is off, and old messages are no events")
  func armed() throws {
    let database = try OutboxDatabase("armed")
    let state: StaticString = """
      SELECT tgenabled::text FROM pg_trigger WHERE tgname = 'chats_outbox'
      """
    #expect(try database.texts(state) == ["D"])
    let first = try database.webhook()
    #expect(try database.texts(state) == ["O"])
    let second = try database.webhook()
    let session = try database.session()
    try database.connection.execute(script: "SET chirrup.webhooks = 'off'")
    try database.line(session)
    try database.connection.execute(
      script: "RESET chirrup.webhooks; UPDATE webhooks SET failures = 1")
    try database.line(session)
    #expect(try database.number("SELECT count(*) FROM webhook_deliveries WHERE seq > 0") == 2)
    #expect(try database.number("SELECT min(seq) FROM webhook_deliveries WHERE seq > 0") == 2)
    try database.connection.run(
      Query("UPDATE webhooks SET is_enabled = false WHERE id = $1", [.uuid(first)]))
    #expect(try database.texts(state) == ["O"])
    try database.connection.run(Query("DELETE FROM webhooks WHERE id = $1", [.uuid(second)]))
    #expect(try database.texts(state) == ["D"])
    try database.line(session)
    #expect(try database.number("SELECT count(*) FROM webhook_deliveries WHERE seq > 2") == 0)
  }

  @Test("a role without access to webhooks can write messages")
  func otherRole() throws {
    let database = try OutboxDatabase("role")
    _ = try database.webhook()
    let session = try database.session()
    try database.connection.execute(
      script: """
        CREATE ROLE app_\(database.visitor.low) NOLOGIN BYPASSRLS;
        GRANT USAGE ON SCHEMA public TO app_\(database.visitor.low);
        GRANT SELECT, INSERT, UPDATE ON chats, chat_sessions TO app_\(database.visitor.low);
        SET ROLE app_\(database.visitor.low)
        """)
    try database.line(session)
    try database.connection.execute(script: "RESET ROLE")
    #expect(try database.number("SELECT count(*) FROM webhook_deliveries WHERE seq = 1") == 1)
  }
}
