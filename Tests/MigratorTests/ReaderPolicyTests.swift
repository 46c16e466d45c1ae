import EmbeddedPostgres
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The policies of the readers do not belong to the gateway's statements, and the gateway's role
/// has all that it needs without the readers'.
@Suite struct ReaderPolicyTests {
  private static let before = "20261229_gateways"
  private static let workspace = Identifier(high: 0x1000_0000_0000_4000, low: 0x8000_0000_0000_000A)

  private static let content = """
    INSERT INTO workspaces (id, name) VALUES
      ('10000000-0000-4000-8000-00000000000a', 'A'), ('10000000-0000-4000-8000-00000000000b', 'B');
    INSERT INTO chat_sessions (id, workspace_id, last_seq) SELECT id, id, 1 FROM workspaces;
    INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
      SELECT id, id, 1, 'operator', name, '' FROM workspaces;
    """

  /// The policies of a gateway's statements besides the constant ones.
  private static let policies: StaticString = """
    SELECT relname || '.' || polname FROM pg_policy JOIN pg_class c ON c.oid = polrelid
    WHERE relnamespace = current_schema()::regnamespace
      AND pg_get_expr(polqual, polrelid) IS DISTINCT FROM 'true'
      AND EXISTS (SELECT FROM unnest(polroles) AS role
        WHERE CASE role WHEN 0 THEN true ELSE pg_has_role('chirrup_gateway', role, 'USAGE') END)
    """

  private static let inherits: StaticString =
    "SELECT pg_has_role('chirrup_gateway', 'chirrup_reader', 'USAGE')::integer"

  /// A server of its own, since the roles belong to it: as older versions made them, with a login
  /// that is a member of the gateway's role and of nothing else.
  private func withServer(_ body: (BlockingConnection, String) throws -> Void) throws {
    let (cluster, directory) = try ScratchCluster.separate()
    defer {
      cluster.stop()
      ScratchCluster.discard(directory)
    }
    let server = try BlockingConnection(cluster.url)
    try server.execute(
      script: """
        CREATE ROLE chirrup_reader NOLOGIN;
        CREATE ROLE chirrup_gateway NOLOGIN IN ROLE chirrup_reader;
        CREATE ROLE app LOGIN IN ROLE chirrup_gateway
        """)
    try body(server, cluster.url)
  }

  private func notices(of migrator: Migrator) throws -> [String] {
    var found: [String] = []
    try migrator.up { if case .notice(let text) = $0 { found.append(text) } }
    return found.filter { $0.contains("chirrup_gateway inherits chirrup_reader") }
  }

  /// What a gateway of this version and of the one before does: its own statements see and write
  /// all, its readers one workspace.
  private func tryGateway(_ connection: BlockingConnection) throws {
    #expect(try connection.number("SELECT count(*) FROM chats") == 2)
    #expect(try connection.run(Query("UPDATE chats SET content = content")).affected == 2)
    let scoped = Query("SELECT content FROM chats").scoped(to: ReaderPolicyTests.workspace)
    let rows = try connection.run(scoped)
    #expect((0..<rows.count).map { rows.text($0, 0) } == ["A"])
  }

  @Test func `a statement of the gateway has no policy but the constant one`() throws {
    let database = try EmptyDatabase()
    let owner = try BlockingConnection(database.url)
    try Migrator(owner).up()
    #expect(try owner.texts(ReaderPolicyTests.policies) == [])
    try owner.execute(script: "ALTER POLICY chats_select ON chats TO PUBLIC")
    let failed = try Migrator(owner).verify().filter { !$0.passed }
    #expect(failed.map(\.name) == ["the schema equals that of the migrations"])
    #expect(failed.first?.figures.contains("chats.chats_select") == true)
  }

