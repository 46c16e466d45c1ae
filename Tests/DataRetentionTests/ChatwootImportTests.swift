import DataRetention
import Directory
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The import of a Chatwoot account (Tests/Fixtures/legacy/chatwoot.sql).
@Suite struct ChatwootImportTests {
  private let source: EmptyDatabase
  private let chatwoot: BlockingConnection
  private let target: ImportTarget
  private var connection: BlockingConnection { target.connection }
  private var workspace: Identifier { target.workspace }

  init() throws {
    source = try EmptyDatabase(fixture: "chatwoot")
    chatwoot = try BlockingConnection(source.url)
    target = try ChatwootImportTests.makeTarget()
  }

  private static func makeTarget() throws -> ImportTarget {
    try ImportTarget(visitor: "customer-20")
  }

  private struct Stopped: Error {}

  private func importer(
    _ other: ImportTarget? = nil, since: WallTime? = nil, batch: Int = 50,
    isRun: Bool = true
  ) throws -> ConversationImport {
    try ConversationImport(
      (other ?? target).storedData, workspace: workspace,
      from: BlockingConnection(source.url), account: 7, since: since, batch: batch, isRun: isRun)
  }

  @discardableResult
  private func run(_ other: ImportTarget? = nil) throws -> ConversationImport.Summary {
    var chatwoot = try importer(other)
    return try chatwoot.run()
  }

  @Test func `a dry run counts what a run imports, and changes nothing`() throws {
    let before = try target.contents()
    var plan = try importer(isRun: false)
    let planned = try plan.run()
    #expect(try target.contents() == before)
    #expect(try connection.number("SELECT count(*) FROM tags") == 0)
    #expect(try connection.number("SELECT count(*) FROM audit_log") == 0)
    var real = try importer()
    #expect(try real.run() == planned)
    #expect(real.findings == plan.findings)
    #expect(planned.members == 2)
    #expect(planned.tags == 2)
    #expect(planned.cannedReplies == 2)
    #expect(planned.visitors == 249)
    #expect(planned.conversations == 300)
    #expect(planned.messages == 300 * 10 + 1_200 + 25)
    #expect(planned.ratings == 43)
    #expect(try importer(isRun: false).unchanged())
  }

  private static let figures: StaticString = """
    SELECT (to_jsonb(a) - 'computed_at')::text FROM chat_analytics a ORDER BY day, operator_id
    """

