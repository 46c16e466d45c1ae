import Postgres

/// The roles of Chirrup in this database: the gateway's, which owns nothing, and the readers'.
public struct DatabaseRoles {
  private let migrator: Migrator

  public init(_ migrator: Migrator) { self.migrator = migrator }

  /// The reason why row security does not bind the gateway's role, or why that role lacks a
  /// privilege on a table other than `missing`; nil if all is complete.
  func fault(besides missing: [String] = []) throws(MigrationFailure) -> Finding? {
    // The roles exist only after their migration.
    if try !migrator.status().pending.isEmpty { return nil }
    return try fault(lacking: rightsDifference().lacking.filter { !missing.contains($0.table) })
  }

  func fault(lacking: [Right]) throws(MigrationFailure) -> Finding? {
    if let fault = try membershipFault() { return fault }
    let tables = try migrator.run(Query(DatabaseRoles.unboundTables, [.text(createdTables)]))
    var lines = (0..<tables.count).compactMap { tables.text($0, 0) }
    lines += lacking.map { "\($0.role) lacks \($0.privilege) on \($0.table)" }
    guard !lines.isEmpty else { return nil }
    return Finding(
      problem: lines.joined(separator: "; "),
      remedy: "policies and privileges of Chirrup's own tables are created; for a table of yours: "
        + "SELECT chirrup_secure(…)")
  }

  /// `lacking` are the privileges that the gateway's role does not have; nil while migrations are
  /// pending.
  func check(lacking: [Right]?) throws(MigrationFailure) -> Check {
    let found: Finding? = if let lacking { try fault(lacking: lacking) } else { nil }
    let figures = if let found { "\(found)" } else { try memberFigures() }
    return Check(
      name: "row security binds every role, and the gateway's has its privileges",
      passed: found == nil, figures: figures)
  }

  /// The gateway's role, and its cost if it inherits the readers': their policies then belong to
  /// each of its statements.
  private func memberFigures() throws(MigrationFailure) -> String {
    let rows = try migrator.run(
      Query(
        """
        SELECT pg_has_role(to_regrole('chirrup_gateway'), to_regrole('chirrup_reader'), 'USAGE'),
          current_setting('server_version_num')::integer >= 160000
        """))
    guard !rows.isEmpty, rows.bool(0, 0) == true else { return "chirrup_gateway" }
    let remedy =
      rows.bool(0, 1) == true
      ? "GRANT chirrup_reader TO chirrup_gateway WITH INHERIT FALSE"
      : "ALTER ROLE chirrup_gateway NOINHERIT"
    return "chirrup_gateway; it inherits chirrup_reader, which costs PostgreSQL some 3 % of a "
      + "message: \(remedy)"
  }

  private func membershipFault() throws(MigrationFailure) -> Finding? {
    let rows = try migrator.run(
      Query(
        """
        SELECT to_regrole('chirrup_gateway') IS NOT NULL,
          coalesce(pg_has_role(to_regrole('chirrup_gateway'), to_regrole('chirrup_reader'),
            'MEMBER'), false),
          rolsuper OR rolbypassrls
            OR coalesce(pg_has_role(to_regrole('chirrup_gateway'), 'USAGE'), false),
          quote_ident(current_user)
        FROM pg_roles WHERE rolname = current_user
        """))
    let user = rows.text(0, 3) ?? "CURRENT_USER"
    if rows.bool(0, 0) != true {
      return Finding(
        problem: "the role chirrup_gateway is missing, so the gateway needs the tables' owner as "
          + "its user, which row security does not bind",
        remedy: "if \(user) may not create roles, as a superuser: CREATE ROLE chirrup_gateway "
          + "NOLOGIN NOINHERIT; GRANT chirrup_reader TO chirrup_gateway; GRANT chirrup_gateway TO "
          + "\(user); then: chirrup migrate repair --yes")
    }
    if rows.bool(0, 1) != true {
      return Finding(
        problem: "chirrup_gateway is not a member of chirrup_reader, so row security does not "
          + "apply to the gateway's readers",
        remedy: "as a superuser: GRANT chirrup_reader TO chirrup_gateway; then: chirrup migrate "
          + "repair --yes")
    }
    if rows.bool(0, 2) != true {
      return Finding(
        problem: "\(user), the owner of the tables, is not a member of chirrup_gateway, so row "
          + "security cannot be forced",
        remedy: "as a superuser: GRANT chirrup_gateway TO \(user); then: chirrup migrate repair "
          + "--yes")
    }
    return nil
  }

