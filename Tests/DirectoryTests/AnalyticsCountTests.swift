import Directory
import Fixtures
import Foundation
import Migrator
import Postgres
import Primitives
import Synchronization
import Testing

/// What `chirrup_count` has counted equals what `chirrup_recompute` computes, whatever changes in
/// between and whoever counts; and no count grows with the number of conversations.
@Suite struct AnalyticsCountTests {
  private static let before = "20261230_reader_policies"

  /// All figures, without the times at which they were computed.
  private func figures(_ owner: BlockingConnection) throws -> [String] {
    try owner.texts("SELECT (to_jsonb(a) - 'computed_at')::text FROM chat_analytics a ORDER BY 1")
      + owner.texts("SELECT b::text FROM chat_analytics_buckets b ORDER BY 1")
      + groups(owner)
      + owner.texts("SELECT f::text FROM chat_session_figures f ORDER BY 1")
  }

  /// None before the migration that makes the tables.
  private func groups(_ owner: BlockingConnection) throws -> [String] {
    guard try owner.number("SELECT count(to_regclass('chat_analytics_groups'))") == 1 else {
      return []
    }
    return try owner.texts("SELECT g::text FROM chat_analytics_groups g ORDER BY 1")
      + owner.texts("SELECT f::text FROM chat_analytics_sessions f ORDER BY 1")
  }

  private func count(
    _ connection: BlockingConnection, _ limit: Int64, patience: Int64 = 0
  ) throws -> Int64? {
    let statement = Analytics.count(limit: limit, patience: patience)
    return statement.answer(try connection.run(statement.query))
  }

  private func countAll(_ connection: BlockingConnection) throws {
    for _ in 0..<1_000 where try count(connection, 500, patience: 60_000) == 0 { return }
    Issue.record("the counting does not complete")
  }

  private func expectRecomputed(_ owner: BlockingConnection, _ comment: Comment) throws {
    let counted = try figures(owner)
    try owner.run(Query("SELECT chirrup_recompute(id) FROM workspaces"))
    let computed = try figures(owner)
    #expect(counted.count > 20, comment)
    #expect(Set(counted).subtracting(computed) == [], comment)
    #expect(Set(computed).subtracting(counted) == [], comment)
  }

  @Test("figures equal those of a recomputation after any changes", arguments: [1, 2, 3])
  func equal(seed: UInt64) throws {
    let owner = try BlockingConnection(AnalyticsPlay.database().url)
    try Migrator(owner).up()
    var play = try AnalyticsPlay(owner, seed: seed)
    for round in 1...4 {
      for step in 1...90 {
        try play.step()
        if step % 11 == 0 { _ = try count(owner, Int64(1 + step % 7)) }
      }
      try countAll(owner)
      try expectRecomputed(owner, "seed \(seed), round \(round)")
    }
  }

  @Test("two counters at once count each change once")
  func concurrent() throws {
    let database = try AnalyticsPlay.database()
    let owner = try BlockingConnection(database.url)
    try Migrator(owner).up()
    var play = try AnalyticsPlay(owner, seed: 7)
    let counters = try [(Int64(3), Int64(0)), (5, 1_000)].map { limit, patience in
      try Counter(database.url, limit: limit, patience: patience)
    }
    for _ in 1...300 { try play.step() }
    for counter in counters { counter.finish() }
    #expect(counters.allSatisfy { $0.failures.load(ordering: .relaxed) == 0 })
    #expect(counters.reduce(0) { $0 + $1.counted.load(ordering: .relaxed) } > 0)
    try countAll(owner)
    try expectRecomputed(owner, "two counters")
  }

