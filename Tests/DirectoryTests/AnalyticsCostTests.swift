import Conversations
import Directory
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// What the statements of analytics read grows with the days of the period and with operators,
/// teams and tags, not with the conversations: those are counted by day before.
@Suite struct AnalyticsCostTests {
  /// Closed conversations of 60 days, of eight operators, three teams and five tags.
  private func database(conversations: Int) throws -> BlockingConnection {
    let owner = try BlockingConnection(EmptyDatabase().url)
    try Migrator(owner).up()
    try owner.execute(
      script: """
        INSERT INTO workspaces (id, name) VALUES (gen_random_uuid(), 'shop');
        INSERT INTO chat_analytics_sessions (workspace_id, session_id, day, hour, operator_id,
          messages, wait_ms, first_response_ms, resolution_ms, rating, team_id, tags, rated_at)
        SELECT w.id, gen_random_uuid(), date '2026-06-01' - n % 60, n % 24,
          lpad((1 + n / 60 % 8)::text, 32, '0')::uuid, 5, 1000 << (n / 7 % 8), 2000 << (n / 7 % 8),
          90000 << (n / 7 % 8), 1 + n / 11 % 5, lpad((1 + n / 60 % 3)::text, 32, 'a')::uuid,
          ARRAY['tag ' || n / 60 % 5], timestamptz '2026-06-02'
        FROM workspaces w, generate_series(1, \(conversations)) AS n
        """)
    try owner.run(Query("SELECT chirrup_recompute(id) FROM workspaces"))
    try owner.execute(script: "VACUUM ANALYZE")
    return owner
  }

  /// The pages of tables and indexes that each statement touches.
  private func pages(_ owner: BlockingConnection) throws -> [Int64] {
    let workspace = try #require(
      try owner.run(Query("SELECT id::text FROM workspaces")).text(0, 0))
    let id = try #require(Identifier(workspace))
    let (from, to) = ("2026-05-03", "2026-06-01")
    // Those of channels read the conversations.
    var statements = [Analytics.Grouping.operators, .teams, .tags].map {
      (Analytics.groups($0, of: id, from: from, to: to, limit: 9).query.sql, ", bigint", ", 9")
    }
    let everybody = "00000000-0000-0000-0000-000000000000"
    let scopes: [(Analytics.Scope, key: String)] = [
      (.all, everybody), (.ofOperator(id), "00000000-0000-0000-0000-000000000001"),
      (.ofTeam(id), "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaa1"), (.withTag(""), "tag 1"),
    ]
    for (scope, key) in scopes {
      let total = Analytics.total(of: scope, in: id, from: from, to: to)
      let days = Analytics.days(of: scope, in: id, from: from, to: to)
      for sql in [total.query.sql, days.query.sql] {
        statements.append((sql, ", text", ", '\(key)'"))
      }
    }
    // Those of teams and tags read the conversations.
    for (scope, key) in scopes.prefix(2) {
      let hours = Analytics.hours(of: scope, in: id, from: from, to: to)
      statements.append((hours.query.sql, ", text", ", '\(key)'"))
    }
    return try statements.enumerated().map { at, statement in
      try pages(owner, "s\(at)", statement, workspace, from, to).pages
    }
  }

  /// The pages that a statement touches when it runs again, and its plan.
  private func pages(
    _ owner: BlockingConnection, _ name: String, _ statement: (sql: SQL, types: String, String),
    _ workspace: String, _ from: String, _ to: String
  ) throws -> (pages: Int64, plan: String) {
    let (sql, types, values) = statement
    try owner.execute(script: "PREPARE \(name) (uuid, text, text\(types)) AS \(sql)")
    let call = "EXECUTE \(name) ('\(workspace)', '\(from)', '\(to)'\(values))"
    _ = try owner.ask(script: call)
    let plan = try owner.ask(script: "EXPLAIN (ANALYZE, BUFFERS) \(call)")
    let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
    let buffers = try #require(lines.first { $0.contains("Buffers:") })
    let pages = buffers.matches(of: /(?:hit|read)=([0-9]+)/).compactMap { Int64($0.1) }
      .reduce(0, +)
    return (pages, lines.joined(separator: "\n"))
  }

  /// The hours of a team or tag, and the missed targets, are not counted by day before.
  @Test("what reads conversations reads each of 100,000 once, in one pass over its tables")
  func onePass() throws {
    let owner = try database(conversations: 100_000)
    // Targets of conversations that these tables do not have: without the check of the foreign key.
    try owner.execute(
      script: """
        SET session_replication_role = replica;
        INSERT INTO chat_targets (workspace_id, session_id, started_at, first_response_minutes,
          resolution_minutes, first_response_due_at, resolution_due_at, first_response_missed_at,
          is_settled)
        SELECT workspace_id, session_id, day, 5, 60, day + interval '5 minutes',
          day + interval '1 hour', CASE WHEN messages % 3 = 0 OR hour % 4 = 0
            THEN day + interval '5 minutes' END, true
        FROM chat_analytics_sessions;
        SET session_replication_role = origin
        """)
    try owner.execute(script: "VACUUM ANALYZE")
    let workspace = try #require(
      try owner.run(Query("SELECT id::text FROM workspaces")).text(0, 0))
    let id = try #require(Identifier(workspace))
    let (from, to) = ("2026-05-03", "2026-06-01")
    let sizes = try owner.run(
      Query(
        """
        SELECT sum(pg_total_relation_size(t::regclass))::bigint / 8192
        FROM unnest(ARRAY['chat_analytics_sessions', 'chat_targets']) AS t
        """))
    let all = try #require(sizes.int(0, 0))
    let team = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaa1"
    let scopes: [(Analytics.Scope, key: String)] = [
      (.ofTeam(id), team), (.onChannel(""), "web"), (.withTag(""), "tag 1"),
    ]
    var statements: [(SQL, String, String)] = scopes.map { scope, key in
      let hours = Analytics.hours(of: scope, in: id, from: from, to: to)
      return (hours.query.sql, ", text", ", '\(key)'")
    }
    for grouping in [nil] + Analytics.Grouping.allCases {
      let outcomes = Targets.outcomes(by: grouping, in: id, from: from, to: to, zone: "UTC")
      statements.append((outcomes.query.sql, ", text, text", ", '\(id)', 'UTC'"))
    }
    #expect(statements.count == 8)
    for (at, statement) in statements.enumerated() {
      let (pages, plan) = try pages(owner, "p\(at)", statement, workspace, from, to)
      #expect((1...all).contains(pages), "\(pages) of \(all) pages: \(plan)")
      // A nested loop would look up each of them.
      let loops = plan.matches(of: /loops=([0-9]+)/).compactMap { Int($0.1) }.max() ?? 0
      #expect(loops <= 100_000 && pages < 20_000, "\(plan)")
    }
  }

  @Test("reports read as much of 100,000 conversations as of 20,000")
  func growth() throws {
    let small = try pages(database(conversations: 20_000))
    let large = try pages(database(conversations: 100_000))
    #expect(small.count == 13 && small.allSatisfy { $0 > 0 })
    for (few, many) in zip(small, large) {
      #expect(Double(many) < 1.3 * Double(few) + 8, "\(small), then \(large) pages")
    }
  }
}
