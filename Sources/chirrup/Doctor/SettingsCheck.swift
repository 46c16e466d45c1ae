/// Whether the file, the variables and the flags are valid settings.
import Settings

extension DoctorCheck {
  static let settings = DoctorCheck(
    name: "settings", symptom: "the gateway does not start and lists settings",
    remedy: "correct the settings that it lists; config/chirrup.yaml documents all of them"
  ) { examination in
    switch examination.loaded {
    case .failure(let fault): .failure(fault.problems.joined(separator: "; "))
    case .success(let loaded) where !loaded.warnings.isEmpty:
      .warning(
        loaded.warnings.joined(separator: "; "), mend: "remove it, or correct its name")
    case .success: .ok("all settings are valid")
    }
  }
}
