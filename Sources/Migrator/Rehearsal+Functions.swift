import Postgres

/// The application's functions in SQL, which PostgreSQL checks against the tables as they are now.
struct ApplicationFunctions {
  /// More are not tried.
  private static let functionsMax = 1_000

  var migrator: Migrator

  /// Those that PostgreSQL refuses.
  func invalid() throws(MigrationFailure) -> [Rehearsal.Broken] {
    let rows = try migrator.run(
      Query(
        """
        SELECT p.oid::text, p.oid::regprocedure::text FROM pg_proc p
        JOIN pg_language l ON l.oid = prolang
        WHERE lanname = 'sql' AND prokind = 'f' AND proname NOT LIKE 'chirrup\\_%'
          AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
            AND objid = p.oid AND deptype = 'e')
        ORDER BY 2 LIMIT $1
        """, [.int(Int64(Self.functionsMax))]))
    var invalid: [Rehearsal.Broken] = []
    for row in 0..<rows.count {
      guard let oid = rows.text(row, 0), let name = rows.text(row, 1) else { continue }
      try migrator.reverting { () throws(MigrationFailure) in
        if let broken = try migrator.attempt("SELECT pg_catalog.fmgr_sql_validator(\(oid))") {
          invalid.append(.init(statement: "the function \(name)", reason: broken.reason))
        }
      }
    }
    return invalid
  }
}
