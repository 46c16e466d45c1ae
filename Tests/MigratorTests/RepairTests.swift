import Fixtures
import Migrator
import Postgres
import Testing

/// Stamp, verify, check and repair compare the recorded revisions with the actual schema.
@Suite struct RepairTests {
  private func connection(_ database: EmptyDatabase) throws -> BlockingConnection {
    try BlockingConnection(database.url)
  }

  private var head: String { (try? Chain(Migration.embedded().migrations).head) ?? "" }

  @Test func `stamp records a matching schema, and refuses a different one`() throws {
    let connection = try connection(EmptyDatabase())
    let migrator = try Migrator(connection)
    do {
      try migrator.stamp("20260120_create_chat_sessions")
      Issue.record("stamp accepted an empty database")
    } catch {
      guard case .schemaDiffers(_, let differences) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(differences.contains { "\($0)" == "table chat_sessions is missing" })
      #expect("\(error)".contains("fix: chirrup migrate up"))
    }
    try migrator.up()
    try connection.execute(script: "TRUNCATE chirrup_migrations")
    #expect(try migrator.stamp(head).count == Migration.embedded().migrations.count)
    #expect(try migrator.status().isCurrent)
    #expect(try migrator.stamp(head) == [])
    try connection.execute(
      script: "TRUNCATE chirrup_migrations; ALTER TABLE chats DROP COLUMN operator_name")
    do {
      try migrator.stamp(head)
      Issue.record("stamp accepted a missing column")
    } catch {
      #expect("\(error)".contains("column chats.operator_name is missing (text)"))
    }
  }

