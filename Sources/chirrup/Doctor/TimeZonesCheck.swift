/// Whether PostgreSQL has the data of time zones, which opening hours and analytics need.
import Postgres

extension DoctorCheck {
  static let timeZones = DoctorCheck(
    name: "time_zones", symptom: "opening hours and analytics fail: “time zone not recognized”",
    remedy: "install the package tzdata on PostgreSQL's machine"
  ) { examination in
    try examination.reading { connection in
      let rows = try connection.run(
        Query(
          """
          SELECT count(*) FROM pg_timezone_names
          WHERE name IN ('Europe/Berlin', 'America/New_York', 'Asia/Bangkok', 'Australia/Sydney')
          """))
      return rows.int(0, 0) == 4
        ? .ok("PostgreSQL knows the time zones") : .failure("PostgreSQL lacks time zones")
    }
  }
}
