import EmbeddedPostgres
import Fixtures
import Glibc
import Migrator
import Postgres
import Testing

@Suite struct MigratorTests {
  private let database: EmptyDatabase

  init() throws { database = try EmptyDatabase() }

  private func connect() throws -> BlockingConnection { try BlockingConnection(database.url) }

  private func tables(_ connection: BlockingConnection) throws -> [String] {
    try connection.texts(
      "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
  }

  @Test func `the embedded files form one chain and equal those in the folder`() throws {
    #expect(Migrator.check() == [])
    let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    // SAFETY: the stream is closed here, and each entry is read before the next `readdir`.
    guard let folder = unsafe opendir("/\(here)/Sources/CMigrations/sql") else {
      Issue.record("the folder of migrations is missing")
      return
    }
    defer { unsafe closedir(folder) }
    var names: Set<String> = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(".sql") { names.insert(String(name.dropLast(4))) }
    }
    #expect(Set(Migration.embedded().migrations.map(\.revision)) == names)
  }

  @Test func `status and plan change nothing, and up and down can be repeated`() throws {
    let connection = try connect()
    let migrator = try Migrator(connection)
    let all = try migrator.plan()
    #expect(try tables(connection) == [])
    #expect(try migrator.status().lines.allSatisfy { $0.state == .pending })

    var events: [Migrator.Event] = []
    #expect(try migrator.up { events.append($0) } == all)
    #expect(events.count == all.count * 2)
    #expect(try migrator.status().isCurrent)
    #expect(try migrator.up() == [])
    let made = try tables(connection)
    for table in ["chat_sessions", "chats", "operators", "read_marks", "visitors", "workspaces"] {
      #expect(made.contains(table))
    }

    #expect(try migrator.downPlan(to: "none").allSatisfy { $0.loses != nil })
    #expect(try migrator.down(to: "none") == all.reversed())
    #expect(try tables(connection) == [])
    try migrator.up()
    #expect(try tables(connection) == made)
  }

