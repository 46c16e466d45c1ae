/// Whether the mail server takes messages: connection, TLS and login. Nothing is sent.
import Gateway
import HTTPClient
import Settings

extension DoctorCheck {
  static let mail = DoctorCheck(
    name: "mail", symptom: "people get no e-mail: resets of passwords, invitations, answers",
    remedy: "correct mail.smtp_url and see that the server runs and a firewall lets the port pass",
    limitMilliseconds: 30_000
  ) { examination in
    let settings = examination.settings.mail
    guard var address = MailServerAddress(settings) else {
      return .skipped("no mail server is set (mail.smtp_url, mail.from)")
    }
    address.milliseconds = min(address.milliseconds, DoctorCheck.mailMilliseconds)
    let url = settings.smtpURL ?? ""
    switch MailServer(address).check() {
    case .passed(let isSecure):
      let login = settings.user == nil ? "without a login" : "with a login"
      guard isSecure || settings.user == nil else {
        return .warning(
          "\(url) has no TLS: the password and all messages can be read on the way",
          mend: "set mail.starttls: required, or use smtps://")
      }
      return .ok("\(url) takes messages, \(isSecure ? "over TLS" : "without TLS"), \(login)")
    case .connection(let reason): return .failure("\(url): \(reason)")
    case .security(let reason):
      return .failure(
        "\(url): \(reason)",
        mend: "give the server a certificate of its name, trust its issuer with mail.ca_file, or "
          + "correct mail.starttls (smtps:// is for a port that begins with TLS, usually 465)")
    case .login(let reason):
      return .failure(
        "\(url) refuses the login: \(reason)", mend: "correct mail.user and mail.password")
    }
  }

  /// The most that is waited for the server.
  private static let mailMilliseconds = 20_000
}
