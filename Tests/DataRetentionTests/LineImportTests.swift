import DataRetention
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The import of a LINE back end whose migration chain is broken
/// (Tests/Fixtures/legacy/broken_chain.sql).
@Suite struct LineImportTests {
  private let connection: BlockingConnection
  private let workspace: Identifier

  init() throws {
    let database = try EmptyDatabase(fixture: "broken_chain")
    connection = try BlockingConnection(database.url)
    _ = try Migrator(connection).repair()
    let rows = try connection.run(
      Query("INSERT INTO workspaces (name) VALUES ('line') RETURNING id"))
    workspace = rows.uuid(0, 0) ?? .zero
  }

  private func line() throws -> LineImport {
    try LineImport(StoredData(connection), workspace: workspace)
  }

  @Test func `repair completes the schema, and drops and renames nothing`() throws {
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
    #expect(
      try connection.texts("SELECT version_num::text FROM alembic_version") == ["b90dd01ef204"])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', id, name, keyword, match_kind, is_enabled) FROM intents ORDER BY id
        """) == ["1 hours เปิดกี่โมง contains t", "2 price price contains t"])
    #expect(try connection.number("SELECT count(*) FROM system_settings") == 2)
    #expect(try connection.texts("SELECT object_id::text FROM reply_objects") == ["flex_1"])
  }

  @Test func `a plan counts the rows to import and changes nothing`() throws {
    let plan = LineImport.Summary(
      visitors: 200, sessions: 180, messages: 5_000, friendEvents: 0, settings: 5)
    #expect(try line().plan() == plan)
    #expect(try connection.number("SELECT count(*) FROM visitors") == 0)
    #expect(try line().run() == plan)
    #expect(try line().plan() == LineImport.Summary())
  }

  @Test func `messages keep their order, author, name and stickers`() throws {
    var progress: [MoveProgress] = []
    _ = try line().run { progress.append($0) }
    #expect(progress.map(\.rowsDone).last == 5_000)
    #expect(progress.count == 4)
    #expect(
      try connection.number(
        """
        SELECT count(*) FROM (
          SELECT m.id, c.seq, row_number() OVER (PARTITION BY m.line_user_id
              ORDER BY m.created_at, m.id) AS n, m.content IS NOT DISTINCT FROM c.content AS same,
            m.message_type, m.created_at = c.created_at AS at, c.operator_name IS NOT DISTINCT FROM
              m.operator_name AS name, c.role, m.sender_role
          FROM messages m JOIN visitors v ON v.external_id = m.line_user_id
          JOIN chat_sessions s ON s.user_id = v.id
          JOIN chats c ON c.session_id = s.id AND c.created_at = m.created_at) AS t
        WHERE seq = n AND at AND name AND (same OR message_type = 'sticker')
          AND role = CASE sender_role WHEN 'USER' THEN 'visitor' WHEN 'BOT' THEN 'bot'
            ELSE 'operator' END
        """) == 5_000)
    #expect(
      try connection.texts(
        """
        SELECT DISTINCT concat_ws(' ', kind, content, payload ->> 'type', payload ->> 'packageId')
        FROM chats WHERE payload IS NOT NULL
        """) == ["card [sticker] sticker 1"])
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
    #expect(
      try connection.number("SELECT count(*) FROM audit_log WHERE action = 'line.imported'") == 1)
  }

  @Test func `another run imports the new messages, at the end, with the same ids`() throws {
    _ = try line().run()
    let ids = try connection.texts("SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM chats")
    #expect(try line().run() == LineImport.Summary())
    try connection.execute(
      script: """
        INSERT INTO messages (line_user_id, direction, message_type, content, created_at) VALUES
          ('U' || md5('7'), 'INCOMING', 'text', 'late', '2025-01-01'),
          ('U' || md5('7'), 'INCOMING', 'unfollow', NULL, '2026-03-01'),
          ('U' || md5('199'), 'OUTGOING', 'follow', NULL, '2026-03-01');
        """)
    #expect(try line().run() == LineImport.Summary(messages: 1, friendEvents: 2))
    #expect(
      try connection.number(
        """
        SELECT count(*) FROM chats c JOIN chat_sessions s ON s.id = c.session_id
          AND c.seq = s.last_seq WHERE content = 'late'
        """) == 1)
    #expect(
      try connection.texts("SELECT event FROM friend_events ORDER BY event") == [
        "follow", "unfollow",
      ])
    // In another database the same messages get the same ids.
    try connection.execute(script: "DELETE FROM chats WHERE content = 'late'")
    #expect(
      try connection.texts("SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM chats") == ids)
  }

  @Test func `an erased visitor is not imported again`() throws {
    _ = try line().run()
    let rows = try connection.run(
      Query("SELECT user_id FROM chat_sessions WHERE user_id IS NOT NULL LIMIT 1"))
    let visitor = try #require(rows.uuid(0, 0))
    _ = try StoredData(connection).erase(visitor, workspace: workspace)
    #expect(try line().plan() == LineImport.Summary())
    #expect(try line().run() == LineImport.Summary())
    #expect(try connection.number("SELECT count(*) FROM visitors") == 199)
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
  }

  @Test func `odd rows are imported or counted, and none is lost in silence`() throws {
    let connection = try BlockingConnection(Shape("line_odd_rows").database().url)
    _ = try Migrator(connection).repair()
    let workspace = try #require(
      try connection.run(Query("INSERT INTO workspaces (name) VALUES ('line') RETURNING id"))
        .uuid(0, 0))
    let line = try LineImport(StoredData(connection), workspace: workspace)
    let odd = try line.oddRows()
    #expect(
      Set(odd.map { "\($0.count) \($0.table) \($0.reason)" }) == [
        "1 users without line_user_id: not imported",
        "2 messages of a user that is missing: imported, the visitor has no name",
        "1 messages of the unknown role \"ROBOT\": imported as the bot's, by their direction",
        "1 messages of the unknown type \"carousel\": imported as cards with the payload",
        "2 messages without a time: imported with the time of the message before it",
        "1 messages without a type: imported as a card with the payload",
        "1 messages without a type: imported as text",
        "2 messages without a user: not imported",
      ])
    var exported = 0
    try line.exportOddRows { _ in exported += 1 }
    #expect(exported == Int(odd.map(\.count).reduce(0, +)))

    let total = try connection.number("SELECT count(*) FROM messages")
    let plan = try line.plan()
    #expect(plan.messages + plan.friendEvents == total - 2)
    #expect(try line.run() == plan)
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', seq, role, kind, content, payload) FROM chats c
        JOIN visitors v ON v.id = (SELECT user_id FROM chat_sessions s WHERE s.id = c.session_id)
        WHERE v.external_id = 'Uodd' ORDER BY seq
        """) == [
          "1 visitor text hello",
          "2 operator text good day",
          #"3 visitor card [unknown] {"a": 1, "type": "unknown"}"#,
          "4 visitor text no type",
          #"5 bot card see {"n": 2, "type": "carousel"}"#,
          "6 bot text by a robot",
          "7 visitor text later",
          "8 visitor text no time",
        ])
    #expect(
      try connection.texts(
        "SELECT concat(external_id, ':', name) FROM visitors ORDER BY external_id") == [
          "Uabsent:", "Uodd:Odd",
        ])
    #expect(try line.plan() == LineImport.Summary())
    #expect(
      try line.oddRows().map(\.reason) == [
        "without line_user_id: not imported", "without a user: not imported",
      ])
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
  }

  @Test func `native enums are imported as text`() throws {
    let connection = try BlockingConnection(Shape("line_enums").database().url)
    _ = try Migrator(connection).repair()
    let workspace = try #require(
      try connection.run(Query("INSERT INTO workspaces (name) VALUES ('line') RETURNING id"))
        .uuid(0, 0))
    let line = try LineImport(StoredData(connection), workspace: workspace)
    #expect(try line.oddRows() == [])
    #expect(
      try line.run()
        == LineImport.Summary(
          visitors: 200, sessions: 180, messages: 5_000, friendEvents: 0, settings: 5))
    #expect(
      try connection.texts("SELECT concat(role, ' ', count(*)) FROM chats GROUP BY role ORDER BY 1")
        == ["bot 833", "operator 833", "visitor 3334"])
  }

  @Test func `the tables of a repaired back end are imported from the other schema`() throws {
    let database = try Shape("line_repaired").database()
    let old = try BlockingConnection(database.url)
    try old.execute(
      script: """
        ALTER TABLE friend_events ADD COLUMN created_at timestamptz;
        INSERT INTO friend_events (line_user_id, event_type, created_at) VALUES
          ('U' || md5('1'), 'FOLLOW', '2026-01-02'), ('U' || md5('2'), 'UNFOLLOW', NULL),
          ('U' || md5('3'), 'JOIN', NULL), ('Unobody', 'FOLLOW', NULL);
        INSERT INTO rich_menus (name, rich_menu_id) VALUES ('Main', 'richmenu-1');
        INSERT INTO credentials (name, provider, credentials) VALUES ('line', 'LINE', 'secret');
        INSERT INTO chat_analytics (date, total_sessions) VALUES ('2026-01-02', 3);
        INSERT INTO intents (name, keyword) VALUES ('hours', 'open?'), ('silent', NULL);
        """)
    let before = try database.dump()
    try old.execute(script: "CREATE SCHEMA chirrup")
    let connection = try BlockingConnection(
      database.url + "&options=-csearch_path%3Dchirrup,public")
    try Migrator(connection).up()
    let workspace = try #require(
      try connection.run(Query("INSERT INTO workspaces (name) VALUES ('line') RETURNING id"))
        .uuid(0, 0))
    let line = try LineImport(StoredData(connection), workspace: workspace)
    #expect(
      Set(try line.oddRows().map { "\($0.count) \($0.table) \($0.reason)" }) == [
        "3 chat_sessions of the status \"WAITING\": the messages of each user are one closed "
          + "conversation",
        "1 friend_events of the unknown event \"join\": not imported",
        "1 friend_events of a user that is missing: not imported",
        "1 friend_events without a time: imported with the time of the user",
        "1 intents twice with the same name: the oldest is imported",
        "1 intents without a keyword: not imported",
        "1 reply_objects of the unknown type \"flex\": imported as cards with the payload",
        "1 rich_menus imported as drafts without actions",
        "1 chat_analytics not imported: analytics are computed from the messages",
        "1 credentials not imported, and not written: they are secrets, enter them again",
      ])
    var exported = ""
    try line.exportOddRows { exported += $0 }
    #expect(!exported.contains("secret\""))

    let plan = try line.plan()
    #expect(
      plan
        == LineImport.Summary(
          visitors: 200, sessions: 180, messages: 5_000, friendEvents: 2, settings: 6))
    #expect(try line.run() == plan)
    #expect(try line.plan() == LineImport.Summary())
    #expect(
      try connection.texts(
        "SELECT concat_ws(' ', name, keyword, match_kind) FROM intents ORDER BY name") == [
          "hours เปิดกี่โมง contains", "price price contains",
        ])
    #expect(
      try connection.texts(
        "SELECT concat_ws(' ', object_id, object_type, payload) FROM reply_objects")
        == [#"flex_1 card {"type": "bubble"}"#])
    #expect(
      try connection.texts("SELECT concat_ws(' ', name, status) FROM rich_menus") == ["Main draft"])
    #expect(
      try connection.texts("SELECT event FROM friend_events ORDER BY created_at") == [
        "follow", "unfollow",
      ])
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])

    // Nothing of it is changed, and nothing of ours remains.
    try connection.execute(script: "DISCARD TEMP")
    try Migrator(connection).down(to: "none")
    try old.execute(script: "DROP SCHEMA chirrup")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }

  @Test func `a database without the tables is refused with a message`() throws {
    let other = try BlockingConnection(EmptyDatabase().url)
    try Migrator(other).up()
    #expect(throws: LineImport.NoLineTables.self) {
      try LineImport(StoredData(other), workspace: .zero)
    }
  }
}
