import Fixtures
import Migrator
import Postgres
import Testing

/// The rollback of the usual guide to sessions, run by hand beside Chirrup: what would harm the
/// gateway is refused, and the refusal names `migrate down`.
@Suite struct GuardTests {
  /// Runs each statement as psql does, and returns the refusals.
  private func run(_ statements: [String], on connection: BlockingConnection) throws -> [String] {
    var refusals: [String] = []
    for statement in statements {
      do throws(ScriptFailure) {
        try connection.execute(script: statement)
      } catch {
        guard case .refused(let refusal, _) = error else { throw error }
        refusals.append("\(refusal)")
      }
    }
    return refusals
  }

  private static let message = """
    INSERT INTO chats (workspace_id, role, content)
    VALUES ('10000000-0000-4000-8000-000000000001', 'user', 'Of the old application')
    """

  private func tryGateway(_ connection: BlockingConnection) throws {
    try connection.execute(
      script: "BEGIN; " + Rehearsal.gatewayStatements.joined(separator: ";\n") + "; ROLLBACK")
  }

  @Test func `the guide's rollback is refused where Chirrup has made the sessions`() throws {
    let database = try Shape("plain").database()
    let before = try database.dump()
    let connection = try BlockingConnection(database.url)
    let migrator = try Migrator(connection)
    try migrator.up()
    let adopted = try database.dump()
    let statements = try Shape.rollbackOfGuide()
    let refusals = try run(statements, on: connection)
    #expect(refusals.count == statements.count)
    // PostgreSQL itself refuses a DROP without CASCADE of what others depend on.
    for refusal in refusals {
      #expect(refusal.contains("migrate down") || refusal.contains("objects depend on it"))
    }
    let after = try database.dump()
    #expect(after.schema == adopted.schema)
    #expect(after.rows == adopted.rows)
    try migrator.down(to: "none")
    let last = try database.dump()
    #expect(last.schema == before.schema)
    #expect(last.rows == before.rows)
  }

  @Test func `the guide's rollback takes away only what the guide has made`() throws {
    let database = try Shape("guide_applied").database()
    let before = try database.dump()
    let connection = try BlockingConnection(database.url)
    let migrator = try Migrator(connection)
    try migrator.up()
    let refusals = try run(Shape.rollbackOfGuide(), on: connection)
    #expect(refusals.contains { $0.contains("column public.chats.session_id") })
    #expect(refusals.contains { $0.contains("row security of public.chat_sessions") })
    try tryGateway(connection)
    try connection.execute(
      script: "BEGIN; " + Shape("guide_applied").oldStatements.joined(separator: ";\n")
        + "; ROLLBACK")
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    try migrator.down(to: "none")
    #expect(try database.dump().rows == before.rows)
  }

  @Test func `the application's own objects come and go as before`() throws {
    let connection = try BlockingConnection(Shape("plain").database().url)
    try Migrator(connection).up()
    let refusals = try run(
      [
        "ALTER TABLE chats ADD COLUMN own text", "CREATE INDEX own_index ON chats (own)",
        "CREATE POLICY own_policy ON chats USING (true)", "CREATE TABLE chats_archive (id uuid)",
        "ALTER TABLE chats_archive ADD COLUMN session_id uuid",
        "DROP POLICY own_policy ON chats", "DROP POLICY chats_owner ON chats",
        "DROP INDEX own_index", "DROP INDEX idx_chats_workspace",
        "ALTER TABLE chats DROP COLUMN own", "DROP TABLE chats_archive",
      ], on: connection)
    #expect(refusals == [])
    #expect(
      try run(
        ["DROP TABLE chirrup_adoptions", "ALTER TABLE chats RENAME COLUMN session_id TO own"],
        on: connection
      ).count == 2)
    // The refusal itself names the way around it.
    try connection.execute(
      script: """
        ALTER EVENT TRIGGER chirrup_guard_drops_public DISABLE;
        DROP INDEX idx_chats_session_created
        """)
  }

  @Test func `an owner who is no superuser keeps the column, and repair creates the rest`() throws {
    let database = try EmptyDatabase()
    let user = "guarded_\(database.name)"
    try BlockingConnection(database.url).execute(
      script: """
        CREATE ROLE \(user) LOGIN IN ROLE chirrup_gateway;
        GRANT CREATE ON SCHEMA public TO \(user);
        GRANT CREATE ON DATABASE \(database.name) TO \(user)
        """)
    let url = database.url.replacing("user=chirrup", with: "user=\(user)")
    try Shape("plain").load(into: url)
    let before = try database.dump()
    let connection = try BlockingConnection(url)
    let migrator = try Migrator(connection)
    var notices: [String] = []
    try migrator.up { if case .notice(let text) = $0 { notices.append(text) } }
    #expect(
      notices.contains {
        $0.hasSuffix(
          "A superuser mends it: CREATE EVENT TRIGGER chirrup_guard_drops_public ON sql_drop "
            + "EXECUTE FUNCTION public.chirrup_guard();")
      })
    let refusals = try run(
      Shape.rollbackOfGuide().filter { !$0.contains("CASCADE") }, on: connection)
    #expect(refusals.contains { $0.contains("chirrup_needs_this_until_migrate_down") })
    #expect(refusals.contains { $0.contains("cannot drop table chat_sessions") })
    try connection.execute(script: GuardTests.message)
    #expect(try migrator.verify().contains { !$0.passed })
    #expect(try migrator.repair() == [])
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    try tryGateway(connection)
    try connection.execute(script: "DELETE FROM chats WHERE content = 'Of the old application'")
    try migrator.down(to: "none")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }

  @Test func `down names the superuser's statement where the guard is not the owner's`() throws {
    let database = try EmptyDatabase()
    let admin = try BlockingConnection(database.url)
    let user = "guarded_\(database.name)"
    try admin.execute(
      script: """
        CREATE ROLE \(user) LOGIN IN ROLE chirrup_gateway;
        GRANT CREATE ON SCHEMA public TO \(user);
        GRANT CREATE ON DATABASE \(database.name) TO \(user)
        """)
    let url = database.url.replacing("user=chirrup", with: "user=\(user)")
    try Shape("plain").load(into: url)
    let connection = try BlockingConnection(url)
    let migrator = try Migrator(connection)
    try migrator.up()
    try admin.execute(
      script: """
        CREATE EVENT TRIGGER chirrup_guard_drops_public ON sql_drop
          EXECUTE FUNCTION public.chirrup_guard()
        """)
    #expect(try run(["DROP INDEX idx_chats_session_created"], on: connection).count == 1)
    do throws(MigrationFailure) {
      try migrator.down(to: "none")
      Issue.record("the owner dropped a superuser's event trigger")
    } catch {
      #expect(
        error.remedy == "as a superuser: DROP EVENT TRIGGER chirrup_guard_drops_public;")
    }
    try admin.execute(script: "DROP EVENT TRIGGER chirrup_guard_drops_public")
    try migrator.down(to: "none")
  }
}