  /// The names of the tables that the migrations create, separated by commas.
  var createdTables: String {
    Set(migrator.chain.migrations.flatMap(\.createdTables)).sorted().joined(separator: ",")
  }

  /// Tables whose rows are not bound by row security. Adopted tables are not forced: that would
  /// bind the application, too.
  private static let unboundTables: StaticString = """
    SELECT format('row security of %s: %s', relname, concat_ws(', ',
      CASE WHEN NOT relrowsecurity THEN 'off' END, CASE WHEN NOT is_forced THEN 'not forced' END,
      CASE WHEN NOT has_policy THEN 'no policy of chirrup_gateway' END))
    FROM (
      SELECT relname, relrowsecurity, relforcerowsecurity OR EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = relname AND kind = 'found') AS is_forced,
        EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polpermissive AND polcmd = '*'
          AND polroles = ARRAY[to_regrole('chirrup_gateway')::oid]
          AND pg_get_expr(polqual, polrelid) = 'true') AS has_policy
      FROM pg_class c
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition
        AND (relname = ANY (string_to_array($1, ',')) OR relname LIKE 'chirrup\\_%')
        AND relname NOT IN ('chirrup_migrations', 'chirrup_begun', 'chirrup_adoptions',
          'chirrup_legacy_sessions', 'chirrup_linked_sessions')
    ) AS t WHERE NOT (relrowsecurity AND is_forced AND has_policy) ORDER BY relname
    """

  // MARK: Privileges

  /// A privilege of one of Chirrup's roles.
  struct Right: Hashable, Comparable {
    var table: String
    var role: String
    /// For example `SELECT` or `UPDATE (content)`.
    var privilege: String

    static func < (a: Right, b: Right) -> Bool {
      (a.table, a.role, a.privilege) < (b.table, b.role, b.privilege)
    }
  }

  /// Compares the privileges of Chirrup's roles with those that the migrations grant.
  func rightsDifference() throws(MigrationFailure) -> (lacking: [Right], surplus: [Right]) {
    let actual = try rights()
    let expected = try migrator.withExpectedSchema(of: migrator.chain.migrations) {
      () throws(MigrationFailure) in
      try rights()
    }
    // A privilege on a table includes the same on each of its columns.
    func covers(_ rights: Set<Right>, _ right: Right) -> Bool {
      if rights.contains(right) { return true }
      guard let space = right.privilege.firstIndex(of: " ") else { return false }
      var whole = right
      whole.privilege = String(right.privilege[..<space])
      return rights.contains(whole)
    }
    // Policies of an application read its own columns of an adopted table as the readers' role.
    let columns = try migrator.run(
      Query(
        """
        SELECT relation, format('SELECT (%s)', name) FROM chirrup_adoptions WHERE kind = 'column'
        """))
    let allowed = Set(
      (0..<columns.count).map { row in
        Right(
          table: columns.text(row, 0) ?? "", role: "chirrup_reader",
          privilege: columns.text(row, 1) ?? "")
      })
    return (
      expected.filter { !covers(actual, $0) }.sorted(),
      actual.filter { !covers(expected, $0) && !allowed.contains($0) }.sorted()
    )
  }

  /// What Chirrup's roles lack, for example “chirrup_gateway lacks INSERT on chats”. Needs the
  /// tables' owner, and all migrations.
  public func lackingRights() throws(MigrationFailure) -> [String] {
    try rightsDifference().lacking.map { "\($0.role) lacks \($0.privilege) on \($0.table)" }
  }

  private func rights() throws(MigrationFailure) -> Set<Right> {
    let rows = try migrator.run(Query(DatabaseRoles.rightsOfRoles, [.text(createdTables)]))
    var found: Set<Right> = []
    for row in 0..<rows.count {
      guard let table = rows.text(row, 0), let role = rows.text(row, 1),
        let privilege = rows.text(row, 2)
      else { continue }
      found.insert(Right(table: table, role: role, privilege: privilege))
    }
    return found
  }

