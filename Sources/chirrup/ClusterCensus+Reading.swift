/// Reads what must be equal before and after an upgrade of the cluster.
import EmbeddedPostgres
import Postgres

extension ClusterCensus {
  /// Reads all databases of the server.
  init(at url: String) throws {
    let connection = try BlockingConnection(url)
    let locale = try connection.run(
      Query(
        """
        SELECT pg_encoding_to_char(encoding), datcollate, datctype,
          coalesce(to_jsonb(d) ->> 'datlocprovider', 'c')
        FROM pg_database d WHERE datname = 'template0'
        """))
    var facts = try ClusterCensus.facts(connection, ClusterCensus.roles, prefix: "")
    let databases = try ClusterCensus.databases(at: url)
    for database in databases {
      let connection = try BlockingConnection(PrivateCluster.url(url, of: database))
      let own = try ClusterCensus.facts(connection, ClusterCensus.objects, prefix: database + ": ")
      facts.merge(own) { $1 }
      let tables = try ClusterCensus.texts(connection, ClusterCensus.tables)
      for table in tables {
        let rows = try connection.ask(script: "SELECT count(*) FROM \(table)")
        facts["\(database): rows of \(table)"] = "\(rows.int(0, 0) ?? -1)"
      }
    }
    self.init(
      encoding: locale.text(0, 0) ?? "", collation: locale.text(0, 1) ?? "",
      characterType: locale.text(0, 2) ?? "", provider: locale.text(0, 3) ?? "",
      databases: databases, facts: facts)
  }

  static func databases(at url: String) throws -> [String] {
    try texts(
      BlockingConnection(url),
      "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1")
  }

  private static func texts(
    _ connection: BlockingConnection, _ sql: StaticString
  ) throws -> [String] {
    let rows = try connection.run(Query(sql))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  private static func facts(
    _ connection: BlockingConnection, _ script: String, prefix: String
  ) throws -> [String: String] {
    let rows = try connection.ask(script: script)
    var facts: [String: String] = [:]
    for row in 0..<rows.count {
      facts[prefix + (rows.text(row, 0) ?? "")] = rows.text(row, 1) ?? ""
    }
    return facts
  }

  /// The roles with what they may do, and their members. A digest stands for a password.
  private static let roles = """
    SELECT 'role ' || rolname, concat_ws(' ', rolsuper, rolinherit, rolcreaterole, rolcreatedb,
      rolcanlogin, rolreplication, rolbypassrls, rolconnlimit, rolvaliduntil, md5(rolpassword))
    FROM pg_authid WHERE rolname !~ '^pg_'
    UNION ALL
    SELECT 'members of ' || pg_get_userbyid(roleid),
      string_agg(DISTINCT pg_get_userbyid(member)::text, ' ' ORDER BY pg_get_userbyid(member)::text)
    FROM pg_auth_members WHERE pg_get_userbyid(roleid) !~ '^pg_' GROUP BY roleid
    UNION ALL
    SELECT concat_ws(' ', 'settings of', r.rolname, d.datname), array_to_string(setconfig, ' ')
    FROM pg_db_role_setting LEFT JOIN pg_roles r ON r.oid = setrole
      LEFT JOIN pg_database d ON d.oid = setdatabase
    UNION ALL
    SELECT 'database ' || datname, concat_ws(' ', pg_get_userbyid(datdba),
      pg_encoding_to_char(encoding), datcollate, datctype)
    FROM pg_database WHERE NOT datistemplate
    """

  /// Of one database: who owns the relations, the privileges, numbers of objects, sequences. The
  /// privilege MAINTAIN came with PostgreSQL 17.
  private static let objects = """
    WITH own AS (SELECT c.*, c.oid::regclass::text AS name FROM pg_class c
      JOIN pg_namespace n ON n.oid = relnamespace
      WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
    SELECT concat_ws(' ', relkind, name), concat_ws(' ', pg_get_userbyid(relowner), relrowsecurity,
      relforcerowsecurity, reloptions,
      (SELECT string_agg(concat_ws('=', CASE WHEN grantee = 0 THEN 'public'
            ELSE pg_get_userbyid(grantee) END, privilege_type), ' '
          ORDER BY grantee = 0, pg_get_userbyid(grantee), privilege_type)
        FROM aclexplode(relacl) WHERE privilege_type <> 'MAINTAIN'))
    FROM own WHERE relkind IN ('r', 'p', 'v', 'm', 'S')
    UNION ALL SELECT 'number of indexes', count(*)::text FROM own WHERE relkind IN ('i', 'I')
    UNION ALL SELECT 'number of policies', count(*)::text FROM pg_policy
    UNION ALL SELECT 'number of triggers', count(*)::text FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'number of event triggers', count(*)::text FROM pg_event_trigger
    UNION ALL SELECT 'number of constraints', count(*)::text
      FROM pg_constraint JOIN own ON own.oid = conrelid WHERE contype <> 'n'
    UNION ALL SELECT 'number of functions', count(*)::text FROM pg_proc
      JOIN pg_namespace n ON n.oid = pronamespace
      WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    UNION ALL SELECT 'large objects', count(*)::text FROM pg_largeobject_metadata
    UNION ALL SELECT 'extension ' || extname, '' FROM pg_extension
    UNION ALL SELECT concat_ws(' ', 'sequence', schemaname, sequencename), last_value::text
      FROM pg_sequences
    """

  private static let tables: StaticString = """
    SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind = 'r' AND nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1
    """
}