  @Test func `verify reports each kind of damage with figures`() throws {
    let connection = try connection(EmptyDatabase())
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(
      script: """
        INSERT INTO workspaces (name) VALUES ('a');
        INSERT INTO chat_sessions (workspace_id, last_seq)
          SELECT id, 4 FROM workspaces;
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
          SELECT workspace_id, id, n, 'visitor', 'x', '' FROM chat_sessions,
            unnest(ARRAY[1, 2, 4]) AS n;
        """)
    func failed() throws -> [String] {
      try migrator.verify().filter { !$0.passed }.map { "\($0.name): \($0.figures)" }
    }
    #expect(
      try failed() == [
        "the numbers of each session have no holes: 1 sessions with messages, 1 with holes"
      ])
    try connection.execute(
      script: """
        UPDATE chats SET seq = 3 WHERE seq = 4;
        DROP INDEX idx_chats_session_created;
        """)
    let after = try failed()
    #expect(after.count == 3)
    #expect(after[0].contains("index chats.idx_chats_session_created is missing"))
    #expect(after[1].contains("1 with another last_seq"))
    #expect(after[2].contains("5 of 6"))
    try connection.execute(
      script: """
        UPDATE chat_sessions SET last_seq = 3;
        CREATE INDEX idx_chats_session_created ON chats (session_id, created_at);
        """)
    #expect(try failed() == [])
  }

  @Test func `repair creates stamped tables that are missing`() throws {
    let connection = try connection(EmptyDatabase())
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(script: "DROP TABLE read_marks; DROP TABLE chats CASCADE")
    #expect(try migrator.status().isCurrent)
    let findings = try migrator.diagnose()
    #expect(findings.map(\.problem) == ["tables are missing: chats, read_marks"])
    #expect(try migrator.repair() == [])
    #expect(try migrator.diagnose() == [])
    #expect(try migrator.verify().allSatisfy(\.passed))
  }

  @Test func `repair removes a revision without a file, and refuses a newer one`() throws {
    let connection = try connection(EmptyDatabase())
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(
      script: "INSERT INTO chirrup_migrations VALUES ('20250101_lost', 'x', now(), 1, 'nowhere')")
    do {
      try migrator.up()
      Issue.record("a revision without a file was accepted")
    } catch {
      #expect("\(error)".contains("20250101_lost"))
      #expect("\(error)".contains("fix: chirrup migrate repair"))
    }
    #expect(try migrator.diagnose().map(\.problem).contains { $0.contains("20250101_lost") })
    #expect(try migrator.repair() == [])
    #expect(try migrator.status().isCurrent)
    try connection.run(
      Query(
        "INSERT INTO chirrup_migrations VALUES ('20260199_new', 'x', now(), 1, $1)",
        [.text(head)]))
    #expect(throws: MigrationFailure.newerDatabase(unknown: ["20260199_new"])) {
      try migrator.repair()
    }
    #expect(throws: MigrationFailure.newerDatabase(unknown: ["20260199_new"])) { try migrator.up() }
  }

  @Test func `a refusal names the column, the reason and the statement that repairs it`() throws {
    let database = try EmptyDatabase()
    let connection = try connection(database)
    try connection.execute(
      script: """
        CREATE TABLE workspaces (id text PRIMARY KEY, name text);
        """)
    do {
      try Migrator(connection).up()
      Issue.record("ids of another type were accepted")
    } catch {
      let text = "\(error)"
      #expect(text.contains("workspaces.id is text, and uuid in Chirrup"))
      #expect(
        text.contains("fix: ALTER TABLE workspaces ALTER COLUMN id TYPE uuid USING id::uuid;"))
    }
    #expect(
      try connection.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'chirrup%'") == 0)
  }

  @Test func `check distinguishes an orphan, several heads, a cycle, a duplicate and a bad name`() {
    func file(_ name: String, _ parent: String) -> (name: String, text: String) {
      (name + ".sql", "-- x\n-- parent: \(parent)\nSELECT 1;\n-- down\n")
    }
    let faults = Migrator.check([
      file("20260101_a", "none"), file("20260102_b", "20260101_a"),
      file("20260102_b", "20260101_a"),
      file("20260103_c", "20260101_a"), file("20260104_d", "20269999_lost"),
      file("20260105_e", "20260106_f"), file("20260106_f", "20260105_e"), ("notes.sql", "SELECT 1"),
    ])
    #expect(
      faults == [
        .badName(revision: "notes"), .duplicate(revision: "20260102_b"),
        .orphan(revision: "20260104_d", parent: "20269999_lost"),
        .severalHeads(["20260102_b", "20260103_c", "20260104_d"]),
        .cycle(["20260105_e", "20260106_f"]),
      ])
  }

  @Test func `a file's steps and batches are parsed in order, and malformed batches are refused`()
    throws
  {
    let text = """
      -- Moves.
      -- parent: none
      -- was: 00aa 11bb
      CREATE TABLE a ();

      -- batches: rows into a
      SELECT 10;
      SELECT 0;
      -- step: the rest
      SELECT 3;
      -- down
      """
    let migration = try Migration(revision: "20260101_a", text: text)
    #expect(migration.steps.map(\.title) == ["", "rows into a", "the rest"])
    #expect(migration.steps.map(\.isBatched) == [false, true, false])
    #expect(migration.steps[1].statements.map(\.line) == [7, 8])
    #expect(migration.formerChecksums == ["00aa", "11bb"])
    #expect(throws: ChainFault.badBatches(revision: "20260101_a", step: "x")) {
      try Migration(
        revision: "20260101_a",
        text: "-- a\n-- parent: none\n-- batches: x\nSELECT 1;\n-- down\n")
    }
  }

  @Test func `progress shows the rate and the remaining time`() {
    var progress = MoveProgress(title: "rows", rowsTotal: 1_000)
    progress.rowsDone = 250
    progress.milliseconds = 500
    #expect(
      "\(progress)" == "rows: 250 of 1000 rows, 500 a second", "no estimate in the first second")
    progress.milliseconds = 2_000
    #expect("\(progress)" == "rows: 250 of 1000 rows, 125 a second, about 6 s left")
    progress.rowsDone = 999
    #expect("\(progress)" == "rows: 999 of 1000 rows, 499 a second, about 1 s left")
    progress.rowsDone = 1_000
    #expect("\(progress)" == "rows: 1000 of 1000 rows, 500 a second")
    // More than were counted: nobody knows when it ends.
    progress.rowsDone = 1_100
    #expect("\(progress)" == "rows: 1100 rows, 550 a second")
    progress.rowsTotal = nil
    #expect(progress.secondsLeft == nil)
    #expect(MoveProgress(title: "none", rowsTotal: 0).rowsPerSecond == 0)
  }
}
