import Automation
import Conversations
import Directory
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The timed statements of the queue read by indexes, whatever the tables hold and the planner
/// believes: none reads more the more conversations there are.
@Suite struct QueuePlanTests {
  enum Content: CaseIterable {
    case withoutStatistics
    case analyzed
    /// Analyzed while empty, then filled.
    case stale
  }

  /// 20,000 conversations: a quarter waits, a quarter has one of 50 operators and rests, the others
  /// are closed.
  private static let fill = """
    INSERT INTO workspaces (id, name)
      SELECT gen_random_uuid(), 'w' || n FROM generate_series(1, 4) n;
    INSERT INTO operators (id, email, name, password_hash)
      SELECT gen_random_uuid(), n || '@example.com', 'o', '' FROM generate_series(1, 50) n;
    INSERT INTO memberships (workspace_id, operator_id, role)
      SELECT w.id, o.id, 'agent' FROM workspaces w, operators o;
    INSERT INTO operator_presence (workspace_id, operator_id) SELECT workspace_id, operator_id
      FROM memberships;
    INSERT INTO chat_sessions (workspace_id, status, assigned_operator_id, waiting_since,
        claimed_at, last_seq, last_message_at, last_message_role)
      SELECT m.workspace_id,
        CASE n % 4 WHEN 0 THEN 'waiting' WHEN 1 THEN 'active' ELSE 'closed' END,
        CASE n % 4 WHEN 0 THEN NULL ELSE m.operator_id END, CASE n % 4 WHEN 0 THEN now() END,
        CASE n % 4 WHEN 0 THEN NULL ELSE now() END, 2, now() - interval '2 hours', 'operator'
      FROM memberships m, generate_series(1, 100) n;
    INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash, created_at)
      SELECT workspace_id, id, n, 'operator', 'x', '', now() - interval '2 hours'
      FROM chat_sessions, generate_series(1, 2) n;
    """

  private func database(_ content: Content) throws -> BlockingConnection {
    let connection = try BlockingConnection(EmptyDatabase().url)
    try Migrator(connection).up()
    for table in ["chats", "chat_sessions", "operator_presence", "read_marks"] {
      try connection.execute(script: "ALTER TABLE \(table) SET (autovacuum_enabled = off)")
    }
    if content == .stale { try connection.execute(script: "ANALYZE") }
    try connection.execute(script: QueuePlanTests.fill)
    if content == .analyzed { try connection.execute(script: "ANALYZE") }
    try connection.run(Query(QueryConnection.settings, [.bool(false), .text("60000")]))
    return connection
  }

  @Test(arguments: Content.allCases)
  func `no statement reads more rows than its limit`(content: Content) throws {
    let connection = try database(content)
    let keys = try connection.run(
      Query("SELECT workspace_id::text, operator_id::text FROM memberships LIMIT 1"))
    let workspace = try #require(keys.text(0, 0))
    let member = try #require(keys.text(0, 1))
    let zero = Identifier.zero
    let waiting = try connection.run(
      Query(
        """
        SELECT array_agg(id)::text FROM (
          SELECT id FROM chat_sessions WHERE workspace_id::text = $1::text AND status = 'waiting'
          LIMIT 4) AS s
        """, [.text(workspace)]))
    let sessions = try #require(waiting.text(0, 0))
    let statements: [(name: String, types: String, sql: SQL, values: String, rowsMax: Int)] = [
      (
        "resting", "uuid, uuid, bigint, bigint",
        RestingConversations.close(after: .start).query.sql, "'\(zero)', '\(zero)', 100, 10", 100
      ),
      (
        "holders", "uuid, uuid, bigint", Assignment.holders(after: .start, limit: 1).query.sql,
        "'\(zero)', '\(zero)', 20", 20
      ),
      (
        // The conversations that wait in the line, and none of another workspace.
        "positions", "uuid, bigint, boolean, timestamptz",
        QueuePositions.statement(of: zero, isOpen: true, now: WallTime(microseconds: 0)).query.sql,
        "'\(workspace)', 2000, true, now()", 1_250
      ),
      (
        "away", "uuid[], uuid[]", OperatorPresence.away(of: []).query.sql,
        "ARRAY['\(workspace)'::uuid], ARRAY['\(member)'::uuid]", 1
      ),
      (
        // Each of the four conversations has two messages.
        "turns", "uuid[], uuid, bigint",
        BotProgress.turns(of: [], workspace: zero, limit: 20).query.sql,
        "'\(sessions)', '\(workspace)', 20", 8
      ),
      (
        "noted", "uuid[], uuid, bigint[]", BotProgress.note([], workspace: zero).query.sql,
        "'\(sessions)', '\(workspace)', '{2,2,2,2}'", 4
      ),
    ]
    for statement in statements {
      try connection.execute(
        script: "PREPARE \(statement.name) (\(statement.types)) AS \(statement.sql)")
      for mode in ["auto", "force_generic_plan"] {
        try connection.execute(script: "SET plan_cache_mode = \(mode)")
        let plan = try connection.ask(
          script: "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) "
            + "EXECUTE \(statement.name) (\(statement.values))")
        let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
        let text = "\(statement.name), \(mode):\n" + lines.joined(separator: "\n")
        #expect(!text.contains("Seq Scan"), "\(text)")
        for line in lines where line.contains(/(Scan|Backward) using|Index Scan on/) {
          let read = line.firstMatch(of: /actual rows=([0-9.]+) loops=([0-9]+)/)
          let rows = (read.flatMap { Double($0.1) } ?? 0) * (read.flatMap { Double($0.2) } ?? 0)
          #expect(rows <= Double(statement.rowsMax), "\(text)")
        }
        for line in lines {
          let removed = line.firstMatch(of: /Rows Removed by Filter: ([0-9]+)/)
          #expect((removed.flatMap { Int($0.1) } ?? 0) <= statement.rowsMax, "\(text)")
        }
      }
    }
  }

  @Test(arguments: Content.allCases)
  func `the pace reads the last claims from their index`(content: Content) throws {
    let connection = try database(content)
    let workspace = try #require(
      try connection.run(Query("SELECT id::text FROM workspaces LIMIT 1")).text(0, 0))
    func read() throws -> Int64 {
      let rows = try connection.run(
        Query(
          """
          SELECT pg_stat_get_xact_tuples_fetched(i.indexrelid) FROM pg_index i
          WHERE i.indexrelid = 'idx_chat_sessions_claimed_at'::regclass
          """))
      return rows.int(0, 0) ?? -1
    }
    try connection.execute(script: "BEGIN")
    let before = try read()
    try connection.execute(script: "SELECT chirrup_pace('\(workspace)')")
    #expect((1...40).contains(try read() - before))
    try connection.execute(script: "COMMIT")
  }
}
