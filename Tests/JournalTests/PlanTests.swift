import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// The statements on the message path must use index nested loops for any contents of the tables
/// and any statistics of the planner. With free plans, batches of 10 rows cost 3.5 times as much. A
/// plan made on an empty table must not scan a full one.
///
/// The writer pins its plans (`AppendStatement.settings`). The readers and the marks scan no table
/// either (`QueryConnection.settings`). The tests check each plan after more executions than
/// PostgreSQL plans with custom plans.
@Suite struct PlanTests {
  enum Content: CaseIterable {
    /// Always empty, never analyzed.
    case empty
    /// Full, never analyzed.
    case withoutStatistics
    /// Full and analyzed.
    case analyzed
    /// Analyzed while nearly empty, then filled.
    case stale
  }

  private static let fill = """
    INSERT INTO chat_sessions (workspace_id)
      SELECT id FROM workspaces, generate_series(1, 2000);
    INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
      SELECT workspace_id, id, n, 'visitor', 'x', ''
      FROM chat_sessions, generate_series(1, 5) n;
    INSERT INTO visitors (workspace_id, name)
      SELECT id, 'v' FROM workspaces, generate_series(1, 2000);
    INSERT INTO read_marks (workspace_id, session_id, person_id, role)
      SELECT workspace_id, id, gen_random_uuid(), 'visitor' FROM chat_sessions
    """

  private func prepare(_ content: Content) throws -> TestDatabase {
    let database = try TestDatabase()
    // Otherwise autovacuum may analyze the tables during the test.
    for table in ["chats", "chat_sessions", "visitors", "read_marks"] {
      try database.sql.execute(script: "ALTER TABLE \(table) SET (autovacuum_enabled = off)")
    }
    switch content {
    case .empty: break
    case .withoutStatistics: try database.sql.execute(script: PlanTests.fill)
    case .analyzed:
      try database.sql.execute(script: PlanTests.fill)
      try database.sql.execute(script: "ANALYZE")
    case .stale:
      _ = try database.session()
      try database.sql.execute(script: "ANALYZE")
      try database.sql.execute(script: PlanTests.fill)
    }
    return database
  }

  private func explain(
    _ connection: BlockingConnection, _ statement: String
  ) throws -> [String] {
    let plan = try connection.ask(script: "EXPLAIN \(statement)")
    return (0..<plan.count).compactMap { plan.text($0, 0) }
  }