  @Test func `the six original indexes and those for queue, inbox and deletion exist by name`()
    throws
  {
    let connection = try connect()
    try Migrator(connection).up()
    let rows = try connection.run(
      Query(
        """
        SELECT indexname::text FROM pg_indexes
        WHERE tablename IN ('chats', 'chat_sessions') AND indexname NOT LIKE '%_pkey' ORDER BY 1
        """))
    #expect(
      (0..<rows.count).compactMap { rows.text($0, 0) } == [
        "chat_sessions_closed_at", "idx_chat_sessions_active", "idx_chat_sessions_claimed_at",
        "idx_chat_sessions_created_at", "idx_chat_sessions_deleted", "idx_chat_sessions_held",
        "idx_chat_sessions_line", "idx_chat_sessions_load", "idx_chat_sessions_team",
        "idx_chat_sessions_team_line", "idx_chat_sessions_user_id",
        "idx_chat_sessions_workspace_id", "idx_chats_session_created", "idx_chats_session_id",
      ])
  }

  @Test func `every migration statement is idempotent`() throws {
    let connection = try connect()
    try Migrator(connection).up()
    try connection.execute(script: "TRUNCATE chirrup_migrations")
    #expect(try Migrator(connection).up().count == Migration.embedded().migrations.count)
  }

  private static let legacy = """
    CREATE TABLE workspaces (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(), user_id uuid NOT NULL, name text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE chats (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE, user_id uuid,
      role text NOT NULL CHECK (role IN ('user', 'assistant', 'system')),
      content text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
    INSERT INTO workspaces (id, user_id, name) VALUES
      ('10000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 'Busy'),
      ('10000000-0000-4000-8000-000000000002', 'a0000000-0000-4000-8000-000000000002', 'Empty');
    INSERT INTO chats (workspace_id, role, content, created_at)
    SELECT '10000000-0000-4000-8000-000000000001',
      CASE WHEN g % 2 = 0 THEN 'user' ELSE 'assistant' END, 'message ' || g,
      timestamptz '2025-06-01' + (g / 3) * interval '1 s'
    FROM generate_series(1, 100) g;
    """

  @Test func `a workspace chat becomes one numbered legacy session, and down reverts it`() throws {
    let connection = try connect()
    try connection.execute(script: MigratorTests.legacy)
    let migrator = try Migrator(connection)
    var notices: [String] = []
    try migrator.up { if case .notice(let text) = $0 { notices.append(text) } }
    #expect(notices.count == 1)
    #expect(notices.first?.hasPrefix("Created legacy session ") == true)
    let session = try connection.run(
      Query(
        """
        SELECT title, last_seq, message_count, user_id::text, epoch FROM chat_sessions
        """))
    #expect(session.count == 1)
    #expect(session.text(0, 0) == "Legacy Chat")
    #expect(session.int(0, 1) == 100)
    #expect(session.text(0, 3) == "a0000000-0000-4000-8000-000000000001")
    let order = try connection.run(
      Query(
        """
        SELECT count(*) FROM (
          SELECT seq, row_number() OVER (ORDER BY created_at, id) AS n FROM chats
        ) AS t WHERE seq = n
        """))
    #expect(order.int(0, 0) == 100)
    // The old application still works.
    try connection.execute(
      script: "INSERT INTO workspaces (user_id, name) VALUES (gen_random_uuid(), 'New')")

    try migrator.down(to: "none")
    #expect(try tables(connection) == ["chats", "workspaces"])
    #expect(try connection.run(Query("SELECT count(*) FROM chats")).int(0, 0) == 100)
    try migrator.up()
    #expect(try connection.run(Query("SELECT count(*) FROM chat_sessions")).int(0, 0) == 1)
  }

  @Test func `a failed statement is reported with file and line, and rolled back`() throws {
    let text = """
      -- Fails in its second statement.
      -- parent: none
      CREATE TABLE half ();

      CREATE TABLE other (
        n no_such_type
      );
      -- down
      """
    let chain = try Chain([try Migration(revision: "20260101_fails", text: text)])
    let connection = try connect()
    do {
      try Migrator(connection, chain: chain).up()
      Issue.record("a statement with an unknown type was accepted")
    } catch {
      guard case .statement(let file, let line, let statement, let refusal) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(file == "20260101_fails.sql")
      #expect(line == 6)
      #expect(statement == "CREATE TABLE other (")
      #expect(refusal.state == SQLState("42704"))
    }
    #expect(try tables(connection) == [])
  }

  @Test func `several gateways that start simultaneously migrate once`() async throws {
    let url = database.url
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask { try Migrator(BlockingConnection(url)).up().count }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts.sorted() == [0, 0, 0, Migration.embedded().migrations.count])
  }

  @Test func `a database migrated by a newer binary is refused with an explanation`() throws {
    let connection = try connect()
    try Migrator(connection).up()
    try connection.execute(
      script: "INSERT INTO chirrup_migrations VALUES ('20990101_newer', 'x', now(), 1)")
    do {
      try Migrator(connection).up()
      Issue.record("a newer database was accepted")
    } catch {
      #expect("\(error)".contains("20990101_newer"))
      #expect("\(error)".contains("newer chirrup"))
    }
  }

  @Test func `down refuses while gateways run, and names them; dead and stopped ones are none`()
    throws
  {
    let connection = try connect()
    let migrator = try Migrator(connection)
    let all = try migrator.up()
    // One that was killed, one that has ended, and an older one that has said nothing of itself.
    try connection.execute(
      script: """
        INSERT INTO gateways (id, host, process_id, started_at, seen_at, stopped_at) VALUES
          (gen_random_uuid(), 'a', 1, now(), now() - interval '16 seconds', NULL),
          (gen_random_uuid(), 'b', 2, now(), now(), now());
        """)
    #expect(try migrator.gateways().isEmpty)
    // The clock of the row is ahead, so that it is fresh on a slow machine too.
    try connection.execute(
      script: """
        INSERT INTO gateways (id, version, host, process_id, started_at, seen_at) VALUES
          (gen_random_uuid(), '9.9', 'c', 3, '2026-11-25 01:02:03Z', now() + interval '1 hour');
        INSERT INTO gateways (id, seen_at) VALUES
          ('00000000-0000-4000-8000-000000000001', now() + interval '1 hour');
        """)
    let failure = #expect(throws: MigrationFailure.self) { try migrator.down(to: "none") }
    let text = failure.map { "\($0)" } ?? ""
    #expect(text.contains("process 3 on c (version 9.9, since 2026-11-25T01:02:03Z)"))
    #expect(text.contains("an older gateway (id 00000000-0000-4000-8000-000000000001)"))
    #expect(text.contains("fix: stop them"))
    #expect(try migrator.status().isCurrent)
    // Of an older schema, only the ids are known.
    try connection.execute(script: "UPDATE gateways SET seen_at = now() - interval '1 hour'")
    try migrator.down(to: all[all.count - 2].revision)
    try connection.execute(
      script: "INSERT INTO gateways VALUES (gen_random_uuid(), now() + interval '1 hour')")
    #expect(throws: MigrationFailure.self) { try migrator.down(to: "none") }
    try connection.execute(script: "DELETE FROM gateways")
    #expect(try migrator.down(to: "none").count == all.count - 1)
  }
}
