import Chat
import EmbeddedPostgres
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

@testable import Journal

/// R11 of the faults: PgBouncer in transaction mode, where transactions change server sessions.
@Suite(.serialized) struct PoolerTests {
  let database: TestDatabase
  let pooler: Pooler
  init() throws {
    database = try TestDatabase()
    pooler = try Pooler(before: database.url)
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

  @Test func `two writers with poison rows leave no state in a pooled server session`() throws {
    let session = try database.session()
    var one = Writer(url: pooler.url, seed: 1)
    var two = Writer(url: pooler.url, seed: 2)
    var seqs: [Int64] = []
    let known = freshIdentifier()
    for round in 0..<20 {
      let first = try append(&one) { batch in
        batch.add(session, "known", id: known)
        for row in 0..<round { batch.add(session, "one \(row)") }
        batch.add(session, body: [0x00])
      }
      #expect(first[0].verdict == (round == 0 ? .stored : .duplicate))
      #expect(first.last?.verdict == .rejected)
      seqs += first.filter { $0.verdict == .stored }.map(\.seq)
      seqs += try append(&two) { batch in
        for row in 0...round { batch.add(session, "two \(row)") }
      }.map(\.seq)
    }
    #expect(seqs == Array(1...Int64(seqs.count)))
    #expect(try database.seqs(session) == seqs)
    let stranger = try BlockingConnection(pooler.url)
    #expect(try stranger.isPooled())
    #expect(try !database.sql.isPooled())
    var servers: Set<Int64> = []
    let holder = try BlockingConnection(pooler.url)
    // Holds a server connection, whichever it is, so that the other one answers the stranger.
    try holder.execute(script: "BEGIN")
    for connection in [holder, stranger] {
      let rows = try connection.run(
        Query(
          """
          SELECT pg_backend_pid(), current_setting('enable_seqscan'),
            current_setting('statement_timeout'), current_setting('lock_timeout'),
            current_setting('plan_cache_mode'), (SELECT count(*) FROM pg_prepared_statements),
            (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
            current_user::text
          """))
      servers.insert(rows.int(0, 0) ?? 0)
      #expect((1...4).map { rows.text(0, $0) } == ["on", "0", "0", "auto"])
      #expect(rows.int(0, 5) == 0)
      #expect(rows.int(0, 6) == 0)
      #expect(rows.text(0, 7) == "chirrup")
    }
    // With one server connection, the checks above would prove nothing.
    #expect(servers.count == 2)
  }

  @Test func `the reader pipelines queries, each limited to its workspace, over pooled sessions`()
    throws
  {
    let session = try database.session()
    var writer = Writer(url: pooler.url, seed: 1)
    _ = try append(&writer) { batch in
      for row in 0..<100 { batch.add(session, "row \(row)") }
    }
    var reader = QueryConnection(url: pooler.url)
    for ticket in 0..<60 {
      let query = History.entriesQuery(
        session, of: database.workspace, after: Int64(ticket), limit: 5, bytes: 1_000)
      // Every third scoped query has the scope of another workspace and must return nothing.
      let scope = ticket % 3 == 0 ? freshIdentifier() : database.workspace
      let isTaken = reader.enqueue(
        ticket % 2 == 0 ? query : query.scoped(to: scope), ticket: UInt64(ticket),
        now: monotonicNow())
      #expect(isTaken)
    }
    var answered: [UInt64] = []
    while answered.count < 60 {
      reader.advance(now: monotonicNow())
      while let (ticket, result) = reader.takeAnswer() {
        answered.append(ticket)
        let seqs = History.decodePage(try result.get(), limit: 5, bytes: 1_000).entries.map(\.seq)
        let isForeign = ticket % 2 == 1 && ticket % 3 == 0
        let first = Int64(ticket) + 1
        #expect(seqs == (isForeign ? [] : Array(first..<first + 5)), "\(ticket)")
      }
      waitFor(reader.descriptor, wantsWrite: reader.wantsWrite, until: reader.nextDeadline)
    }
    #expect(answered == Array(0..<60))
    let isPooled = reader.isPooled
    #expect(isPooled)
  }

  @Test func `a pooler restart during a batch loses and duplicates no row`() throws {
    let session = try database.session()
    var writer = Writer(url: pooler.url, seed: 1)
    var expected: Int64 = 0
    for round in 0..<12 {
      try makeReady(&writer)
      var batch = Batch()
      for row in 0..<50 { batch.add(session, "round \(round) row \(row)") }
      writer.submit(&batch, now: monotonicNow())
      for _ in 0..<round * 20 { writer.advance(now: monotonicNow()) }
      try pooler.restart()
      let outcomes = try complete(&writer)
      #expect(outcomes.allSatisfy { $0.verdict == .stored || $0.verdict == .duplicate })
      #expect(outcomes.map(\.seq) == Array(expected + 1...expected + 50))
      expected += 50
    }
    #expect(try database.seqs(session) == Array(1...expected))
  }

  @Test func `a pooler's switch to another database is detected before results are reported`()
    throws
  {
    let session = try database.session()
    var writer = Writer(url: pooler.url, seed: 1)
    var reader = QueryConnection(url: pooler.url)
    #expect(try append(&writer) { $0.add(session, "here") }.map(\.seq) == [1])
    let first = writer.status.store
    func ask() throws -> Result<Rows, QueryFailure> {
      let isTaken = reader.enqueue(Query("SELECT 1"), ticket: 1, now: monotonicNow())
      #expect(isTaken)
      while true {
        reader.advance(now: monotonicNow())
        if let answer = reader.takeAnswer() { return answer.result }
        waitFor(reader.descriptor, wantsWrite: reader.wantsWrite, until: reader.nextDeadline)
      }
    }
    _ = try ask().get()
    // The same session without its message, as on a lagging standby after a failover.
    let other = try TestDatabase()
    try other.sql.run(
      Query(
        "INSERT INTO chat_sessions (id, workspace_id, status) VALUES ($1, $2, 'active')",
        [.uuid(session), .uuid(other.workspace)]))
    let name = try #require(other.url.firstMatch(of: /\/(journal_\d+)\?/)?.1)
    try pooler.lead(to: String(name))
    // The pooler closes each old server connection when it returns to the pool.
    while true {
      let probe = try BlockingConnection(pooler.url)
      let rows = try probe.run(Query("SELECT current_database()::text"))
      if rows.text(0, 0) == String(name) { break }
    }
    let outcomes = try append(&writer) { $0.add(session, "there") }
    let second = writer.status.store
    #expect(second != first)
    #expect(outcomes.map(\.seq) == [1])
    #expect(try other.seqs(session) == [1])
    #expect(try database.seqs(session) == [1])
    let refused = try ask()
    #expect(throws: QueryFailure.self) { try refused.get() }
    let again = try ask()
    #expect(try again.get().int(0, 0) == 1)
    let store = reader.store
    #expect(store == second)
  }

  @Test func `pending migrations are refused over a pooler, with instructions`() throws {
    let pooled = try BlockingConnection(pooler.url)
    #expect(try Migrator(pooled).up() == [])
    try Migrator(database.sql).down(to: "20261122_create_records")
    let error = #expect(throws: MigrationFailure.self) { try Migrator(pooled).up() }
    #expect(error?.description.contains("CHIRRUP_DATABASE_DIRECT_URL") == true)
    try Migrator(database.sql).up()
    #expect(try Migrator(pooled).up() == [])
  }
}
