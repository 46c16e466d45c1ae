/// Whether another transaction holds up the gateway's statements: with a lock on a table that no
/// statement of the gateway goes together with, or by doing nothing for long.
import Postgres

extension DoctorCheck {
  /// An idle transaction is a fault from this time on.
  private static let idleSeconds = 60

  static let locks = DoctorCheck(
    name: "locks", symptom: "PostgreSQL answers, but messages wait or are refused as unavailable",
    remedy: "SELECT pg_terminate_backend(…) for the process that it names, as a superuser or the "
      + "same user: its transaction is rolled back"
  ) { examination in
    try examination.reading { connection in
      let first = try holders(connection)
      guard !first.isEmpty else { return .ok("no transaction holds the gateway up") }
      // A migration or a vacuum has such a lock for a moment.
      try connection.run(Query("SELECT pg_stat_clear_snapshot()::text, pg_sleep(1)::text"))
      let second = try holders(connection).filter { holder in
        first.contains { $0.process == holder.process }
      }
      guard let one = second.first else { return .ok("no transaction holds the gateway up") }
      let found = second.map(\.text).joined(separator: "; ")
      let mend = "SELECT pg_terminate_backend(\(one.process));"
      return second.contains(where: \.isLock)
        ? .failure(found, mend: mend) : .warning(found, mend: mend)
    }
  }

  private struct Holder {
    var process: Int64
    var isLock: Bool
    var text: String
  }

  /// Locks first.
  private static func holders(_ connection: BlockingConnection) throws -> [Holder] {
    let rows = try connection.run(
      Query(
        """
        SELECT a.pid::bigint, l.held IS NOT NULL, format('process %s (user %s, %s%s) %s', a.pid,
          coalesce(a.usename, '?'), coalesce(nullif(a.state, ''), 'in a state that only a '
            || 'superuser sees'),
          coalesce(' since ' || date_trunc('second', a.xact_start), ''),
          coalesce('holds ' || l.held, 'has an open transaction, with its locks'))
        FROM pg_stat_activity a
        LEFT JOIN (
          SELECT pid, string_agg(DISTINCT format('%s on %s', mode, relname), ', ') AS held
          FROM pg_locks JOIN pg_class c ON c.oid = relation
          WHERE granted AND relnamespace = quote_ident(current_schema())::regnamespace
            AND relkind IN ('r', 'p')
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
              'AccessExclusiveLock')
          GROUP BY pid) AS l ON l.pid = a.pid
        WHERE a.pid <> pg_backend_pid() AND (l.held IS NOT NULL
          OR a.datname = current_database() AND a.state LIKE 'idle in transaction%'
            AND a.xact_start < clock_timestamp() - $1::bigint * interval '1 second')
        ORDER BY 2 DESC, a.xact_start NULLS LAST LIMIT 10
        """, [.int(Int64(idleSeconds))]))
    return (0..<rows.count).compactMap { row in
      guard let process = rows.int(row, 0), let text = rows.text(row, 2) else { return nil }
      return Holder(process: process, isLock: rows.bool(row, 1) == true, text: text)
    }
  }
}
