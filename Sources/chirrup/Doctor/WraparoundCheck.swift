/// Whether the tables are far from the end of the transaction ids, where PostgreSQL stops to accept
/// writes.
import Postgres

extension DoctorCheck {
  static let wraparound = DoctorCheck(
    name: "wraparound",
    symptom: "PostgreSQL warns that the database must be vacuumed, and later refuses every write",
    remedy: "VACUUM (FREEZE) the tables that it names, and end what holds vacuum back: old "
      + "transactions, prepared transactions and replication slots (pg_stat_activity, "
      + "pg_prepared_xacts, pg_replication_slots)"
  ) { examination in
    try examination.reading { connection in
      let rows = try connection.run(
        Query(
          """
          SELECT c.oid::regclass::text, a.age, a.age > $2::bigint
          FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
          CROSS JOIN LATERAL (SELECT greatest(age(c.relfrozenxid), age(t.relfrozenxid),
            mxid_age(c.relminmxid), mxid_age(t.relminmxid))::bigint AS age) AS a
          WHERE c.relkind IN ('r', 'm') AND a.age > $1::bigint
          ORDER BY a.age DESC LIMIT 5
          """, [.int(WraparoundFigures.ageMax), .int(WraparoundFigures.ageOfFailsafe)]))
      let names = (0..<rows.count).map { rows.text($0, 0) ?? "" }
      guard !names.isEmpty else { return .ok("no table is near the end of the transaction ids") }
      let tables = names.enumerated().map { row, name in
        let millions = (rows.int(row, 1) ?? 0) / 1_000_000
        return "\(name) has not been frozen for \(millions) million transactions"
      }
      let text = tables.joined(separator: "; ") + "; at 2147 million PostgreSQL refuses to write"
      let mend =
        "VACUUM (FREEZE) \(names.joined(separator: ", ")); and end what holds vacuum back: old "
        + "transactions, prepared transactions and replication slots (pg_stat_activity, "
        + "pg_prepared_xacts, pg_replication_slots)"
      return rows.bool(0, 2) == true ? .failure(text, mend: mend) : .warning(text, mend: mend)
    }
  }
}

enum WraparoundFigures {
  /// Autovacuum freezes a table after 200 million transactions by default, a busy server with other
  /// settings after more.
  static let ageMax: Int64 = 1_000_000_000
  /// From here on PostgreSQL vacuums without pauses (`vacuum_failsafe_age`).
  static let ageOfFailsafe: Int64 = 1_600_000_000
}
