/// Whether PostgreSQL accepts as many connections as the gateway opens.
import Gateway
import Postgres

extension DoctorCheck {
  static let databaseConnections = DoctorCheck(
    name: "database_connections",
    symptom: "the log says “too many clients” or “too many connections for role”",
    remedy: "raise max_connections or the CONNECTION LIMIT of the role or database, or lower loops "
      + "and limits.expensive_readers"
  ) { examination in
    try examination.reading { connection in
      let rows = try connection.run(
        Query(
          """
          SELECT current_setting('max_connections')::int8
              - current_setting('superuser_reserved_connections')::int8
              - coalesce(current_setting('reserved_connections', true)::int8, 0),
            (SELECT rolconnlimit::int8 FROM pg_roles WHERE rolname = current_user),
            (SELECT datconnlimit::int8 FROM pg_database WHERE datname = current_database()),
            (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
          """))
      let needed = Int64(Gateway.databaseConnections(examination.settings))
      var limits = [("max_connections", rows.int(0, 0) ?? 0)]
      if let role = rows.int(0, 1), role >= 0 { limits.append(("the role's limit", role)) }
      if let base = rows.int(0, 2), base >= 0 { limits.append(("the database's limit", base)) }
      let text = "the gateway needs \(needed) connections"
      for (name, limit) in limits where limit < needed {
        return .failure("\(text), and \(name) allows \(limit)")
      }
      let least = limits.map(\.1).min() ?? 0
      let open = rows.int(0, 3) ?? 0
      if !examination.facts.gatewayAnswers, least - open < needed {
        return .warning("\(text), and \(max(0, least - open)) of \(least) are free")
      }
      return .ok("\(text), and \(least) are allowed; \(open) are open")
    }
  }
}
