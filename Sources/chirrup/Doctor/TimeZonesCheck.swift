/// Whether PostgreSQL has the data of time zones, which opening hours, analytics and the window of
/// maintenance need.
import Directory
import Gateway
import Postgres
import Settings

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
      guard rows.int(0, 0) == 4 else { return .failure("PostgreSQL lacks time zones") }
      let zone = examination.settings.maintenance.window?.zone
      if let zone, try !connection.run(LocalTime.exists(zone)) {
        return .failure(
          "\(MaintenanceFault.unknownZone(zone))", mend: "correct maintenance.window")
      }
      return .ok("PostgreSQL knows the time zones")
    }
  }
}