  @Test("an upgrade and a downgrade in the midst of counting lose and double nothing")
  func upgraded() throws {
    let database = try AnalyticsPlay.database()
    let owner = try BlockingConnection(database.url)
    let migrator = try Migrator(owner)
    try migrator.up(to: AnalyticsCountTests.before)
    var play = try AnalyticsPlay(owner, seed: 11)
    // The statement of a gateway of the release before, prepared before the upgrade.
    let older = try BlockingConnection(database.url)
    try older.execute(
      script: "PREPARE count (bigint) AS SELECT chirrup_count($1::bigint::integer)")
    for round in 1...2 {
      for _ in 1...80 { try play.step() }
      try older.execute(script: "EXECUTE count (25)")
      try migrator.up()
      for _ in 1...40 { try play.step() }
      try older.execute(script: "EXECUTE count (3)")
      _ = try count(owner, 4)
      #expect(try owner.number("SELECT count(*) FROM chat_analytics_pending") > 0)
      if round == 2 { break }
      try migrator.down(to: AnalyticsCountTests.before)
      for _ in 1...40 { try play.step() }
      while try older.ask(script: "EXECUTE count (25)").int(0, 0) ?? 0 > 0 {}
      try expectRecomputed(owner, "after down")
    }
    try countAll(owner)
    try expectRecomputed(owner, "after up")
    #expect(try migrator.verify().filter { !$0.passed } == [])
  }

  @Test("a count waits for another one as long as it may, and never for a deletion of a workspace")
  func waiting() throws {
    let database = try EmptyDatabase()
    let owner = try BlockingConnection(database.url)
    try Migrator(owner).up()
    try fill(owner, conversations: 3)
    let other = try BlockingConnection(database.url)
    try other.execute(
      script: "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('chirrup_count', 0))")
    #expect(try count(owner, 500) == nil)
    #expect(try count(owner, 500, patience: 50) == nil)
    try other.execute(script: "ROLLBACK; BEGIN; DELETE FROM workspaces")
    #expect(try count(owner, 500) == 0)
    try other.execute(script: "ROLLBACK")
    #expect(try owner.number("SELECT count(*) FROM chat_analytics_pending") == 3)
    #expect(try count(owner, 2) == 2)
    try owner.execute(script: "DELETE FROM workspaces")
    #expect(try count(owner, 2) == 1)
    #expect(try owner.number("SELECT count(*) FROM chat_analytics_pending") == 0)
  }

  @Test("figures say until when every change is counted")
  func age() throws {
    let owner = try BlockingConnection(EmptyDatabase().url)
    try Migrator(owner).up()
    try fill(owner, conversations: 3)
    let workspace = try #require(try owner.run(Query("SELECT id FROM workspaces")).uuid(0, 0))
    let range = Analytics.range(workspace, from: nil, to: nil, now: WallTime(microseconds: 0))
    func isOld() throws -> Bool {
      let at = try #require(range.answer(try owner.run(range.query))?.countedAt)
      return at < WallTime(microseconds: 1_600_000_000_000_000)
    }
    try owner.execute(
      script: """
        UPDATE chat_analytics_pending SET noted_at = '2020-01-01'
        WHERE id = (SELECT min(id) FROM chat_analytics_pending)
        """)
    #expect(try isOld())
    #expect(try count(owner, 1) == 1)
    #expect(try !isOld())
    #expect(try count(owner, 9) == 2)
    #expect(try !isOld())
  }

  /// Conversations of one workspace with three messages and a claim, counted, and each as a pending
  /// change.
  private func fill(_ owner: BlockingConnection, conversations: Int) throws {
    try owner.execute(
      script: """
        INSERT INTO workspaces (id, name)
        SELECT gen_random_uuid(), 'shop' WHERE NOT EXISTS (SELECT FROM workspaces);
        SET session_replication_role = replica;
        INSERT INTO chat_sessions (workspace_id, status, last_seq, message_count, claimed_at,
          first_response_at, waiting_since)
        SELECT id, 'active', 4, 3, now(), now(), NULL
        FROM workspaces, generate_series(1, \(conversations));
        INSERT INTO chats
          (workspace_id, session_id, seq, role, kind, content, content_hash, payload)
        SELECT workspace_id, id, n, 'visitor', CASE n WHEN 2 THEN 'event' ELSE 'text' END, 'x', '',
          CASE n WHEN 2 THEN '{"event":"claimed"}'::jsonb END
        FROM chat_sessions s, generate_series(1, 4) AS n
        WHERE NOT EXISTS (SELECT FROM chats c WHERE c.session_id = s.id);
        SET session_replication_role = origin;
        INSERT INTO chat_analytics_pending (workspace_id, session_id)
        SELECT workspace_id, id FROM chat_sessions LIMIT 300
        """)
  }

