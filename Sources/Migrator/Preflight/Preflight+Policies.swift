extension Preflight {
  /// Row security of the owner's.
  static let policies = """
    SELECT relation, '', 'has FORCE ROW LEVEL SECURITY', NULL::bigint, NULL,
      'the gateway writes as the table''s owner, which the policies would bind',
      format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY;', relation), true
    FROM adoptable WHERE relforcerowsecurity
      AND NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
    UNION ALL
    SELECT t.relation, polname, 'is a policy with the name of one of Chirrup''s', NULL, NULL,
      'it stays; Chirrup''s has the name chirrup_' || polname,
      format('ALTER POLICY %I ON %I RENAME TO app_%1$s;', polname, t.relation), false
    FROM adoptable t JOIN pg_policy ON polrelid = t.oid
    WHERE polname ~ ('^' || t.relation || '_(select|insert|update|delete)$')
    UNION ALL
    SELECT t.relation, polname, 'is a restrictive policy', NULL, NULL,
      'it stays, and hides rows from the gateway''s readers unless it names roles',
      format('ALTER POLICY %I ON %I TO …;', polname, t.relation), false
    FROM adoptable t JOIN pg_policy ON polrelid = t.oid AND NOT polpermissive
    WHERE polroles = '{0}' AND t.relation IN ('chats', 'chat_sessions')
    UNION ALL
    SELECT t.relation, polname, 'is a policy of all roles', NULL, NULL,
      'it stays: the rows that it allows are visible to the roles of analysts too, whatever their '
        'workspace', format('ALTER POLICY %I ON %I TO …;', polname, t.relation), false
    FROM adoptable t JOIN pg_policy ON polrelid = t.oid AND polpermissive AND polcmd IN ('r', '*')
    WHERE polroles = '{0}' AND t.relation IN ('chats', 'chat_sessions')
      AND polname !~ ('^' || t.relation || '_(select|insert|update|delete)$')
    UNION ALL
    SELECT t.relation, polname, 'calls ' || p.oid::regprocedure || ', which not all roles may',
      NULL, NULL, 'Chirrup''s roles get EXECUTE on it until `down`',
      format('ALTER POLICY %I ON %I TO …;', polname, t.relation), false
    FROM adoptable t JOIN pg_policy l ON polrelid = t.oid AND polroles = '{0}'
    JOIN pg_depend d ON d.classid = 'pg_policy'::regclass AND d.objid = l.oid
      AND d.refclassid = 'pg_proc'::regclass
    JOIN pg_proc p ON p.oid = d.refobjid
    WHERE NOT EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))
      WHERE grantee = 0)
    """

  /// Roles of the application that read or change the tables that are adopted.
  static let grants = """
    SELECT relation, name, format('may %s rows of the table', privileges), NULL::bigint, NULL,
      'it stays, for the rows of Chirrup too' || CASE
        WHEN bypasses THEN ', whatever policies say: the role has BYPASSRLS'
        WHEN relrowsecurity THEN ', as far as policies allow' ELSE '' END,
      format('REVOKE %s ON %I FROM %s;', privileges, relation, name), false
    FROM (SELECT relation, relrowsecurity, coalesce(bool_or(rolbypassrls), false) AS bypasses,
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS name,
        string_agg(DISTINCT privilege_type, ', ' ORDER BY privilege_type) AS privileges
      FROM adoptable CROSS JOIN LATERAL (SELECT * FROM aclexplode(relacl)
        UNION ALL SELECT a.* FROM pg_attribute, aclexplode(attacl) AS a
          WHERE attrelid = adoptable.oid) AS acl
      LEFT JOIN pg_roles r ON r.oid = grantee
      WHERE grantee <> relowner
        AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
      GROUP BY relation, relrowsecurity, grantee) AS g
    """

  /// Privileges of other roles on the table that gets a secret column, and on tables to come.
  static let privileges = """
    SELECT 'workspaces', r.name, format('may read every row of the table, which gets the column '
      'identity_secret'), NULL::bigint, NULL, 'with this secret visitors'' identities are forged',
      format('REVOKE SELECT ON workspaces FROM %s; GRANT SELECT (%s) ON workspaces TO %1$s; '
        'or: ALTER TABLE workspaces ENABLE ROW LEVEL SECURITY;', r.name,
        (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = t.oid AND attnum > 0
        AND NOT attisdropped)), true
    FROM adoptable t CROSS JOIN LATERAL (
      SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS name
      FROM aclexplode(t.relacl) LEFT JOIN pg_roles g ON g.oid = grantee
      WHERE privilege_type = 'SELECT' AND grantee <> t.relowner
        AND NOT coalesce(g.rolsuper OR g.rolbypassrls, false)
        AND NOT (grantee <> 0 AND pg_has_role(grantee, t.relowner, 'USAGE'))
        AND (NOT t.relrowsecurity OR EXISTS (SELECT FROM pg_policy WHERE polrelid = t.oid
          AND polpermissive AND polcmd IN ('r', '*') AND pg_get_expr(polqual, polrelid) = 'true'
          AND (polroles = '{0}' OR grantee = ANY (polroles))))) AS r
    WHERE t.relation = 'workspaces'
    UNION ALL
    SELECT 'default privileges', d.names, 'get privileges on every new ' || k.object, NULL, NULL,
      k.action, format('ALTER DEFAULT PRIVILEGES%s REVOKE ALL ON %sS FROM %s;', CASE
        WHEN k.kind <> 'n' THEN ' IN SCHEMA ' || quote_ident(current_schema()) ELSE '' END,
        upper(k.object), d.names), false
    FROM (SELECT defaclobjtype, string_agg(DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC'
        ELSE grantee::regrole::text END, ', ') AS names
      FROM pg_default_acl d, aclexplode(d.defaclacl)
      WHERE d.defaclrole = current_user::regrole AND grantee <> d.defaclrole
        AND d.defaclnamespace IN (0, quote_ident(current_schema())::regnamespace)
      GROUP BY defaclobjtype) AS d
    JOIN (VALUES ('r', 'table', 'they are revoked on the tables that Chirrup creates'),
      ('S', 'sequence', 'they are revoked on the sequences of Chirrup''s tables'),
      ('f', 'function', 'they are revoked on functions that run as the owner; Chirrup''s other '
        'functions run with the privileges of their caller'),
      ('n', 'schema', 'they stay: Chirrup creates no schema')) AS k (kind, object, action)
      ON k.kind = d.defaclobjtype::text
    """
}
