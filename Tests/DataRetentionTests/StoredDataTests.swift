import DataRetention
import Directory
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// Retention, erasure, export and the epoch.
@Suite struct StoredDataTests {
  private let database: EmptyDatabase
  private let connection: BlockingConnection
  private let storedData: StoredData
  private static let shop = Identifier(high: 0x1000_0000_0000_4000, low: 0x8000_0000_0000_000A)
  private static let vera = Identifier(high: 0x2000_0000_0000_4000, low: 0x8000_0000_0000_000A)

  init() throws {
    database = try EmptyDatabase()
    connection = try BlockingConnection(database.url)
    try Migrator(connection).up()
    // As the gateway's role, whose privileges must suffice.
    storedData = StoredData(try BlockingConnection(Roles.gateway(database.url)))
    // Twelve closed sessions of 1,000 messages in the shop, the first of Vera; one that is open.
    try connection.execute(
      script: """
        INSERT INTO workspaces (id, name) VALUES
          ('10000000-0000-4000-8000-00000000000a', 'shop'),
          ('10000000-0000-4000-8000-00000000000b', 'other');
        INSERT INTO visitors (id, workspace_id, name, email, last_seen_at) VALUES
          ('20000000-0000-4000-8000-00000000000a', '10000000-0000-4000-8000-00000000000a', 'Vera',
            'vera@example.com', '2020-01-01');
        INSERT INTO chat_sessions (workspace_id, user_id, title, status, created_at, closed_at,
            last_message_at, last_seq, context, last_message_preview)
          SELECT w.id, CASE WHEN n = 1 AND w.name = 'shop' THEN v.id END, 'session ' || n,
            CASE WHEN n = 13 THEN 'active' ELSE 'closed' END, '2020-01-01',
            CASE WHEN n < 13 THEN timestamptz '2020-01-01' END, '2020-01-01', 1000,
            '{"page": "https://shop.example/vera"}', 'my address'
          FROM workspaces w, visitors v, generate_series(1, 13) n;
        INSERT INTO chats
            (workspace_id, session_id, seq, role, kind, content, user_id, content_hash)
          SELECT workspace_id, id, n, CASE WHEN n % 2 = 1 THEN 'visitor' ELSE 'operator' END,
            CASE WHEN n % 10 = 0 THEN 'note' ELSE 'text' END, 'my address is ' || n,
            CASE WHEN n % 2 = 1 THEN user_id END, ''
          FROM chat_sessions, generate_series(1, 1000) n;
        INSERT INTO refresh_tokens (token_hash, family, visitor_id, workspace_id, session_id,
            expires_at)
          SELECT 'x', v.id, v.id, v.workspace_id, s.id, now() FROM visitors v
          JOIN chat_sessions s ON s.user_id = v.id;
        INSERT INTO read_marks (workspace_id, session_id, person_id, role, name)
          SELECT v.workspace_id, s.id, v.id, 'visitor', 'Vera' FROM visitors v
          JOIN chat_sessions s ON s.user_id = v.id;
        INSERT INTO csat_responses (workspace_id, session_id, visitor_id, rating, comment)
          SELECT v.workspace_id, s.id, v.id, 5, 'Vera was here' FROM visitors v
          JOIN chat_sessions s ON s.user_id = v.id;
        """)
  }

  private func verify() throws {
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
  }

