import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// A role that does not own the tables reads and changes the conversations of one workspace only,
/// even with a deliberately wrong statement.
@Suite struct RowSecurityTests {
  private static let a = Identifier(high: 0x1000_0000_0000_4000, low: 0x8000_0000_0000_000A)
  private static let b = Identifier(high: 0x1000_0000_0000_4000, low: 0x8000_0000_0000_000B)
  private static let vera = Identifier(high: 0x2000_0000_0000_4000, low: 0x8000_0000_0000_000A)

  /// Two workspaces with two sessions each and three messages per session. Vera owns the first
  /// session of workspace A.
  private static let content = """
    INSERT INTO workspaces (id, name) VALUES
      ('10000000-0000-4000-8000-00000000000a', 'A'), ('10000000-0000-4000-8000-00000000000b', 'B');
    INSERT INTO chat_sessions (workspace_id, title, user_id, last_seq)
      SELECT id, name || n, CASE WHEN name = 'A' AND n = 1
        THEN '20000000-0000-4000-8000-00000000000a'::uuid ELSE gen_random_uuid() END, 3
      FROM workspaces, generate_series(1, 2) n;
    INSERT INTO chats (workspace_id, session_id, seq, role, kind, content, content_hash)
      SELECT workspace_id, id, n, 'operator', CASE n WHEN 3 THEN 'note' ELSE 'text' END, title, ''
      FROM chat_sessions, generate_series(1, 3) n;
    """

  private func makeDatabase(_ script: String = "") throws -> (EmptyDatabase, BlockingConnection) {
    let database = try EmptyDatabase()
    let owner = try BlockingConnection(database.url)
    try owner.execute(script: "SELECT 1; \(script)")
    try Migrator(owner).up()
    try owner.execute(script: RowSecurityTests.content)
    return (database, owner)
  }

  /// An application role with all privileges on the tables, restricted only by the policies.
  private func tenant(
    _ name: String, _ owner: BlockingConnection, _ database: EmptyDatabase, settings: String
  ) throws -> BlockingConnection {
    try owner.execute(
      script: """
        CREATE ROLE \(name)_\(database.name);
        GRANT chirrup_reader TO \(name)_\(database.name);
        GRANT ALL ON ALL TABLES IN SCHEMA public TO \(name)_\(database.name);
        """)
    let connection = try BlockingConnection(database.url)
    try connection.execute(script: "SET ROLE \(name)_\(database.name); \(settings)")
    return connection
  }

  private func count(_ connection: BlockingConnection, _ sql: StaticString) throws -> Int {
    let rows = try connection.run(Query(sql))
    return rows.count > 0 ? Int(rows.int(0, 0) ?? 0) : rows.affected
  }