  @Test func `the imported data pass every check`() throws {
    try run()
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
    let figures = Self.figures
    let counted = try connection.texts(figures)
    #expect(counted.count > 10)
    #expect(try connection.number("SELECT count(*) FROM chat_analytics_pending") == 0)
    try connection.execute(
      script: """
        INSERT INTO chat_analytics_pending (workspace_id, session_id)
        SELECT workspace_id, id FROM chat_sessions WHERE message_count > 0;
        SELECT chirrup_count(1000, 0);
        """)
    #expect(try connection.texts(figures) == counted)
    #expect(
      try connection.number(
        "SELECT count(*) FROM audit_log WHERE action = 'chatwoot.imported'") == 1)
  }

  @Test func `messages keep order, author, time and kind`() throws {
    try run()
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', seq, role, kind, c.operator_name, (operator_id IS NOT NULL)::text,
          (c.user_id IS NOT NULL)::text, to_char(c.created_at AT TIME ZONE 'UTC', 'HH24:MI'))
        FROM chats c JOIN chat_sessions s ON s.id = c.session_id
        WHERE s.context -> 'chatwoot' ->> 'number' = '3' ORDER BY seq
        """) == [
          "1 visitor text false true 03:00", "2 visitor text false true 03:00",
          "3 operator text Omar Haddad true false 03:01", "4 visitor text false true 03:01",
          "5 operator note Gone Before false false 03:02", "6 system event false false 03:02",
          "7 bot text false false 03:03", "8 visitor text false true 03:03",
          "9 bot text false false 03:04", "10 visitor text false true 03:04",
        ])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', status, (assigned_operator_id IS NOT NULL)::text, operator_name,
          (closed_at IS NOT NULL)::text, (waiting_since IS NOT NULL)::text, last_seq,
          message_count, last_message_role, (first_response_at - created_at)::text, channel)
        FROM chat_sessions WHERE context -> 'chatwoot' ->> 'number' IN ('3', '4', '10', '18')
        ORDER BY (context -> 'chatwoot' ->> 'number')::int
        """) == [
          "closed false true false 10 8 visitor 00:01:00 email",
          "closed true Dana true false 10 8 visitor 00:01:00 web",
          "waiting false false true 10 8 visitor 00:01:00 web",
          "closed false Gone Before true false 10 8 visitor 00:01:00 web",
        ])
  }

  @Test func `awkward messages are imported as text, or counted`() throws {
    try connection.execute(
      script: "ALTER TABLE chats ADD CONSTRAINT given CHECK (content <> 'refused')")
    var chatwoot = try importer()
    _ = try chatwoot.run()
    let bodies = try connection.texts(
      """
      SELECT CASE WHEN length(content) > 1000 THEN left(content, 1) || octet_length(content)
        ELSE content END
      FROM chats c JOIN chat_sessions s ON s.id = c.session_id
      WHERE s.context -> 'chatwoot' ->> 'number' = '1' AND seq > 10 ORDER BY seq
      """)
    #expect(
      bodies == [
        "[image: receipt.png, 48210 bytes]\n[location: Office, 51.5, 3.25, https://maps.example/1]",
        "é16384", "é16384", "é7232",
      ] + [String](repeating: "z16384", count: 16) + [
        "Dear all,\n\n2 < 3 & so\non", "Only HTML", "Choose\n- Red\nAnswer: r", "with NUL\n- ab",
      ])
    let found = Dictionary(
      uniqueKeysWithValues: chatwoot.findings.list.map { ("\($0.table) \($0.reason)", $0.ids) })
    #expect(found["messages deleted in Chatwoot: not imported"] == ["10001", "10002"])
    #expect(found["messages without text: not imported"] == ["10003"])
    #expect(found["messages longer than one message: imported as several"] == ["10005"])
    #expect(found["messages longer than 16 messages: the end is left out"] == ["10006"])
    #expect(found["messages refused by PostgreSQL (23514): not imported"] == ["10011"])
    #expect(found["users without a valid e-mail address: not imported"] == ["3"])
    #expect(found["conversations without a contact: imported without one"] == ["299"])
    #expect(found["conversations pending: imported as open"]?.count == ImportFindings.idsMax)
    #expect(found["csat_survey_responses of an unknown rating: not imported"] == ["4"])
    #expect(
      found["canned_responses whose code cannot be a shortcut: not imported"] == ["2"])
    let numbering = try Migrator(connection).verify().filter { $0.name.contains("number") }
    #expect(numbering.count == 2 && numbering.allSatisfy(\.passed))
  }

  @Test func `contacts are visitors, users are members without a password`() throws {
    try run()
    #expect(
      try connection.texts(
        "SELECT attributes::text FROM visitors WHERE name = 'Contact 8'") == [
          #"{"city": "Ghent", "plan": "gold", "tags": "[\"a\",\"b\"]", "phone": "+15550100", "#
            + #""seats": 3, "company": "ACME"}"#
        ])
    #expect(
      try connection.texts(
        """
        SELECT name || (SELECT count(*) FROM chat_sessions s WHERE s.user_id = v.id)
        FROM visitors v WHERE external_id = 'customer-20'
        """) == ["Known2"])
    #expect(
      try connection.number("SELECT count(*) FROM visitors WHERE banned_at IS NOT NULL") == 1)
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', o.email, o.name, m.role, (o.password_hash IS NULL)::text)
        FROM memberships m JOIN operators o ON o.id = m.operator_id ORDER BY 1
        """) == ["dana@bikes.example Dana admin true", "omar@bikes.example Omar H. agent true"])
    #expect(
      try connection.texts("SELECT name || coalesce(colour, '') FROM tags ORDER BY 1") == [
        "refund", "vip#ff00aa",
      ])
  }

  @Test func `another run adds only what is new, at the end of each conversation`() throws {
    try run()
    let before = try target.contents()
    #expect(try run() == ConversationImport.Summary())
    #expect(try target.contents() == before)
    // A gateway has written to a conversation meanwhile, and an administrator has removed Dana.
    try connection.execute(
      script: """
        WITH s AS (UPDATE chat_sessions SET last_seq = last_seq + 1, message_count = 9
          WHERE context -> 'chatwoot' ->> 'number' = '3' RETURNING *)
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
        SELECT workspace_id, id, last_seq, 'visitor', 'live', sha256('live') FROM s;
        DELETE FROM memberships m USING operators o
        WHERE o.id = m.operator_id AND o.email = 'dana@bikes.example';
        UPDATE chat_sessions SET deleted_at = now()
        WHERE context -> 'chatwoot' ->> 'number' = '13';
        """)
    try chatwoot.execute(
      script: """
        INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type,
          sender_type, sender_id, created_at)
        SELECT 'late', 7, 1, n, 0, 'Contact', 1, '2024-01-15' FROM unnest(ARRAY[3, 13]) n;
        """)
    let again = try run()
    #expect(again.messages == 1)
    #expect(again.members == 0)
    #expect(
      try connection.texts(
        """
        SELECT seq || content FROM chats WHERE seq > 10 AND session_id = (
          SELECT id FROM chat_sessions WHERE context -> 'chatwoot' ->> 'number' = '3') ORDER BY seq
        """) == ["11live", "12late"])
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
  }

  @Test func `a run that is killed anywhere is continued to the same result`() throws {
    try run()
    let whole = try target.contents()
    let other = try ChatwootImportTests.makeTarget()
    // Each run ends one page of messages later than the one before.
    for pages in 1...8 {
      var left = pages
      var chatwoot = try importer(other, batch: 40)
      do {
        _ = try chatwoot.run { _ in
          left -= 1
          if left == 0 { throw Stopped() }
        }
        #expect(pages > 7)
      } catch is Stopped {}
    }
    try run(other)
    #expect(try other.contents() == whole)
    #expect(try Migrator(other.connection).verify().filter { !$0.passed } == [])
  }

  @Test func `an erased visitor does not come back`() throws {
    try run()
    let visitors = try connection.run(
      Query(
        """
        SELECT id FROM visitors WHERE name IN ('Contact 50', 'Contact 50 Doe', 'Known') ORDER BY id
        """))
    #expect(visitors.count == 2)
    for row in 0..<visitors.count {
      let id = try #require(visitors.uuid(row, 0))
      _ = try StoredData(connection).erase(id, workspace: workspace)
    }
    try chatwoot.execute(
      script: """
        INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type,
          sender_type, sender_id, created_at)
        SELECT 'secret', 7, 1, id, 0, 'Contact', 1, now() FROM conversations
        WHERE contact_id IN (20, 50);
        """)
    #expect(try run() == ConversationImport.Summary())
    #expect(try connection.number("SELECT count(*) FROM chats WHERE content = 'secret'") == 0)
  }

  @Test func `only conversations since a day are imported, with their contacts`() throws {
    let since = try #require(
      try connection.run(Query("SELECT '2024-03-12T00:00:00Z'::timestamptz")).time(0, 0))
    var chatwoot = try importer(since: since)
    let summary = try chatwoot.run()
    #expect(summary.conversations == 37)
    #expect(summary.visitors == 35)
    #expect(try connection.number("SELECT count(*) FROM visitors") == 36)
  }

  @Test func `another database and another account are refused`() throws {
    #expect(throws: ChatwootRefusal.noAccount(9)) {
      try ConversationImport(
        StoredData(connection), workspace: workspace, from: BlockingConnection(source.url),
        account: 9, isRun: false)
    }
    let empty = try EmptyDatabase()
    let refusal = #expect(throws: ChatwootRefusal.self) {
      try ConversationImport(
        StoredData(connection), workspace: workspace, from: BlockingConnection(empty.url),
        account: 7, isRun: false)
    }
    #expect(refusal?.description.contains("account_users.account_id") == true)
  }
}

extension ConversationImport {
  /// Whether nothing is left to import.
  fileprivate consuming func unchanged() throws -> Bool {
    var copy = self
    return try copy.run() == Summary()
  }
}