  @Test func `retention counts expired sessions, then deletes them completely, in batches`() throws
  {
    let old = try storedData.expired(days: 365, workspace: nil)
    #expect(old.map(\.workspaceName) == ["other", "shop"])
    #expect(old.map(\.sessions) == [12, 12])
    #expect(try storedData.expired(days: 36_500, workspace: nil) == [])
    var progress: [MoveProgress] = []
    let gone = try storedData.removeExpired(days: 365, workspace: StoredDataTests.shop) {
      progress.append($0)
    }
    #expect(gone.map(\.messages) == [12_000])
    #expect(
      progress.filter { $0.title == "messages removed" }.map(\.rowsDone)
        == [5_000, 10_000, 12_000])
    #expect(progress.last?.description.hasPrefix("visitors removed: 1 rows, ") == true)
    #expect(try connection.number("SELECT count(*) FROM chats") == 14_000)
    #expect(
      try connection.texts("SELECT details::text FROM audit_log WHERE action = 'sessions.expired'")
        == ["{\"days\": 365, \"messages\": 12000, \"sessions\": 12, \"visitors\": 1}"])
    #expect(try storedData.expired(days: 365, workspace: StoredDataTests.shop) == [])
    try verify()
  }

  @Test func `visitors are removed in batches, with progress and without a guess of its end`()
    throws
  {
    try connection.execute(
      script: """
        INSERT INTO visitors (workspace_id, name, last_seen_at)
          SELECT '\(StoredDataTests.shop)', 'gone', now() - interval '2 years'
          FROM generate_series(1, 4000)
        """)
    var progress: [MoveProgress] = []
    _ = try storedData.removeExpired(days: 365, workspace: StoredDataTests.shop) {
      if $0.title == "visitors removed" { progress.append($0) }
    }
    #expect(progress.map(\.rowsDone) == [2_000, 4_000, 4_001])
    #expect(progress.allSatisfy { $0.secondsLeft == nil })
    #expect(try connection.number("SELECT count(*) FROM visitors WHERE name = 'gone'") == 0)
  }

  @Test func `a session with more messages than a batch is removed alone`() throws {
    try connection.execute(
      script: "UPDATE chat_sessions SET last_seq = 9000000 WHERE title = 'session 3'")
    _ = try storedData.removeExpired(days: 365, workspace: nil)
    #expect(try connection.number("SELECT count(*) FROM chat_sessions") == 2)
  }

  @Test func `old entries of the audit log are counted, removed in batches, and this is an entry`()
    throws
  {
    try connection.execute(
      script: """
        INSERT INTO audit_log (workspace_id, actor, action, created_at)
          SELECT '\(StoredDataTests.shop)', 'rule', 'login.failed', now() - n * interval '1 day'
          FROM generate_series(0, 12000) n;
        INSERT INTO audit_log (workspace_id, actor, action, created_at)
          SELECT id, 'rule', action, '2020-01-01' FROM workspaces,
            unnest(ARRAY['visitor.erased', 'login.failed']) AS action
        """)
    // The gateway's login may look, and not delete.
    #expect(try !storedData.mayPruneAudit())
    #expect(throws: QueryFailure.self) { try storedData.pruneAudit(days: 1, workspace: nil) }
    let owner = StoredData(connection)
    #expect(try owner.mayPruneAudit())
    let found = try owner.prunableAudit(days: 1_000, workspace: nil)
    #expect(found.map(\.workspaceName) == ["other", "shop"])
    #expect(found.map(\.entries) == [1, 11_002])
    #expect(try owner.prunableAudit(days: 36_500, workspace: nil) == [])
    var progress: [MoveProgress] = []
    #expect(
      try owner.pruneAudit(days: 1_000, workspace: StoredDataTests.shop) { progress.append($0) }
        == 11_002)
    #expect(progress.map(\.rowsDone) == [5_000, 10_000, 11_002])
    #expect(progress.allSatisfy { $0.rowsTotal == 11_002 })
    #expect(try owner.prunableAudit(days: 1_000, workspace: nil).map(\.workspaceName) == ["other"])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', actor, details ->> 'days', details ->> 'entries') FROM audit_log
        WHERE action = 'audit.pruned' ORDER BY id
        """) == ["command 1000 5000", "command 1000 5000", "command 1000 1002"])
    #expect(
      try connection.number("SELECT count(*) FROM audit_log WHERE action = 'visitor.erased'") == 2)
    try verify()
  }

  @Test func `erasure removes all of a visitor's text, and keeps every number`() throws {
    let json = try #require(
      try storedData.export(StoredDataTests.vera, workspace: StoredDataTests.shop))
    #expect(json.contains("vera@example.com"))
    #expect(json.contains("my address is 999") && json.contains("Vera was here"))
    #expect(!json.contains("\"kind\": \"note\""))
    #expect(try storedData.export(StoredDataTests.vera, workspace: StoredDataTests.vera) == nil)

    let plan = try storedData.erasure(of: StoredDataTests.vera, workspace: StoredDataTests.shop)
    #expect(plan == StoredData.Erasure(sessions: 1, messages: 1_000))
    let before = try connection.texts("SELECT epoch FROM chat_sessions WHERE user_id IS NOT NULL")
    #expect(try storedData.erase(StoredDataTests.vera, workspace: StoredDataTests.shop) == plan)
    #expect(try connection.number("SELECT count(*) FROM chats WHERE content = '[erased]'") == 1_000)
    let dump = try database.dump().rows.joined(separator: "\n")
    #expect(!dump.contains("Vera") && !dump.contains("vera@"))
    #expect(!dump.contains(try sha("text\n\nmy address is 1")))
    // Of the id only the audit lines of start and end remain, and for a day the two revocations
    // that invalidate its tokens.
    #expect(dump.ranges(of: "\(StoredDataTests.vera)").count == 4)
    #expect(
      try connection.texts("SELECT details::text FROM audit_log WHERE action = 'visitor.erased'")
        == ["{\"messages\": 1000, \"sessions\": 1}"])
    #expect(
      try connection.texts(
        "SELECT epoch FROM chat_sessions WHERE last_message_preview = '[erased]'") != before)
    #expect(
      try storedData.erasure(of: StoredDataTests.vera, workspace: StoredDataTests.shop) == nil)
    #expect(try connection.number("SELECT generation FROM database_epoch") == 1)
    try verify()
  }

  private func sha(_ text: String) throws -> String {
    try connection.texts(
      "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')", [.text(text)])[0]
  }

  @Test func `a restored database is recognised once`() throws {
    #expect(try storedData.epoch().epoch == "")
    #expect(try !StoredData.renewIfRestored(connection))
    let copy = try BlockingConnection(database.restored().url)
    #expect(try StoredData.renewIfRestored(copy))
    #expect(try !StoredData.renewIfRestored(copy))
    let epoch = try StoredData(copy).epoch().epoch
    #expect(epoch.count == 9 && epoch.hasPrefix("-"))
    // A copy of the data folder is not recognised: the administrator must renew the epoch.
    try storedData.renewEpoch()
    #expect(try storedData.epoch().epoch != "")
    #expect(try Migrator(copy).verify().filter { !$0.passed } == [])
  }
}
