import EmbeddedPostgres
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The roles of Chirrup: the gateway's, which owns nothing, and the analysts', which reads one
/// workspace.
@Suite struct RoleTests {
  private static let a = "10000000-0000-4000-8000-00000000000a"
  private static let b = "10000000-0000-4000-8000-00000000000b"

  /// Each of two workspaces has a row in every table that the readers' role may read.
  private static let content = """
    INSERT INTO workspaces (id, name) VALUES ('\(a)', 'A'), ('\(b)', 'B');
    INSERT INTO operators (id, email, name, password_hash)
      SELECT id, name || '@example.org', name, 'x' FROM workspaces;
    INSERT INTO memberships (workspace_id, operator_id) SELECT id, id FROM workspaces;
    INSERT INTO visitors (id, workspace_id, name, email)
      SELECT id, id, name, name || '@example.com' FROM workspaces;
    INSERT INTO chat_sessions (id, workspace_id, user_id, last_seq, status)
      SELECT id, id, id, 1, 'closed' FROM workspaces;
    INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
      SELECT id, id, 1, 'operator', name, '' FROM workspaces;
    INSERT INTO read_marks (workspace_id, session_id, role, person_id, read_seq)
      SELECT id, id, 'visitor', id, 1 FROM workspaces;
    INSERT INTO chat_teams (id, workspace_id, name) SELECT id, id, name FROM workspaces;
    INSERT INTO chat_team_members (workspace_id, team_id, operator_id)
      SELECT id, id, id FROM workspaces;
    INSERT INTO chat_targets (workspace_id, session_id, started_at, first_response_minutes,
      resolution_minutes) SELECT id, id, now(), 5, 60 FROM workspaces;
    INSERT INTO tags (workspace_id, name) SELECT id, name FROM workspaces;
    INSERT INTO session_tags (workspace_id, session_id, tag) SELECT id, id, name FROM workspaces;
    INSERT INTO csat_responses (workspace_id, session_id, rating) SELECT id, id, 5 FROM workspaces;
    INSERT INTO friend_events (workspace_id, visitor_id, channel, event)
      SELECT id, id, 'web', 'follow' FROM workspaces;
    INSERT INTO chirrup_analysts (role_name, workspace_id) SELECT 'nobody' || name, id
      FROM workspaces;
    SELECT chirrup_recompute(id) FROM workspaces;
    INSERT INTO chat_session_figures (workspace_id, session_id, day, hour, messages)
      SELECT id, id, '2026-11-22', 1, 1 FROM workspaces;
    """

  private func makeDatabase() throws -> (EmptyDatabase, BlockingConnection) {
    let database = try EmptyDatabase()
    let owner = try BlockingConnection(database.url)
    try Migrator(owner).up()
    try owner.execute(script: RoleTests.content)
    return (database, owner)
  }

  // MARK: The catalogue

