/// Whether vacuum keeps up: dead rows make tables larger and statements slower.
import Postgres

extension DoctorCheck {
  static let bloat = DoctorCheck(
    name: "bloat", symptom: "tables grow and statements get slower, week by week",
    remedy: "VACUUM (ANALYZE) the tables; then see that no old transaction or replication slot "
      + "holds autovacuum back (pg_stat_activity, pg_replication_slots)"
  ) { examination in
    try examination.reading { connection in
      let rows = try connection.run(
        Query(
          """
          SELECT quote_ident(relname), n_dead_tup, n_live_tup,
            coalesce(to_char(greatest(last_autovacuum, last_vacuum) AT TIME ZONE 'UTC',
              'YYYY-MM-DD HH24:MI "UTC"'), 'never')
          FROM pg_stat_user_tables WHERE schemaname = current_schema()
            AND n_dead_tup > $1::int8 AND n_dead_tup * 100 > n_live_tup * $2::int8
          ORDER BY n_dead_tup DESC LIMIT 5
          """, [.int(BloatFigures.deadRowsMin), .int(BloatFigures.deadPercentMin)]))
      let tables = (0..<rows.count).map { row in
        "\(rows.text(row, 0) ?? ""): \(rows.int(row, 1) ?? 0) dead rows beside "
          + "\(rows.int(row, 2) ?? 0), last vacuum \(rows.text(row, 3) ?? "")"
      }
      guard !tables.isEmpty else { return .ok("no large table has many dead rows") }
      let names = (0..<rows.count).compactMap { rows.text($0, 0) }.joined(separator: ", ")
      return .warning(
        tables.joined(separator: "; "),
        mend: "VACUUM (ANALYZE) \(names); then see that no old transaction or replication slot "
          + "holds autovacuum back (pg_stat_activity, pg_replication_slots)")
    }
  }
}

enum BloatFigures {
  /// Autovacuum begins at 20 % by default; below these numbers it is only about to.
  static let deadRowsMin: Int64 = 20_000
  static let deadPercentMin: Int64 = 40
}