  private func expectNestedLoops(_ lines: [String], _ comment: Comment) {
    for bad in ["Seq Scan", "Hash", "Merge", "Materialize", "Bitmap"] {
      #expect(
        !lines.contains { $0.contains(bad) }, "\(comment): \(lines.joined(separator: "\n"))")
    }
  }

  /// - Parameter isLocal: applies the settings to one transaction only, as behind a pooler.
  @Test(arguments: Content.allCases, [false, true])
  func `the lock and append statements scan no table sequentially`(content: Content, isLocal: Bool)
    throws
  {
    let connection = try BlockingConnection(prepare(content).url)
    try connection.execute(
      script: """
        PREPARE lock (uuid[], uuid[]) AS \(AppendStatement.lock);
        PREPARE append (uuid[], uuid[], uuid[], text[], text[], uuid[], text[], text[], jsonb[]) AS
          \(AppendStatement.append);
        """)
    if isLocal { try connection.execute(script: "BEGIN") }
    try connection.run(Query(AppendStatement.settings, [.bool(isLocal)]))
    let lists = Array(repeating: "'{}'", count: 9).joined(separator: ", ")
    for round in 0..<8 {
      let lock = try explain(connection, "EXECUTE lock ('{}', '{}')")
      let append = try explain(connection, "EXECUTE append (\(lists))")
      for lines in [lock, append] {
        expectNestedLoops(lines, "round \(round)")
        for bad in ["idx_chats", "user_id", "created_at", "active"] {
          #expect(!lines.contains { $0.contains(bad) }, "\(lines.joined(separator: "\n"))")
        }
        // A session is found by one of the two unique keys, never by part of one.
        #expect(
          lines.contains {
            $0.contains("chat_sessions_pkey") || $0.contains("idx_chat_sessions_workspace_id")
          })
        #expect(!lines.contains { $0.contains("Index Cond: (workspace_id = ") })
      }
    }
    // PostgreSQL must use one generic plan and no custom plans.
    let plans = try connection.run(
      Query("SELECT sum(custom_plans)::bigint, min(generic_plans) FROM pg_prepared_statements"))
    #expect(plans.int(0, 0) == 0)
    #expect(plans.int(0, 1) == 8)
  }

  @Test(arguments: Content.allCases)
  func `the fenced statements find sessions by a key and scan no table`(content: Content) throws {
    let connection = try BlockingConnection(prepare(content).url)
    try connection.run(Query(AppendStatement.settings, [.bool(false)]))
    for statement in FencedStatement.all {
      let types = statement.types.map { "\($0)" }.joined(separator: ", ")
      let names = try connection.ask(
        script: "SELECT string_agg(t::regtype::text, ', ') FROM unnest(ARRAY[\(types)]::oid[]) t")
      try connection.execute(
        script: "PREPARE \(statement.name) (\(names.text(0, 0) ?? "")) AS \(statement.sql)")
      let values = Array(repeating: "NULL", count: statement.types.count).joined(separator: ", ")
      for round in 0..<8 {
        let lines = try explain(connection, "EXECUTE \(statement.name) (\(values))")
        expectNestedLoops(lines, "\(statement.name), round \(round)")
        #expect(
          lines.contains {
            $0.contains("chat_sessions_pkey") || $0.contains("idx_chat_sessions_workspace_id")
          })
        #expect(!lines.contains { $0.contains("Index Cond: (workspace_id = ") })
        // Rows are locked in the order of the arrays: the sessions' row is the inner side.
        if !statement.name.hasSuffix("one") {
          let outer = lines.firstIndex { $0.contains("Function Scan on t") }
          let inner = lines.firstIndex { $0.contains("Index Scan using") }
          #expect((outer ?? .max) < (inner ?? 0), "\(lines.joined(separator: "\n"))")
        }
      }
    }
    let plans = try connection.run(
      Query("SELECT sum(custom_plans)::bigint, min(generic_plans) FROM pg_prepared_statements"))
    #expect(plans.int(0, 0) == 0)
    #expect(plans.int(0, 1) == 8)
  }

  @Test(arguments: Content.allCases)
  func `queries of a session, its log pages and its marks use the keys`(content: Content) throws {
    let database = try prepare(content)
    let session = try database.session()
    let workspace = database.workspace
    let person = Person(role: .visitor, id: freshIdentifier(), name: [])
    let statements: [(name: String, types: String, query: Query, values: String)] = [
      (
        "state", "uuid, uuid", History.sessionQuery(session, of: workspace),
        "'\(session)', '\(workspace)'"
      ),
      ("anywhere", "uuid", History.sessionQuery(session), "'\(session)'"),
      (
        "page", "uuid, bigint, bigint, uuid, bigint",
        History.entriesQuery(session, of: workspace, after: 0, limit: 100, bytes: 9),
        "'\(session)', 0, 100, '\(workspace)', 9"
      ),
      (
        "before", "uuid, bigint, bigint, uuid, bigint",
        History.entriesQuery(session, of: workspace, before: 9, limit: 100, bytes: 9),
        "'\(session)', 9, 100, '\(workspace)', 9"
      ),
      (
        "mark", "uuid, uuid, text, text, bigint, bigint, uuid",
        History.markQuery(session, of: workspace, person, read: 1, delivered: 1),
        "'\(session)', '\(person.id)', 'visitor', '', 1, 1, '\(workspace)'"
      ),
    ]
    let connection = try BlockingConnection(database.url)
    try connection.run(Query(QueryConnection.settings, [.bool(false), .text("10000")]))
    for statement in statements {
      try connection.execute(
        script: "PREPARE \(statement.name) (\(statement.types)) AS \(statement.query.sql)")
      // PostgreSQL makes five custom plans before it may choose a generic plan.
      for round in 0..<8 {
        let lines = try explain(connection, "EXECUTE \(statement.name) (\(statement.values))")
        check(lines, "\(statement.name), round \(round)")
      }
      try connection.execute(script: "SET plan_cache_mode = force_generic_plan")
      let lines = try explain(connection, "EXECUTE \(statement.name) (\(statement.values))")
      check(lines, "\(statement.name), generic")
      try connection.execute(script: "RESET plan_cache_mode")
    }
  }

  /// `database_epoch` has one row, so any plan for it is valid. A session is found by its id, never
  /// by its workspace alone.
  private func check(_ lines: [String], _ comment: String) {
    let scans = lines.indices.filter { lines[$0].contains(/Scan .*on chat_sessions/) }
    for scan in scans {
      let condition = scan + 1 < lines.count ? lines[scan + 1] : ""
      #expect(
        condition.contains(#/Cond: .*\(id = /#), "\(comment): \(lines.joined(separator: "\n"))")
    }
    for table in ["chats", "chat_sessions", "visitors", "read_marks"] {
      #expect(
        !lines.contains { $0.contains("Seq Scan on \(table)") },
        "\(comment): \(lines.joined(separator: "\n"))")
    }
  }
}
