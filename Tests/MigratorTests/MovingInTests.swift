import EmbeddedPostgres
import Fixtures
import Migrator
import Postgres
import Testing

/// The adoption of a database keeps three promises: an interrupted or failed migration leaves no
/// changes, other roles gain no privileges, and the owner's names keep their meaning.
@Suite struct MovingInTests {
  private func failing(_ last: String) throws -> Chain {
    let (migrations, _) = Migration.embedded()
    let text = "-- Fails.\n-- parent: \(try Chain(migrations).head ?? "")\n\(last)\n-- down\n"
    return try Chain(migrations + [try Migration(revision: "20990101_fails", text: text)])
  }

  @Test func `a first migration that fails in its last step is reverted completely`() throws {
    let database = try Shape("guide_applied").database()
    let before = try database.dump()
    let connection = try BlockingConnection(database.url)
    var undone: [String] = []
    #expect(throws: MigrationFailure.self) {
      try Migrator(connection, chain: failing("SELECT 1 / 0;")).up { event in
        if case .undone(let revisions) = event { undone = revisions }
      }
    }
    #expect(undone.count == Migration.embedded().migrations.count)
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }

  @Test(arguments: ["own_triggers", "guide_applied", "guide_half", "supabase"])
  func `down reverts a migration that was killed halfway`(name: String) throws {
    let database = try Shape(name).database(rows: 6_000)
    let before = try database.dump()
    let other = try BlockingConnection(database.url)
    let connection = try BlockingConnection(database.url)
    do throws(MigrationFailure) {
      try Migrator(connection).up { event in
        guard case .progress = event else { return }
        _ = try? other.run(
          Query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """))
      }
      Issue.record("the killed migration did not fail")
    } catch {
      guard case .unavailable = error else {
        Issue.record("\(error)")
        return
      }
    }
    let migrator = try Migrator(other)
    #expect(
      try migrator.status().lines.first { $0.state == .begun }?.revision
        == "20260120_add_session_id_to_chats")
    try migrator.down(to: "none")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }

  @Test func `Supabase's roles cannot read Chirrup's secrets or write Chirrup's tables`() throws {
    let database = try Shape("supabase").database()
    let connection = try BlockingConnection(database.url)
    let migrator = try Migrator(connection)
    try migrator.up()
    #expect(
      try connection.texts(
        """
        SELECT DISTINCT format('%s %s', r, c.relname) FROM pg_class c,
          unnest(ARRAY['anon', 'authenticated', 'service_role']) AS r
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
          AND relname NOT IN ('workspaces', 'chats')
          AND (has_table_privilege(r, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR relname <> 'chat_sessions' AND has_any_column_privilege(r, c.oid, 'SELECT'))
        """) == [])
    try connection.execute(
      script: "GRANT SELECT ON signing_keys TO anon; GRANT INSERT ON operators TO PUBLIC")
    let check = try #require(try migrator.verify().first { !$0.passed })
    #expect(check.figures == "PUBLIC writes operators; anon reads signing_keys")
    try connection.execute(
      script: "REVOKE ALL ON signing_keys FROM anon; REVOKE ALL ON operators FROM PUBLIC")
    #expect(try migrator.verify().allSatisfy(\.passed))
  }

  @Test func `the LINE back end's tables keep their names if Chirrup has a separate schema`() throws
  {
    let database = try Shape("line_repaired").database()
    let before = try database.dump()
    try BlockingConnection(database.url).execute(script: "CREATE SCHEMA chirrup")
    let connection = try BlockingConnection(database.url)
    try connection.execute(script: "SET search_path = chirrup, public")
    let migrator = try Migrator(connection)
    #expect(try migrator.examine() == [])
    try migrator.up()
    for check in try migrator.verify() {
      #expect(check.passed, "\(check.name): \(check.figures)")
    }
    #expect(try connection.number("SELECT count(*) FROM messages") == 5_000)
    #expect(try connection.number("SELECT count(*) FROM public.chat_sessions") == 3)
    #expect(try connection.number("SELECT count(*) FROM chat_sessions") == 0)
    try migrator.down(to: "none")
    try connection.execute(script: "DROP SCHEMA chirrup")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }

  @Test func `a new table is sealed although another schema has a table of its name`() throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    try connection.execute(
      script: """
        CREATE TABLE extra (id int);
        CREATE SCHEMA chirrup;
        ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC;
        SET search_path = chirrup, public;
        """)
    defer {
      try? connection.execute(
        script: "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC")
    }
    let (migrations, _) = Migration.embedded()
    let text = """
      -- More.
      -- parent: \(try Chain(migrations).head ?? "")
      CREATE TABLE IF NOT EXISTS extra (id int);
      -- down
      DROP TABLE IF EXISTS extra;
      """
    let chain = try Chain(migrations + [try Migration(revision: "20990101_more", text: text)])
    try Migrator(connection, chain: chain).up()
    #expect(
      try connection.texts(
        """
        SELECT relname FROM pg_class c, aclexplode(relacl)
        WHERE relnamespace = 'chirrup'::regnamespace AND relkind = 'r' AND grantee = 0
        """) == [])
  }

  @Test func `down deletes only the Chirrup rows that the owner's constraints forbid`() throws {
    let database = try Shape("supabase").database()
    let before = try database.dump()
    let connection = try BlockingConnection(database.url)
    try Migrator(connection).up()
    try connection.execute(
      script: """
        INSERT INTO chat_sessions (id, workspace_id, user_id, context) VALUES
          ('30000000-0000-4000-8000-000000000004', '10000000-0000-4000-8000-000000000001',
            gen_random_uuid(), '{}');
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash, user_id)
        VALUES ('10000000-0000-4000-8000-000000000001', '30000000-0000-4000-8000-000000000004',
          1, 'visitor', 'from a visitor', '', gen_random_uuid()),
        ('10000000-0000-4000-8000-000000000001', '30000000-0000-4000-8000-000000000004',
          2, 'operator', 'from an operator', '', NULL);
        """)
    try Migrator(connection).down(to: "none")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }
}
