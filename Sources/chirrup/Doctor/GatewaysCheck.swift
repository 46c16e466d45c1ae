/// Whether the gateways of this database fit together.
import Directory
import Migrator
import Settings
import SharedSQL

extension DoctorCheck {
  static let gateways = DoctorCheck(
    name: "gateways", symptom: "with several gateways, what one does fails on another",
    remedy: "install the same version on every gateway"
  ) { examination in
    try examination.reading { connection in
      let here = GatewayTraits(
        version: Version.text, schema: try Chain.embedded().head ?? "",
        keys: SecretBox(configured: examination.settings.credentialsKeys, signingKey: []).keyIDs)
      let running = try Migrator(connection).gateways()
      func list(_ gateways: [GatewayProcess]) -> String {
        gateways.map { gateway in
          let differences = here.differences(of: gateway.traits).joined(separator: ", ")
          return differences.isEmpty ? "\(gateway)" : "\(gateway): \(differences)"
        }.joined(separator: "; ")
      }
      let strangers = running.filter { here.hasKeys(unlike: $0.traits) }
      guard strangers.isEmpty else {
        return .failure(
          "gateways run with another credentials_key than these settings: \(list(strangers))",
          mend: "set the same credentials_key for every gateway (CHIRRUP_CREDENTIALS_KEY_FILE; "
            + "config/SECURITY.md) and restart those that differ")
      }
      let others = running.filter { !here.differences(of: $0.traits).isEmpty }
      guard others.isEmpty else { return .warning("other programs run: \(list(others))") }
      return .ok(running.isEmpty ? "no gateway runs" : "\(running.count) run: \(list(running))")
    }
  }
}
