/// Whether `credentials_key` is set, and opens what is encrypted in the database.
import Directory
import Settings

extension DoctorCheck {
  static let credentialsKey = DoctorCheck(
    name: "credentials_key", symptom: "logins and webhooks fail on one gateway only",
    remedy: "set credentials_key as for the other gateways of this database "
      + "(CHIRRUP_CREDENTIALS_KEY_FILE; config/SECURITY.md)"
  ) { examination in
    let texts = examination.settings.credentialsKeys
    let unset = Diagnosis.warning(
      "credentials_key is not set, so a copy of the database contains the keys of tokens",
      mend: "openssl rand -base64 33 into a file that CHIRRUP_CREDENTIALS_KEY_FILE names, the same "
        + "for every gateway")
    let found = try examination.reading { connection in
      let box = SecretBox(configured: texts)
      let closed = try connection.run(SigningKey.all).filter { $0.open(by: box) == nil }
      guard closed.isEmpty else {
        return .failure(
          "\(closed.count) keys of tokens are encrypted with another credentials_key")
      }
      return texts.isEmpty ? unset : .ok("credentials_key opens the keys of tokens")
    }
    return found.state == .skipped && texts.isEmpty ? unset : found
  }
}