  @Test func `every table has forced row security and a constant policy of the gateway`() throws {
    let (_, owner) = try makeDatabase()
    // The migrator's own records belong to no workspace; only the owner writes them.
    #expect(
      try owner.texts(
        """
        SELECT format('%s: %s', c.relname, concat_ws(', ',
          CASE WHEN NOT relrowsecurity THEN 'no row security' END,
          CASE WHEN NOT relforcerowsecurity THEN 'not forced' END,
          CASE WHEN p.oid IS NULL THEN 'no policy of chirrup_gateway' END))
        FROM pg_class c
        LEFT JOIN pg_policy p ON polrelid = c.oid
          AND polroles = ARRAY['chirrup_gateway'::regrole::oid] AND polpermissive
          AND polcmd = '*' AND pg_get_expr(polqual, polrelid) = 'true'
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
          AND relname NOT IN ('chirrup_migrations', 'chirrup_begun', 'chirrup_adoptions')
          AND NOT (relrowsecurity AND relforcerowsecurity AND p.oid IS NOT NULL)
        ORDER BY 1
        """) == [])
  }

  @Test func `a table without a policy is found by its name`() throws {
    let (_, owner) = try makeDatabase()
    try owner.execute(
      script: "CREATE TABLE chirrup_later (workspace_id uuid REFERENCES workspaces (id))")
    let failed = try Migrator(owner).verify().filter { !$0.passed }
    #expect(failed.count == 1)
    #expect(failed.first?.figures.contains("chirrup_later") == true)
  }

  @Test func `the gateway's role reads every table, but not the adoptions of the migrator`() throws
  {
    let (_, owner) = try makeDatabase()
    #expect(
      try owner.texts(
        """
        SELECT relname FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
          AND NOT has_table_privilege('chirrup_gateway', oid, 'SELECT')
        """) == ["chirrup_adoptions"])
  }

  @Test func `only the owner executes functions that run as the owner`() throws {
    let (database, owner) = try makeDatabase()
    #expect(
      try owner.texts(
        """
        SELECT DISTINCT proname FROM pg_proc
        CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
        WHERE pronamespace = 'public'::regnamespace AND prosecdef AND grantee <> proowner
        """) == [])
    // Otherwise this trigger would sign out operators of every workspace.
    let analyst = try analyst("eve", of: RoleTests.a, owner, database)
    try analyst.execute(
      script: "CREATE TEMPORARY TABLE own (id uuid, disabled_at timestamptz, password_hash text)")
    #expect(throws: ScriptFailure.self) {
      try analyst.execute(
        script: """
          CREATE TRIGGER own_trigger AFTER UPDATE ON own FOR EACH ROW
          EXECUTE FUNCTION chirrup_note_revocation()
          """)
    }
  }

  @Test func `the gateway's role owns nothing, cannot bypass, and writes only its own tables`()
    throws
  {
    let (_, owner) = try makeDatabase()
    #expect(
      try owner.number(
        """
        SELECT count(*) FROM pg_roles WHERE rolname IN ('chirrup_gateway', 'chirrup_reader')
          AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb)
        """) == 0)
    #expect(
      try owner.number(
        """
        SELECT count(*) FROM pg_shdepend WHERE deptype = 'o'
          AND refobjid IN ('chirrup_gateway'::regrole, 'chirrup_reader'::regrole)
        """) == 0)
    // No message, workspace or line of the audit log can be deleted, none of the log rewritten.
    #expect(
      try owner.texts(
        """
        SELECT relname || ' ' || right_name FROM pg_class,
          unnest(ARRAY['DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS right_name
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
          AND has_table_privilege('chirrup_gateway', oid, right_name)
          AND (right_name <> 'DELETE' OR relname IN ('chats', 'workspaces', 'audit_log',
            'signing_keys', 'api_keys', 'closed_counts') OR relname LIKE 'chirrup%')
        """) == [])
    #expect(
      try owner.texts(
        """
        SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
          AND (relname IN ('audit_log', 'closed_counts') OR relname LIKE 'chirrup%')
          AND has_any_column_privilege('chirrup_gateway', oid, 'UPDATE')
        """) == [])
    #expect(
      try owner.number(
        "SELECT has_schema_privilege('chirrup_gateway', 'public', 'CREATE')::integer") == 0)
  }

  // MARK: Analysts

  private func analyst(
    _ name: String, of workspace: String?, _ owner: BlockingConnection, _ database: EmptyDatabase
  ) throws -> BlockingConnection {
    let role = "\(name)_\(database.name)"
    try owner.execute(script: "CREATE ROLE \(role) LOGIN IN ROLE chirrup_reader")
    if let workspace {
      try owner.execute(
        script: "INSERT INTO chirrup_analysts VALUES ('\(role)', '\(workspace)')")
    }
    return try BlockingConnection(database.url.replacing("user=chirrup", with: "user=\(role)"))
  }

  @Test(arguments: [a, nil]) func `an analyst sees rows of the own workspace only, in every table`(
    workspace: String?
  ) throws {
    let (database, owner) = try makeDatabase()
    let analyst = try analyst("ana", of: workspace, owner, database)
    // Neither the setting nor the role nor an object of the same name changes the workspace.
    try analyst.execute(
      script: """
        SET chirrup.workspace_id = '\(RoleTests.b)'; SET ROLE chirrup_reader;
        CREATE TEMPORARY TABLE chirrup_analysts AS
          SELECT session_user::name AS role_name, '\(RoleTests.b)'::uuid AS workspace_id
        """)
    let columns = try analyst.texts(
      """
      SELECT format('SELECT count(*) FILTER (WHERE %1$s IS NOT DISTINCT FROM %2$L) * 1000 + '
        'count(*) FROM public.%3$I', CASE relname WHEN 'workspaces' THEN 'id' WHEN 'operators'
        THEN 'id' ELSE 'workspace_id' END, '10000000-0000-4000-8000-00000000000a', relname)
      FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND has_any_column_privilege(oid, 'SELECT') AND relname <> 'database_epoch'
      ORDER BY relname
      """)
    #expect(columns.count >= 15)
    for statement in columns {
      let number = try analyst.ask(script: statement).int(0, 0) ?? -1
      #expect(number / 1000 == number % 1000, "\(statement)")
      #expect((number > 0) == (workspace != nil), "\(statement)")
    }
  }

  @Test func `an analyst reads no secret and writes nothing`() throws {
    let (database, owner) = try makeDatabase()
    let analyst = try analyst("ben", of: RoleTests.a, owner, database)
    #expect(
      try analyst.texts(
        """
        SELECT relname || '.' || attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0
          AND NOT attisdropped AND has_column_privilege(c.oid, attnum, 'SELECT')
          AND (attname ~ 'secret|password|cipher|token|credential|^key'
            OR relname ~ 'keys|tokens|operator_sessions|webhook|quarantine|credentials|idempotency'
            OR relname ~ 'second_factors|recovery_codes'
            OR relname = 'operators' AND attname NOT IN ('id', 'name'))
        """) == [])
    #expect(
      try analyst.number(
        """
        SELECT count(*) FROM pg_class c
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND (
          has_table_privilege(oid, 'DELETE, TRUNCATE')
          OR has_any_column_privilege(oid, 'INSERT, UPDATE, REFERENCES'))
        """) == 0)
  }

  // MARK: Installation

  @Test func `an owner without superuser rights keeps every right under forced row security`()
    throws
  {
    let database = try EmptyDatabase()
    let admin = try BlockingConnection(database.url)
    let user = "own_\(database.name)"
    try admin.execute(
      script: """
        CREATE ROLE \(user) LOGIN IN ROLE chirrup_gateway;
        GRANT CREATE ON SCHEMA public TO \(user);
        GRANT CREATE ON DATABASE \(database.name) TO \(user)
        """)
    let owner = try BlockingConnection(
      database.url.replacing("user=chirrup", with: "user=\(user)"))
    let migrator = try Migrator(owner)
    try migrator.up()
    try owner.execute(script: RoleTests.content)
    #expect(try owner.number("SELECT count(*) FROM visitors") == 2)
    #expect(
      try owner.number("SELECT count(*) FROM pg_class WHERE relforcerowsecurity") > 30)
    #expect(try migrator.verify().filter { !$0.passed } == [])
    try migrator.down(to: "none")
    #expect(
      try owner.texts(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [])
  }

  @Test func `down removes the roles it has made when no other database uses them`() throws {
    let (cluster, directory) = try ScratchCluster.separate()
    defer {
      cluster.stop()
      ScratchCluster.discard(directory)
    }
    let server = try BlockingConnection(cluster.url)
    try server.execute(script: "CREATE DATABASE other")
    let other = try BlockingConnection(cluster.url.replacing("/chirrup?", with: "/other?"))
    let roles: StaticString = "SELECT rolname FROM pg_roles WHERE rolname ~ '^chirrup_' ORDER BY 1"
    try Migrator(server).up()
    try Migrator(other).up()
    #expect(try server.texts(roles) == ["chirrup_gateway", "chirrup_reader"])
    var notices: [String] = []
    try Migrator(server).down(to: "none") {
      if case .notice(let text) = $0 { notices.append(text) }
    }
    #expect(try server.texts(roles) == ["chirrup_gateway", "chirrup_reader"])
    #expect(notices.contains { $0.contains("chirrup_gateway") && $0.contains("other") })
    try Migrator(other).down(to: "none")
    #expect(try server.texts(roles) == [])
    // A role that an administrator has created stays.
    try server.execute(script: "CREATE ROLE chirrup_reader NOLOGIN")
    try Migrator(server).up()
    try Migrator(server).down(to: "none")
    #expect(try server.texts(roles) == ["chirrup_reader"])
  }

  @Test func `a rehearsal waits for that of another database before it locks a table`() throws {
    let (cluster, directory) = try ScratchCluster.separate()
    defer {
      cluster.stop()
      ScratchCluster.discard(directory)
    }
    let server = try BlockingConnection(cluster.url)
    try Shape("plain").load(into: cluster.url)
    let other = try BlockingConnection(cluster.url)
    try other.execute(script: "BEGIN; CREATE ROLE chirrup_reader")
    var attempts = 0
    let rehearsal = try Migrator(server).rehearse { event in
      guard case .blocked(let attempt, _) = event else { return }
      attempts = attempt
      let locks = try? other.number(
        """
        SELECT count(*) FROM pg_locks
        WHERE relation = 'chats'::regclass AND pid <> pg_backend_pid()
        """)
      #expect(locks == 0)
      if attempt == 2 { _ = try? other.execute(script: "ROLLBACK") }
    }
    #expect(attempts == 2)
    #expect(rehearsal.isSuccess)
  }

  // MARK: verify

  @Test func `verify lists surplus rights of the roles and default privileges`() throws {
    let (database, owner) = try makeDatabase()
    let migrator = try Migrator(owner)
    #expect(try migrator.verify().filter { !$0.passed } == [])
    try owner.execute(
      script: """
        CREATE ROLE nosy_\(database.name);
        GRANT SELECT (password_hash) ON operators TO nosy_\(database.name);
        GRANT SELECT ON signing_keys TO chirrup_reader;
        GRANT DELETE ON chats TO chirrup_gateway;
        GRANT UPDATE ON chirrup_migrations TO chirrup_gateway;
        GRANT EXECUTE ON FUNCTION chirrup_note_revocation() TO PUBLIC;
        GRANT USAGE ON SEQUENCE audit_log_id_seq TO nosy_\(database.name);
        ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO chirrup_reader
        """)
    let failed = try migrator.verify().filter { !$0.passed }
    #expect(failed.count == 1)
    let figures = failed.first?.figures ?? ""
    for expected in [
      "nosy_\(database.name) reads operators", "chirrup_reader reads signing_keys",
      "chirrup_gateway has DELETE on chats", "chirrup_gateway has UPDATE on chirrup_migrations",
      "chirrup_reader has default privileges on new tables",
      "PUBLIC executes chirrup_note_revocation", "nosy_\(database.name) writes audit_log_id_seq",
    ] {
      #expect(figures.contains(expected), "\(expected) in: \(figures)")
    }
    try owner.execute(script: "ALTER TABLE visitors NO FORCE ROW LEVEL SECURITY")
    #expect(
      try migrator.verify().contains { !$0.passed && $0.figures.contains("visitors") })
  }
}
