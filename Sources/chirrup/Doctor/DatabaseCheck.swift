/// Whether PostgreSQL answers, in a version that the gateway knows, and takes writes.
import Postgres
import Settings

extension DoctorCheck {
  static let database = DoctorCheck(
    name: "database", symptom: "the log repeats “PostgreSQL does not answer”",
    remedy: "start PostgreSQL, or correct database_url; the log of PostgreSQL has more",
    isFoundation: true
  ) { examination in
    guard let url = examination.url(as: .gateway) else {
      return examination.facts.gatewayAnswers
        ? .failure("the private PostgreSQL in \(examination.settings.dataDirectory) does not run")
        : .skipped("the private PostgreSQL runs only while the gateway does")
    }
    let connection: BlockingConnection
    do throws(QueryFailure) {
      connection = try BlockingConnection(url)
    } catch {
      return .failure("\(error)")
    }
    examination.note { $0.database = url }
    let rows = try connection.run(
      Query(
        """
        SELECT current_setting('server_version_num')::int, current_setting('server_version'),
          pg_is_in_recovery(), current_setting('transaction_read_only')::bool
        """))
    let version = rows.text(0, 1) ?? ""
    if rows.int(0, 0) ?? 0 < 140_000 {
      return .failure("PostgreSQL is \(version)", mend: "install PostgreSQL 14 or newer")
    }
    if rows.bool(0, 2) == true {
      return .failure(
        "PostgreSQL \(version) is a standby and takes no writes",
        mend: "point database_url to the primary server, or promote this one")
    }
    if rows.bool(0, 3) == true {
      return .failure(
        "transactions are read-only", mend: "ALTER DATABASE … RESET default_transaction_read_only")
    }
    return .ok("PostgreSQL \(version) answers")
  }
}
