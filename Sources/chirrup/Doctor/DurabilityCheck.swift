/// Whether PostgreSQL flushes what it has committed: without these settings an acknowledged message
/// is lost in a crash.
import Postgres

extension DoctorCheck {
  static let durability = DoctorCheck(
    name: "durability", symptom: "acknowledged messages are missing after a crash",
    remedy: "ALTER SYSTEM RESET the setting; SELECT pg_reload_conf();"
  ) { examination in
    try examination.reading { connection in
      let rows = try connection.run(
        Query(
          """
          SELECT name, setting, source FROM pg_settings
          WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
          ORDER BY name
          """))
      let found = (0..<rows.count).map { row in
        (name: rows.text(row, 0) ?? "", source: rows.text(row, 2) ?? "")
      }
      guard let first = found.first else {
        return .ok("fsync, full_page_writes and synchronous_commit are on")
      }
      let text = found.map { "\($0.name) is off (\($0.source))" }.joined(separator: ", ")
      return .failure(
        text,
        mend: ["user", "database", "database user"].contains(first.source)
          ? "ALTER ROLE or ALTER DATABASE … RESET \(first.name);"
          : "ALTER SYSTEM SET \(first.name) = on; SELECT pg_reload_conf();")
    }
  }
}
