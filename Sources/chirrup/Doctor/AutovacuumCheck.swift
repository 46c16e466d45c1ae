/// Whether PostgreSQL vacuums by itself, and every table.
import Postgres

extension DoctorCheck {
  static let autovacuum = DoctorCheck(
    name: "autovacuum",
    symptom: "tables only grow, although nothing in their statements has changed",
    remedy: "ALTER TABLE … RESET (autovacuum_enabled); or, if it is off for the server: ALTER "
      + "SYSTEM RESET autovacuum; ALTER SYSTEM RESET track_counts; SELECT pg_reload_conf();"
  ) { examination in
    try examination.reading { connection in
      let rows = try connection.run(
        Query(
          """
          SELECT name, format('ALTER SYSTEM RESET %s; SELECT pg_reload_conf();', name), 0 AS place
          FROM pg_settings WHERE name IN ('autovacuum', 'track_counts') AND NOT setting::boolean
          UNION ALL
          SELECT format('autovacuum_enabled of %s', c.oid::regclass),
            format('ALTER TABLE %s RESET (autovacuum_enabled);', c.oid::regclass), 1
          FROM pg_class c
          WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind = 'r'
            AND EXISTS (SELECT FROM pg_options_to_table(reloptions)
              WHERE option_name = 'autovacuum_enabled' AND NOT option_value::boolean)
          ORDER BY 3, 1 LIMIT 20
          """))
      let names = (0..<rows.count).compactMap { rows.text($0, 0) }
      let statements = (0..<rows.count).compactMap { rows.text($0, 1) }
      return names.isEmpty
        ? .ok("autovacuum is on, for every table")
        : .warning(
          names.joined(separator: ", ") + (names.count == 1 ? " is off" : " are off"),
          mend: statements.joined(separator: " "))
    }
  }
}
