import Directory
public import Postgres
public import Settings

/// Settings of maintenance that only PostgreSQL can check: at the start, and at each reload.
public enum MaintenanceFault: Error, Equatable, CustomStringConvertible {
  case unknownZone(String)
  case noOwner

  public var description: String {
    switch self {
    case .unknownZone(let zone):
      "maintenance.window: PostgreSQL knows no time zone \"\(zone)\"; names are as in "
        + "Europe/Berlin, America/New_York and UTC (its view pg_timezone_names has all)"
    case .noOwner:
      "maintenance.audit_days: the user of database_url may not delete from audit_log; set "
        + "migrations_url to the URL of the tables' owner, or maintenance.audit_days to 0"
    }
  }

  /// - Parameter owner: a connection as the tables' owner, as far as the settings name one.
  /// - Returns: nil if the settings can be used.
  public static func find(
    _ settings: MaintenanceSettings, owner: BlockingConnection
  ) throws(QueryFailure) -> MaintenanceFault? {
    if let name = settings.window?.zone {
      let statement = LocalTime.exists(name)
      if try !statement.answer(owner.run(statement.query)) { return .unknownZone(name) }
    }
    guard settings.auditDays > 0 else { return nil }
    return try AuditLog.mayPrune.answer(owner.run(AuditLog.mayPrune.query)) ? nil : .noOwner
  }
}