  @Test func `a role of workspace A cannot read, change or delete rows of workspace B`() throws {
    let (database, owner) = try makeDatabase()
    let a = try tenant(
      "a", owner, database,
      settings: "SET chirrup.workspace_id = '\(RowSecurityTests.a)'")
    #expect(try a.texts("SELECT title FROM chat_sessions ORDER BY 1") == ["A1", "A2"])
    #expect(try a.texts("SELECT DISTINCT content FROM chats ORDER BY 1") == ["A1", "A2"])
    #expect(try count(a, "SELECT count(*) FROM chats WHERE content LIKE 'B%' OR true") == 6)
    #expect(
      try count(
        a, "SELECT count(*) FROM chats c JOIN chat_sessions s ON s.workspace_id <> c.workspace_id")
        == 0)
    #expect(try count(a, "UPDATE chats SET content = 'x' WHERE content LIKE 'B%'") == 0)
    #expect(try count(a, "UPDATE chat_sessions SET title = 'x' WHERE title LIKE 'B%'") == 0)
    #expect(try count(a, "DELETE FROM chats WHERE content LIKE 'B%'") == 0)
    #expect(try count(a, "DELETE FROM chat_sessions WHERE title LIKE 'B%'") == 0)
    // The role cannot insert rows into another workspace, and cannot move its own rows there.
    let refused = SQLState("42501")
    for sql: StaticString in [
      """
      INSERT INTO chat_sessions (workspace_id) VALUES ('10000000-0000-4000-8000-00000000000b')
      """,
      """
      INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
      VALUES ('10000000-0000-4000-8000-00000000000b', gen_random_uuid(), 9, 'bot', 'x', '')
      """,
      "UPDATE chat_sessions SET workspace_id = '10000000-0000-4000-8000-00000000000b'",
      "UPDATE chats SET workspace_id = '10000000-0000-4000-8000-00000000000b'",
    ] {
      do throws(QueryFailure) {
        try a.run(Query(sql))
        Issue.record("\(sql)")
      } catch {
        guard case .refused(refused, _) = error else {
          Issue.record("\(error)")
          return
        }
      }
    }
    #expect(try count(a, "DELETE FROM chats") == 6)
    #expect(try count(owner, "SELECT count(*) FROM chats") == 6)
  }

  @Test
  func `a visitor reads only the visitor's session without notes, and writes only as visitor`()
    throws
  {
    let (database, owner) = try makeDatabase()
    let vera = try tenant(
      "vera", owner, database,
      settings: "SET chirrup.workspace_id = '\(RowSecurityTests.a)'; "
        + "SET chirrup.user_id = '\(RowSecurityTests.vera)'")
    #expect(try vera.texts("SELECT title FROM chat_sessions") == ["A1"])
    #expect(try vera.texts("SELECT kind FROM chats") == ["text", "text"])
    #expect(try count(vera, "UPDATE chats SET content = 'x'") == 0)
    #expect(try count(vera, "DELETE FROM chats") == 0)
    #expect(try count(vera, "DELETE FROM chat_sessions") == 0)
    #expect(throws: QueryFailure.self) {
      try vera.run(
        Query(
          """
          INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
          SELECT workspace_id, id, 4, 'operator', 'forged', '' FROM chat_sessions
          """))
    }
    #expect(
      try count(
        vera,
        """
        INSERT INTO chats (workspace_id, session_id, seq, role, user_id, content, content_hash)
        SELECT workspace_id, id, 4, 'visitor', user_id, 'hello', '' FROM chat_sessions
        """) == 1)
  }

  @Test func `without the settings or the role, no rows are visible`() throws {
    let (database, owner) = try makeDatabase()
    let none = try tenant("none", owner, database, settings: "")
    #expect(try count(none, "SELECT count(*) FROM chats") == 0)
    try owner.execute(
      script: """
        CREATE ROLE stranger_\(database.name);
        GRANT ALL ON ALL TABLES IN SCHEMA public TO stranger_\(database.name)
        """)
    let stranger = try BlockingConnection(database.url)
    // A role that can run statements must not select a workspace by a setting.
    try stranger.execute(
      script: """
        SET ROLE stranger_\(database.name); SET chirrup.workspace_id = '\(RowSecurityTests.a)'
        """)
    #expect(try count(stranger, "SELECT count(*) FROM chat_sessions") == 0)
  }

  @Test func `row security uses Supabase's user id function where it exists`() throws {
    let (database, owner) = try makeDatabase(
      """
      CREATE SCHEMA auth;
      CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS
        $$ SELECT nullif(current_setting('request.jwt.claim.sub', true), '')::uuid $$;
      """)
    try owner.execute(
      script: """
        CREATE ROLE authenticated_\(database.name);
        GRANT USAGE ON SCHEMA auth TO authenticated_\(database.name);
        GRANT ALL ON ALL TABLES IN SCHEMA public TO authenticated_\(database.name)
        """)
    let user = try BlockingConnection(database.url)
    try user.execute(
      script: """
        SET ROLE authenticated_\(database.name);
        SET request.jwt.claim.sub = '\(RowSecurityTests.vera)'
        """)
    #expect(try user.texts("SELECT title FROM chat_sessions") == ["A1"])
    #expect(try user.texts("SELECT kind FROM chats") == ["text", "text"])
    try user.execute(script: "SET request.jwt.claim.sub = '\(RowSecurityTests.a)'")
    #expect(try count(user, "SELECT count(*) FROM chats") == 0)
    #expect(try count(user, "DELETE FROM chat_sessions") == 0)
  }

  @Test func `a scoped query reads one workspace, and the next unscoped query reads all`() throws {
    let (_, owner) = try makeDatabase()
    let wrong = Query("SELECT DISTINCT content FROM chats ORDER BY 1")
    let rows = try owner.run(wrong.scoped(to: RowSecurityTests.b))
    #expect((0..<rows.count).compactMap { rows.text($0, 0) } == ["B1", "B2"])
    #expect(try owner.run(wrong).count == 4)
    #expect(try owner.run(Query("SELECT current_setting('role')")).text(0, 0) == "none")
    #expect(throws: QueryFailure.self) {
      try owner.run(Query("DELETE FROM chats").scoped(to: RowSecurityTests.b))
    }
    #expect(try owner.run(wrong).count == 4)
  }

  @Test func `a user without CREATEROLE migrates with a notice, and reads as the owner`() throws {
    let database = try EmptyDatabase()
    let owner = try BlockingConnection(database.url)
    // The roles exist on this server, but the user is not a member of them.
    let user = "plain_\(database.name)"
    try owner.execute(
      script: """
        CREATE ROLE \(user) LOGIN; GRANT CREATE ON SCHEMA public TO \(user);
        GRANT CREATE ON DATABASE \(database.name) TO \(user)
        """)
    let plain = try BlockingConnection(
      database.url.replacing("user=chirrup", with: "user=\(user)"))
    let migrator = try Migrator(plain)
    var notices: [String] = []
    try migrator.up { if case .notice(let text) = $0 { notices.append(text) } }
    #expect(
      notices.contains { $0.contains("A superuser mends it: GRANT chirrup_reader TO \(user)") })
    try plain.execute(script: RowSecurityTests.content)
    let all = Query("SELECT DISTINCT content FROM chats")
    #expect(try plain.run(all.scoped(to: RowSecurityTests.a)).count == 4)
    let failed = try migrator.verify().filter { !$0.passed }
    #expect(
      failed.map(\.name) == [
        "row security applies to the gateway's readers",
        "row security binds every role, and the gateway's has its privileges",
      ])
    #expect(failed.last?.figures.contains("GRANT chirrup_gateway TO \(user)") == true)
    // The statements in the notices repair this.
    try owner.execute(script: "GRANT chirrup_reader TO \(user); GRANT chirrup_gateway TO \(user)")
    #expect(try migrator.repair() == [])
    #expect(try migrator.verify().allSatisfy(\.passed))
    #expect(try plain.run(all.scoped(to: RowSecurityTests.a)).count == 2)
  }

  @Test func `every table has a comment`() throws {
    let (_, owner) = try makeDatabase()
    #expect(
      try owner.texts(
        """
        SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
          AND relkind = 'r' AND obj_description(oid) IS NULL
        """) == [])
  }
}
