import Fixtures
import Migrator
import Postgres
import Testing

/// Databases that are connected with others: by publications, subscriptions, and functions.
@Suite struct ConnectedTests {
  private func findings(_ script: String) throws -> [PreflightFinding] {
    let connection = try BlockingConnection(EmptyDatabase(fixture: "workspace_chat", rows: 5).url)
    // A database with a subscription could not be dropped.
    try connection.execute(script: "BEGIN; \(script)")
    defer { try? connection.execute(script: "ROLLBACK") }
    return try Migrator(connection).examine()
  }

  @Test func `a publication is named with the statement that limits it`() throws {
    let found = try findings(
      "CREATE PUBLICATION app FOR TABLE chats; ALTER TABLE chats REPLICA IDENTITY FULL")
    let finding = try #require(found.first { $0.problem.contains("the publication app") })
    #expect(!finding.isObstacle)
    #expect(
      finding.remedy.hasSuffix(
        "(id, workspace_id, user_id, role, content, created_at); ALTER TABLE chats REPLICA "
          + "IDENTITY DEFAULT;")
        || finding.remedy.contains("on the subscriber"))
  }

  @Test func `a table that a subscription fills is refused`() throws {
    let found = try findings(
      """
      CREATE SUBSCRIPTION app CONNECTION 'host=elsewhere.example.org' PUBLICATION app
        WITH (connect = false, slot_name = NONE, enabled = false);
      INSERT INTO pg_subscription_rel
      SELECT oid, 'chats'::regclass, 'r', '0/0' FROM pg_subscription WHERE subname = 'app'
        AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      """)
    #expect(found.contains { $0.problem == "is filled by a subscription" && $0.isObstacle })
  }

  @Test func `an isolation that makes the application repeat statements is named`() throws {
    let found = try findings(
      """
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation '
        '= serializable', current_database()); END $$
      """)
    let finding = try #require(found.first { $0.table == "default_transaction_isolation" })
    #expect(finding.problem == "is serializable for all roles in this database")
    #expect(!finding.isObstacle)
  }

  @Test func `a rehearsal names a function that lists the columns of whole rows`() throws {
    let connection = try BlockingConnection(EmptyDatabase(fixture: "workspace_chat", rows: 5).url)
    try connection.execute(
      script: """
        CREATE FUNCTION app_all() RETURNS SETOF chats LANGUAGE sql AS 'SELECT * FROM chats';
        CREATE FUNCTION app_last() RETURNS SETOF chats LANGUAGE sql AS
          'SELECT id, workspace_id, user_id, role, content, created_at FROM chats'
        """)
    let migrator = try Migrator(connection)
    #expect(
      try migrator.examine().filter { $0.problem == "returns rows of chats" }.map(\.table)
        == ["app_all()", "app_last()"])
    #expect(try migrator.rehearse().broken.map(\.statement) == ["the function app_last()"])
  }

  @Test func `a schema whose name has capitals is adopted and restored`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 5)
    let connection = try BlockingConnection(database.url)
    try connection.execute(
      script: """
        CREATE SCHEMA "The App";
        ALTER TABLE chats SET SCHEMA "The App"; ALTER TABLE workspaces SET SCHEMA "The App";
        SET search_path = "The App"
        """)
    let before = try database.dump()
    let migrator = try Migrator(connection)
    #expect(try migrator.rehearse().isSuccess)
    try migrator.up()
    try connection.execute(
      script: """
        INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'x' FROM workspaces;
        DELETE FROM chats WHERE content = 'x'
        """)
    #expect(try migrator.verify().filter { !$0.passed }.map(\.figures) == [])
    try migrator.down(to: "none")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }
}
