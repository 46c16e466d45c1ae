/// Whether the gateway's login has the rights that it needs, and none that row security does not
/// bind. Its role's privileges are compared with those that the migrations grant, in a transaction
/// that is rolled back.
import Migrator

extension DoctorCheck {
  static let roles = DoctorCheck(
    name: "roles", symptom: "the log says “permission denied”, or warns about row security",
    remedy: "see config/DATABASE.md, “Roles and row security”; chirrup migrate verify has more",
    limitMilliseconds: 30_000
  ) { examination in
    try examination.reading { connection in
      let roles = DatabaseRoles(try Migrator(connection))
      if let fault = try roles.loginFault() { return .failure(fault.problem, mend: fault.remedy) }
      let lacking = try lackingRights(examination)
      guard lacking.isEmpty else {
        return .failure(
          lacking.prefix(lackingMax).joined(separator: "; ")
            + (lacking.count > lackingMax ? "; and \(lacking.count - lackingMax) more" : ""),
          mend: "chirrup migrate repair --yes")
      }
      if let fault = try roles.loginWarning() { return .warning(fault.problem, mend: fault.remedy) }
      return .ok("row security binds the gateway's login, which owns no table")
    }
  }

  /// As many are named.
  private static let lackingMax = 5

  /// Empty without the right to compare, and while migrations are pending.
  private static func lackingRights(_ examination: Examination) throws -> [String] {
    var lacking: [String] = []
    _ = try examination.connected(as: .owner) { connection in
      let migrator = try Migrator(connection)
      guard try migrator.status().isCurrent, try IndexFaults(migrator).canCompare() else {
        return .skipped("")
      }
      lacking = try DatabaseRoles(migrator).lackingRights()
      return .skipped("")
    }
    return lacking
  }
}