  private static let rightsOfRoles: StaticString = """
    WITH tables AS (
      SELECT oid, relname, relacl FROM pg_class
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition
        AND (relname = ANY (string_to_array($1, ',')) OR relname LIKE 'chirrup\\_%')
    ), granted AS (
      SELECT relname, grantee, privilege_type, NULL AS col FROM tables, aclexplode(relacl)
      UNION ALL
      SELECT relname, grantee, privilege_type, attname::text
      FROM tables JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped,
        aclexplode(attacl)
    )
    SELECT relname, rolname, concat_ws(' ', privilege_type, '(' || col || ')')
    FROM granted JOIN pg_roles ON pg_roles.oid = grantee
    WHERE rolname IN ('chirrup_gateway', 'chirrup_reader')
    """

  /// The logins of gateways, for the figures.
  func logins() throws(MigrationFailure) -> String {
    let rows = try migrator.run(
      Query(
        """
        SELECT coalesce(string_agg(rolname, ', ' ORDER BY rolname), 'the owner') FROM pg_roles r
        WHERE rolcanlogin AND NOT rolsuper
          AND pg_has_role(r.oid, to_regrole('chirrup_gateway'), 'USAGE')
        """))
    return rows.text(0, 0) ?? ""
  }

  /// Attributes, memberships and default privileges that would let Chirrup's roles do more.
  static let dangers: StaticString = """
    SELECT format('%s has %s', rolname, concat_ws(', ', CASE WHEN rolsuper THEN 'SUPERUSER' END,
      CASE WHEN rolbypassrls THEN 'BYPASSRLS' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END))
    FROM pg_roles WHERE rolname IN ('chirrup_gateway', 'chirrup_reader')
      AND (rolsuper OR rolbypassrls OR rolcreaterole)
    UNION ALL
    SELECT 'chirrup_reader is a member of chirrup_gateway'
    WHERE pg_has_role(to_regrole('chirrup_reader'), to_regrole('chirrup_gateway'), 'MEMBER')
    UNION ALL
    SELECT DISTINCT format('%s has default privileges on new tables', grantee::regrole)
    FROM pg_default_acl, aclexplode(defaclacl)
    WHERE defaclobjtype = 'r'
      AND defaclnamespace IN (0, quote_ident(current_schema())::regnamespace)
      AND grantee IN (to_regrole('chirrup_gateway'), to_regrole('chirrup_reader'))
    """

  // MARK: Rehearsals

  /// How often a rehearsal tries to create the roles, `Migrator.lockMilliseconds` each: 10 minutes.
  static let attemptsMax = 1_200

  /// Begins the transaction of a rehearsal, with the roles. They belong to the server: a rehearsal
  /// of another database keeps them until its end, and is waited for before a table is locked.
  func begin(_ report: (Migrator.Event) -> Void) throws(MigrationFailure) {
    for attempt in 1...DatabaseRoles.attemptsMax {
      try migrator.execute("BEGIN")
      do throws(MigrationFailure) {
        try migrator.execute("SET LOCAL lock_timeout = \(Migrator.lockMilliseconds)")
        return try migrator.execute(DatabaseRoles.creation)
      } catch {
        try migrator.execute("ROLLBACK")
        guard error.isLockConflict, attempt < DatabaseRoles.attemptsMax else { throw error }
        report(.blocked(attempt: attempt, of: DatabaseRoles.attemptsMax))
      }
    }
  }

  /// As the migrations do it, which say what is missing if this user may create no roles.
  private static let creation = """
    DO $$
    DECLARE
      wanted text;
    BEGIN
      FOREACH wanted IN ARRAY ARRAY['chirrup_reader', 'chirrup_gateway'] LOOP
        BEGIN
          IF to_regrole(wanted) IS NULL THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN%s', wanted,
              CASE wanted WHEN 'chirrup_gateway' THEN ' NOINHERIT' END);
          END IF;
        EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
        END;
      END LOOP;
    END
    $$
    """

  // MARK: The end

  /// Drops the roles that Chirrup has created. They belong to the server: if another database
  /// still uses one, or this user may not drop it, it stays, and the report says why.
  func remove(_ report: (Migrator.Event) -> Void) throws(MigrationFailure) {
    let (notices, result) = migrator.connection.collectingNotices {
      Result { () throws(MigrationFailure) in try migrator.execute(DatabaseRoles.removal) }
    }
    for notice in notices { report(.notice(notice)) }
    try result.get()
  }

