/// Whether the gateway's login has the rights that it needs, and none that row security does not
/// bind.
import Migrator

extension DoctorCheck {
  static let roles = DoctorCheck(
    name: "roles", symptom: "the log says “permission denied”, or warns about row security",
    remedy: "see config/DATABASE.md, “Roles and row security”; chirrup migrate verify has more"
  ) { examination in
    try examination.reading { connection in
      let roles = DatabaseRoles(try Migrator(connection))
      if let fault = try roles.loginFault() { return .failure(fault.problem, mend: fault.remedy) }
      if let fault = try roles.loginWarning() { return .warning(fault.problem, mend: fault.remedy) }
      return .ok("row security binds the gateway's login, which owns no table")
    }
  }
}
