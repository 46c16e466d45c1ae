import Postgres

/// Row security, and the privileges of roles on Chirrup's tables.
extension Migrator {
  /// Fails if a role other than Chirrup's can read a secret or write a table that Chirrup created.
  /// Superusers and members of the tables' owner can in any case, and do not count. Chirrup's own
  /// roles may have the privileges that the migrations grant, and no other.
  func privilegesCheck(surplus: [DatabaseRoles.Right]) throws(MigrationFailure) -> Check {
    let name = "no role but Chirrup's reads a secret or writes its tables"
    guard try tablesOnRecord() != nil else {
      return Check(name: name, passed: true, figures: "not applicable: no table was created")
    }
    let roles = DatabaseRoles(self)
    var lines: [String] = []
    let queries = [
      Query(Migrator.exposures, [.text(roles.createdTables)]),
      Query(Migrator.sideEntrances, [.text(roles.createdTables)]), Query(DatabaseRoles.dangers),
    ]
    for query in queries {
      let rows = try run(query)
      lines += (0..<rows.count).compactMap { rows.text($0, 0) }
    }
    lines += surplus.map { "\($0.role) has \($0.privilege) on \($0.table)" }
    return Check(
      name: name, passed: lines.isEmpty,
      figures: lines.isEmpty
        ? "none does; gateways: \(try roles.logins())" : lines.joined(separator: "; "))
  }

  private static let exposures: StaticString = """
    WITH secrets (relation, col) AS (VALUES ('workspaces', 'identity_secret'),
      ('operators', 'password_hash'), ('refresh_tokens', 'token_hash'),
      ('operator_sessions', 'token_hash'), ('signing_keys', 'secret'), ('api_keys', 'token_hash'),
      ('credentials', 'ciphertext'), ('webhooks', 'secret_ciphertext'),
      ('idempotency_keys', 'body'), ('quarantine', 'body'), ('second_factors', 'secret'),
      ('second_factors', 'pending_secret'), ('recovery_codes', 'digest'),
      ('identity_secrets', 'ciphertext'), ('signing_keys', 'ciphertext'),
      ('identity_providers', 'ciphertext'), ('assist_settings', 'ciphertext')),
    created AS (
      SELECT c.oid, c.relname, c.relowner, c.relacl, c.relrowsecurity, EXISTS (
        SELECT FROM chirrup_adoptions WHERE relation = relname AND kind = 'found') AS is_found
      FROM pg_class c
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
        AND (relname = ANY (string_to_array($1, ',')) OR relname LIKE 'chirrup\\_%')
    ), granted AS (
      SELECT oid, relname, relowner, is_found, relrowsecurity, grantee, privilege_type, NULL AS col
      FROM created, aclexplode(relacl)
      UNION ALL
      SELECT oid, relname, relowner, is_found, relrowsecurity, grantee, privilege_type,
        attname::text
      FROM created JOIN pg_attribute ON attrelid = oid AND attnum > 0, aclexplode(attacl)
    ), exposed AS (
      SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role,
        CASE privilege_type WHEN 'SELECT' THEN 'reads' ELSE 'writes' END AS act, relname::text
      FROM granted g LEFT JOIN pg_roles r ON r.oid = grantee
      WHERE grantee <> relowner AND NOT coalesce(r.rolsuper, false)
        AND grantee <> coalesce(to_regrole('chirrup_gateway')::oid, 0)
        AND NOT (grantee <> 0 AND pg_has_role(grantee, relowner, 'USAGE'))
        AND CASE WHEN privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') THEN NOT is_found
          WHEN privilege_type = 'SELECT' THEN EXISTS (SELECT FROM secrets s
              WHERE s.relation = relname AND coalesce(g.col, s.col) = s.col)
            -- The older application's roles see own workspaces, if policies bind them.
            AND NOT (is_found AND (relrowsecurity AND NOT EXISTS (SELECT FROM pg_policy
                WHERE polrelid = g.oid AND polpermissive AND polcmd IN ('r', '*')
                  AND pg_get_expr(polqual, polrelid) = 'true'
                  AND (polroles = '{0}' OR grantee = ANY (polroles)))
              OR coalesce(r.rolbypassrls, false)))
          ELSE false END
    )
    SELECT format('%s %s %s', role, act, string_agg(DISTINCT relname, ', ' ORDER BY relname))
    FROM exposed GROUP BY role, act ORDER BY 1
    """

  /// Sequences of Chirrup's tables, and functions of triggers that run as the owner: a role may
  /// attach one that it may execute to a table of its own.
  private static let sideEntrances: StaticString = """
    WITH granted AS (
      SELECT 'executes' AS act, proname::text AS name, proowner AS owner, grantee
      FROM pg_proc CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
      WHERE pronamespace = quote_ident(current_schema())::regnamespace AND prosecdef
        AND proname LIKE 'chirrup\\_%'
        AND EXISTS (SELECT FROM chirrup_migrations WHERE revision LIKE '%\\_bind\\_roles')
      UNION ALL
      SELECT 'writes', s.relname::text, s.relowner, grantee
      FROM pg_class s
      JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid
        AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
      JOIN pg_class t ON t.oid = d.refobjid
      CROSS JOIN LATERAL aclexplode(s.relacl)
      WHERE s.relkind = 'S' AND privilege_type IN ('USAGE', 'UPDATE')
        AND t.relnamespace = quote_ident(current_schema())::regnamespace
        AND t.relname = ANY (string_to_array($1, ','))
        AND NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = t.relname AND kind = 'found')
    )
    SELECT format('%s %s %s', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
      act, string_agg(DISTINCT name, ', ' ORDER BY name))
    FROM granted LEFT JOIN pg_roles r ON r.oid = grantee
    WHERE grantee <> owner AND NOT coalesce(r.rolsuper, false)
      AND NOT (grantee <> 0 AND pg_has_role(grantee, owner, 'USAGE'))
    GROUP BY grantee, act ORDER BY 1
    """
}
