import Conversations
import Directory
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The search for the sources of a draft reads the newest closed conversations by their index, and
/// their messages by the key: as much of many conversations as of few, whatever the planner knows.
@Suite struct AssistGroundingCostTests {
  private func database(conversations: Int, isAnalyzed: Bool) throws -> BlockingConnection {
    let owner = try BlockingConnection(EmptyDatabase().url)
    try Migrator(owner).up()
    for table in ["chats", "chat_sessions"] {
      try owner.execute(script: "ALTER TABLE \(table) SET (autovacuum_enabled = off)")
    }
    try owner.execute(
      script: """
        INSERT INTO workspaces (id, name) VALUES (gen_random_uuid(), 'shop');
        INSERT INTO chat_sessions (workspace_id, status, created_at, closed_at, last_seq)
          SELECT w.id, 'closed', now() - n * interval '1 minute',
            CASE WHEN n % 5 > 0 THEN now() - n * interval '1 minute' END, 4
          FROM workspaces w, generate_series(1, \(conversations)) AS n;
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash, created_at)
          SELECT s.workspace_id, s.id, n, CASE n % 2 WHEN 1 THEN 'visitor' ELSE 'operator' END,
            'Where is parcel ' || md5(s.id::text || n) || ' of my bicycle?', '', s.created_at
          FROM chat_sessions s, generate_series(1, 4) AS n;
        INSERT INTO reply_objects (workspace_id, object_id, object_type, payload)
          SELECT w.id, 'r' || n, 'text', jsonb_build_object('text', 'parcel ' || md5(n::text))
          FROM workspaces w, generate_series(1, 500) AS n;
        \(isAnalyzed ? "ANALYZE" : "");
        """)
    try owner.run(Query(QueryConnection.settings, [.bool(false), .text("60000")]))
    return owner
  }

  /// The pages of tables and indexes that a search touches, and its plan.
  private func search(_ owner: BlockingConnection) throws -> (pages: Int64, plan: String) {
    let workspace = try #require(
      try owner.run(Query("SELECT id::text FROM workspaces")).text(0, 0))
    let zero = Identifier.zero
    let sql = AssistGrounding.conversations(for: "", except: zero, in: zero).query.sql
    try owner.execute(
      script: """
        PREPARE search (uuid, text, bigint, bigint, uuid, bigint, bigint) AS \(sql)
        """)
    var pages: Int64 = 0
    var texts = ""
    for mode in ["auto", "force_generic_plan"] {
      try owner.execute(script: "SET plan_cache_mode = \(mode)")
      let call = """
        EXECUTE search ('\(workspace)', 'Where is my bicycle parcel 20418?', 64, 3, '\(zero)',
          \(AssistGrounding.conversationsSearched), 8192)
        """
      let found = try owner.ask(script: call)
      #expect(found.count == 3)
      let plan = try owner.ask(script: "EXPLAIN (ANALYZE, BUFFERS) \(call)")
      let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
      let buffers = try #require(lines.first { $0.contains("Buffers:") })
      pages += buffers.matches(of: /(?:hit|read)=([0-9]+)/).compactMap { Int64($0.1) }
        .reduce(0, +)
      texts += lines.joined(separator: "\n") + "\n"
    }
    return (pages, texts)
  }

  @Test(
    "a search reads as much of 20,000 closed conversations as of 2,000", arguments: [true, false])
  func growth(isAnalyzed: Bool) throws {
    let small = try search(database(conversations: 2_000, isAnalyzed: isAnalyzed))
    let large = try search(database(conversations: 20_000, isAnalyzed: isAnalyzed))
    #expect(small.pages > 0)
    #expect(Double(large.pages) < 1.3 * Double(small.pages) + 50, "\(small.pages); \(large.plan)")
    #expect(!large.plan.contains("Seq Scan on chat"), "\(large.plan)")
  }
}