  @Test func `a gateway of the version before goes on after up, down and up, in its own schema`()
    throws
  {
    try withServer { server, base in
      try server.execute(script: "CREATE SCHEMA own")
      let url = base + "&options=-csearch_path%3Down"
      let owner = try BlockingConnection(url)
      let migrator = try Migrator(owner)
      try migrator.up(to: ReaderPolicyTests.before)
      try owner.execute(script: ReaderPolicyTests.content)
      let gateway = try BlockingConnection(url.replacing("user=chirrup", with: "user=app"))
      try tryGateway(gateway)
      for round in 1...2 {
        #expect(try owner.texts(ReaderPolicyTests.policies).count > 8, "round \(round)")
        #expect(try owner.number(ReaderPolicyTests.inherits) == 1)
        #expect(try notices(of: migrator) == [])
        #expect(try owner.texts(ReaderPolicyTests.policies) == [], "round \(round)")
        #expect(try owner.number(ReaderPolicyTests.inherits) == 0)
        #expect(try migrator.verify().filter { !$0.passed } == [])
        try tryGateway(gateway)
        try tryGateway(BlockingConnection(url.replacing("user=chirrup", with: "user=app")))
        try migrator.down(to: ReaderPolicyTests.before)
        try tryGateway(gateway)
      }
    }
  }

  @Test func `what only the readers' role was given is not taken from the gateway`() throws {
    try withServer { server, _ in
      try server.execute(
        script: "CREATE TABLE tariffs (id integer); GRANT SELECT ON tariffs TO chirrup_reader")
      let migrator = try Migrator(server)
      let found = try notices(of: migrator)
      #expect(found.count == 1)
      #expect(found.first?.contains("what it inherits: table tariffs. A superuser") == true)
      #expect(try server.number("SELECT has_table_privilege('app', 'tariffs', 'SELECT')::int") == 1)
      let checks = try migrator.verify()
      #expect(checks.filter { !$0.passed } == [])
      #expect(checks.contains { $0.figures.contains("it inherits chirrup_reader, which costs") })
      try migrator.down(to: ReaderPolicyTests.before)
      try server.execute(script: "GRANT SELECT ON tariffs TO chirrup_gateway")
      #expect(try notices(of: migrator) == [])
      #expect(try server.number(ReaderPolicyTests.inherits) == 0)
      #expect(try server.number("SELECT has_table_privilege('app', 'tariffs', 'SELECT')::int") == 1)
    }
  }

  @Test func `an older version in another database keeps its way into its schema`() throws {
    try withServer { server, base in
      try server.execute(script: "CREATE DATABASE other")
      let url = base.replacing("/chirrup?", with: "/other?")
      try BlockingConnection(url).execute(script: "CREATE SCHEMA own")
      let owner = try BlockingConnection(url + "&options=-csearch_path%3Down")
      try Migrator(owner).up(to: ReaderPolicyTests.before)
      try owner.execute(script: ReaderPolicyTests.content)
      let found = try notices(of: Migrator(server))
      #expect(found.count == 1)
      #expect(found.first?.contains("what it inherits: the database other. A superuser") == true)
      let gateway = try BlockingConnection(
        url.replacing("user=chirrup", with: "user=app") + "&options=-csearch_path%3Down")
      try tryGateway(gateway)
      #expect(try notices(of: Migrator(owner)) == [])
      #expect(try server.number(ReaderPolicyTests.inherits) == 0)
      try tryGateway(gateway)
    }
  }

  @Test func `an owner who is no superuser gets the statement for one`() throws {
    try withServer { server, base in
      try server.execute(
        script: """
          CREATE ROLE plain LOGIN IN ROLE chirrup_gateway;
          GRANT CREATE ON SCHEMA public TO plain; GRANT CREATE ON DATABASE chirrup TO plain
          """)
      let migrator = try Migrator(
        BlockingConnection(base.replacing("user=chirrup", with: "user=plain")))
      let found = try notices(of: migrator)
      #expect(found.count == 1)
      #expect(found.first?.contains("can change this. A superuser mends it: ") == true)
      // The readers' policies bind the readers alone in any case.
      #expect(try migrator.verify().filter { !$0.passed } == [])
      let statement = try #require(found.first?.split(separator: "A superuser mends it: ").last)
      try server.execute(script: String(statement))
      #expect(try server.number(ReaderPolicyTests.inherits) == 0)
      let checks = try migrator.verify()
      #expect(checks.filter { !$0.passed } == [])
      #expect(!checks.contains { $0.figures.contains("inherits") })
    }
  }
}