  private static let removal = """
    DO $$
    DECLARE
      item record;
    BEGIN
      FOR item IN
        SELECT rolname AS name, (SELECT string_agg(DISTINCT datname, ', ' ORDER BY datname)
          FROM pg_shdepend s JOIN pg_database d ON d.oid = s.dbid
          WHERE refclassid = 'pg_authid'::regclass AND refobjid = r.oid
            AND datname <> current_database()) AS users
        FROM pg_roles r WHERE rolname IN ('chirrup_gateway', 'chirrup_reader')
          AND shobj_description(oid, 'pg_authid') LIKE 'Made by Chirrup:%'
        ORDER BY rolname
      LOOP
        IF item.users IS NOT NULL THEN
          RAISE NOTICE 'The role % stays, since other databases of this server use it: %',
            item.name, item.users;
          CONTINUE;
        END IF;
        BEGIN
          EXECUTE format('DROP ROLE %I', item.name);
        EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
          RAISE NOTICE 'The role % stays: %. To drop it, as a superuser: DROP ROLE %;',
            item.name, SQLERRM, item.name;
        END;
      END LOOP;
    END
    $$
    """

  // MARK: The gateway's login

  /// A warning for the administrator if row security does not bind this connection's user; nil if
  /// it does. Needs the current schema.
  public func loginWarning() throws(MigrationFailure) -> Finding? {
    let rows = try migrator.run(
      Query(
        """
        SELECT quote_ident(current_user), CASE WHEN r.rolsuper THEN 'is a superuser'
            WHEN r.rolbypassrls THEN 'has BYPASSRLS'
            WHEN pg_has_role(c.relowner, 'USAGE') THEN 'owns the tables' END,
          to_regrole('chirrup_gateway') IS NOT NULL
        FROM pg_roles r, pg_class c
        WHERE r.rolname = current_user AND c.oid = to_regclass('chat_sessions')
        """))
    guard !rows.isEmpty, let user = rows.text(0, 0), let reason = rows.text(0, 1) else {
      return nil
    }
    let role = rows.bool(0, 2) == true ? "" : "chirrup migrate repair --yes; "
    return Finding(
      problem: "the gateway logs in as \(user), which \(reason), so that row security does not "
        + "bind it",
      remedy: "as a superuser: \(role)CREATE ROLE chirrup_app LOGIN PASSWORD '…' IN ROLE "
        + "chirrup_gateway; then set database_url to this login and migrations_url to \(user) "
        + "(config/DATABASE.md)")
  }

  /// The reason why this connection's user cannot serve, and the remedy; nil if it can, or if the
  /// tables do not exist yet.
  public func loginFault() throws(MigrationFailure) -> Finding? {
    let rows = try migrator.run(
      Query(
        """
        SELECT quote_ident(current_user) FROM pg_roles r, pg_class c
        WHERE r.rolname = current_user AND c.oid = to_regclass('signing_keys')
          AND to_regrole('chirrup_gateway') IS NOT NULL AND NOT r.rolsuper AND NOT r.rolbypassrls
          AND NOT pg_has_role(to_regrole('chirrup_gateway'), 'USAGE')
          AND (c.relforcerowsecurity OR NOT pg_has_role(c.relowner, 'USAGE'))
        """))
    guard !rows.isEmpty, let user = rows.text(0, 0) else { return nil }
    return Finding(
      problem: "the gateway logs in as \(user), which is not a member of chirrup_gateway, so that "
        + "it may not read or write the tables",
      remedy: "as a superuser: GRANT chirrup_gateway TO \(user)")
  }

  /// Whether this connection's user can apply migrations: it may create tables in the schema.
  public func canMigrate() throws(MigrationFailure) -> Bool {
    try migrator.run(
      Query("SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)")
    ).bool(0, 0) == true
  }

  /// Lets members of the server's socket log in as the gateway's role: for the private cluster,
  /// whose socket is the only access.
  public func openGatewayLogin() throws(MigrationFailure) {
    try migrator.execute(
      """
      DO $$ BEGIN
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'chirrup_gateway' AND NOT rolcanlogin) THEN
          ALTER ROLE chirrup_gateway LOGIN;
        END IF;
      END $$
      """)
  }
}
