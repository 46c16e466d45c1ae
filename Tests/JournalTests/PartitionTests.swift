import Chat
import Foundation
import Migrator
import Postgres
import Primitives
import Testing

@testable import Journal

/// The partitioned tables for large databases: every statement has a condition on the workspace.
/// These tests run the administrator's script from config/.
@Suite struct PartitionTests {
  private static let script = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "config/partition-chats.sql")

  private func partition(_ database: TestDatabase) throws {
    let script = try String(contentsOf: PartitionTests.script, encoding: .utf8)
    try database.sql.execute(script: script)
  }

  private func append(
    _ writer: inout Writer, _ fill: (inout Batch) -> Void
  ) throws -> [Outcome] {
    try makeReady(&writer)
    var batch = Batch()
    fill(&batch)
    writer.submit(&batch, now: monotonicNow())
    return try complete(&writer)
  }

  @Test func `the writer and the readers work with chats partitioned by workspace`() throws {
    let database = try TestDatabase()
    let (a, b) = (try database.session(), try database.session())
    let known = freshIdentifier()
    var before = Writer(url: database.url, seed: 1)
    _ = try append(&before) { batch in
      batch.add(a, "first", id: known)
      batch.add(b, "eins")
    }
    try partition(database)

    var writer = Writer(url: database.url, seed: 2)
    let outcomes = try append(&writer) { batch in
      batch.add(a, "first", id: known)
      batch.add(b, "first", id: known)
      batch.add(a, "second")
      for row in 0..<200 { batch.add(b, "row \(row)") }
    }
    #expect(outcomes[0].verdict == .duplicate)
    #expect(outcomes[1].verdict == .conflict)
    #expect(outcomes[2].seq == 2)
    #expect(try database.seqs(a) == [1, 2])
    #expect(try database.seqs(b) == Array(1...201))
    let page = try database.page(b, after: 100, limit: 50)
    #expect(page.entries.map(\.seq) == Array(101...150))
    let scoped = try database.sql.run(
      Query("SELECT count(*) FROM chats").scoped(to: database.workspace))
    #expect(scoped.int(0, 0) == 203)
    #expect(
      try database.sql.run(Query("SELECT count(*) FROM chats").scoped(to: freshIdentifier()))
        .int(0, 0) == 0)
    #expect(try Migrator(database.sql).verify().filter { !$0.passed } == [])
  }

  @Test func `a statement scans only one partition`() throws {
    let database = try TestDatabase()
    let session = try database.session()
    try partition(database)
    let page = History.entriesQuery(
      session, of: database.workspace, after: 0, limit: 9, bytes: 9)
    try database.sql.execute(
      script: """
        PREPARE page (uuid, bigint, bigint, uuid, bigint) AS
          \(page.sql);
        SET plan_cache_mode = force_generic_plan
        """)
    let plan = try database.sql.ask(
      script: "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) "
        + "EXECUTE page ('\(session)', 0, 9, '\(database.workspace)', 9)")
    let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
    #expect(lines.contains { $0.contains("Subplans Removed: 15") }, "\(lines)")
  }

  @Test func `every statement of the writer and the readers includes the workspace id`() {
    let id = freshIdentifier()
    let person = Person(role: .visitor, id: id, name: [])
    let statements: [SQL] = [
      AppendStatement.lock, AppendStatement.append,
      History.sessionQuery(id, of: id).sql,
      History.entriesQuery(id, of: id, after: 0, limit: 1, bytes: 1).sql,
      History.entriesQuery(id, of: id, before: 0, limit: 1, bytes: 1).sql,
      History.markQuery(id, of: id, person, read: 0, delivered: 0).sql,
    ]
    for statement in statements {
      let text = "\(statement)"
      let tables = text.matches(
        of: /(?:FROM|JOIN|UPDATE) (chats|chat_sessions|visitors|read_marks)\b/)
      // Each mention of a table has its own workspace condition, or a workspace column in an
      // insert.
      #expect(!tables.isEmpty)
      #expect(
        text.matches(of: /workspace_id = |\(id, workspace_id|\(workspace_id/).count >= tables.count,
        "\(text)")
    }
  }

  @Test func `an id of another workspace is a conflict, and the rest of the batch is stored`()
    throws
  {
    let database = try TestDatabase()
    let session = try database.session()
    let foreign = freshIdentifier()
    try database.sql.execute(
      script: """
        WITH w AS (INSERT INTO workspaces (name) VALUES ('other') RETURNING id),
          s AS (INSERT INTO chat_sessions (workspace_id, last_seq) SELECT id, 1 FROM w
            RETURNING id, workspace_id)
        INSERT INTO chats (id, workspace_id, session_id, seq, role, content, content_hash)
        SELECT '\(foreign)', workspace_id, id, 1, 'visitor', 'theirs', '' FROM s
        """)
    var writer = Writer(url: database.url, seed: 1)
    let outcomes = try append(&writer) { batch in
      for row in 0..<9 { batch.add(session, "row \(row)") }
      batch.add(session, "mine", id: foreign)
      batch.add(session, "last")
    }
    #expect(outcomes[9].verdict == .conflict)
    #expect(outcomes.filter { $0.verdict == .stored }.map(\.seq) == Array(1...10))
  }
}
