/// Whether the schema is that of this version.
import Migrator
import Settings

extension DoctorCheck {
  static let schema = DoctorCheck(
    name: "schema", symptom: "the gateway does not start: migrations are pending, or unknown",
    remedy: "chirrup migrate up"
  ) { examination in
    try examination.reading { connection in
      let plan = try Migrator(connection).status()
      if !plan.newer.isEmpty {
        let names = plan.newer.joined(separator: ", ")
        let text = "a newer chirrup has migrated the database: \(names)"
        let mend = "install that version of chirrup, or a newer one"
        guard (try? plan.standing()) != nil else { return .failure(text, mend: mend) }
        return .warning(text + "; gateways of this release can run on it", mend: mend)
      }
      if !plan.strays.isEmpty {
        return .failure(
          "unknown migrations are recorded: \(plan.strays.joined(separator: ", "))",
          mend: "chirrup migrate repair")
      }
      guard let first = plan.pending.first else {
        let unfinished = plan.unfinished.count
        return .ok(
          unfinished == 0
            ? "all \(plan.lines.count) migrations are applied"
            : "all are applied but \(unfinished), for chirrup migrate finish")
      }
      let text = "\(plan.pending.count) migrations are pending; the first is \(first)"
      if examination.facts.gatewayAnswers || !examination.settings.migrate { return .failure(text) }
      return .warning(text + "; the next start applies them")
    }
  }
}