  /// The pages of tables and indexes that a count of changes of 200 conversations touches.
  private func pagesOfCount(_ owner: BlockingConnection) throws -> Int64 {
    // Plans of PL/pgSQL belong to a connection: each begins with the statistics of now.
    try owner.execute(
      script: """
        DISCARD PLANS;
        UPDATE chat_sessions SET status = 'closed', closed_at = now()
        WHERE id IN (SELECT id FROM chat_sessions WHERE status = 'active' LIMIT 200)
        """)
    let plan = try owner.ask(script: "EXPLAIN (ANALYZE, BUFFERS) SELECT chirrup_count(200)")
    let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
    let buffers = try #require(lines.first { $0.contains("Buffers:") })
    let pages = buffers.matches(of: /(?:hit|read)=([0-9]+)/).compactMap { Int64($0.1) }
    #expect(try owner.number("SELECT count(*) FROM chat_analytics_pending") == 0)
    return pages.reduce(0, +)
  }

  @Test("a count costs the same with 100,000 conversations in a workspace, for any statistics")
  func growth() throws {
    let owner = try BlockingConnection(EmptyDatabase().url)
    try Migrator(owner).up()
    for table in ["chats", "chat_sessions", "chat_analytics_sessions", "chat_analytics_pending"] {
      try owner.execute(script: "ALTER TABLE \(table) SET (autovacuum_enabled = off)")
    }
    try fill(owner, conversations: 2_000)
    try owner.run(Query("SELECT chirrup_recompute(id) FROM workspaces"))
    try countAll(owner)
    _ = try pagesOfCount(owner)
    try owner.execute(script: "ANALYZE")
    let small = try pagesOfCount(owner)
    try fill(owner, conversations: 98_000)
    try owner.run(Query("SELECT chirrup_recompute(id) FROM workspaces"))
    // A log of 20,000 messages is read up to its first message and its claim.
    try owner.execute(
      script: """
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
        SELECT workspace_id, id, n, 'visitor', 'x', '' FROM generate_series(5, 20000) AS n,
          (SELECT * FROM chat_sessions WHERE status = 'active' LIMIT 1) AS s
        """)
    try countAll(owner)
    let stale = try pagesOfCount(owner)
    try owner.execute(script: "ANALYZE")
    let large = try pagesOfCount(owner)
    #expect(small > 1_000)
    #expect(stale < 2 * small && large < 2 * small, "\(small), then \(stale) and \(large) pages")
  }
}

/// Counts again and again on a thread and a connection of its own.
private final class Counter: Sendable {
  let counted = Atomic<Int64>(0)
  let failures = Atomic<Int>(0)
  private let isEnding = Atomic<Bool>(false)
  private let end = DispatchSemaphore(value: 0)

  init(_ url: String, limit: Int64, patience: Int64) throws {
    let statement = Analytics.count(limit: limit, patience: patience)
    Thread.detachNewThread { [self] in
      do {
        let connection = try BlockingConnection(url)
        repeat {
          let rows = statement.answer(try connection.run(statement.query)) ?? 0
          counted.add(rows, ordering: .relaxed)
        } while !isEnding.load(ordering: .relaxed)
      } catch {
        Issue.record("a counter fails: \(error)")
        failures.add(1, ordering: .relaxed)
      }
      end.signal()
    }
  }

  /// Waits for the end of the thread.
  func finish() {
    isEnding.store(true, ordering: .relaxed)
    if end.wait(timeout: .now() + 60) == .timedOut {
      Issue.record("a counter does not end in 60 s")
    }
  }
}
