import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// The append statement must use index nested loops whatever the tables hold: left free, the
/// planner made batches of 10 rows 3.5 times as dear, and a plan made on an empty table must not
/// read a full one whole.
@Suite struct PlanTests {
  @Test(arguments: [false, true])
  func `lock and append read no table whole`(isFilled: Bool) throws {
    let database = try TestDatabase()
    let connection = try BlockingConnection(database.url)
    if isFilled {
      try connection.execute(
        script: """
          INSERT INTO chat_sessions (workspace_id)
            SELECT id FROM workspaces, generate_series(1, 2000);
          INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
            SELECT workspace_id, id, n, 'visitor', 'x', ''
            FROM chat_sessions, generate_series(1, 5) n;
          ANALYZE;
          """)
    }
    try connection.run(Query(AppendStatement.settings, [.bool(false)]))
    try connection.execute(
      script: """
        PREPARE lock (uuid[], uuid[]) AS \(AppendStatement.lock);
        PREPARE append (uuid[], uuid[], uuid[], text[], text[], uuid[], text[], text[], jsonb[]) AS
          \(AppendStatement.append);
        """)
    let plans = [
      try connection.run(Query("EXPLAIN EXECUTE lock (NULL, NULL)")),
      try connection.run(
        Query("EXPLAIN EXECUTE append (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")),
    ]
    for plan in plans {
      let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
      for bad in [
        "Seq Scan", "Hash", "Merge", "Materialize", "idx_chats", "user_id", "created_at", "active",
      ] {
        #expect(!lines.contains { $0.contains(bad) }, "\(lines.joined(separator: "\n"))")
      }
      // A session is found by one unique key or the other, never by a part of one.
      #expect(
        lines.contains {
          $0.contains("chat_sessions_pkey") || $0.contains("idx_chat_sessions_workspace_id")
        })
      #expect(!lines.contains { $0.contains("Index Cond: (workspace_id = ") })
    }
  }
}
