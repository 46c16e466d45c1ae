public import HTTPClient
import Mail
public import Settings

extension MailServerAddress {
  /// The mail server of the settings; nil: no e-mail is sent.
  public init?(_ settings: MailSettings) {
    guard let url = settings.smtpURL, let from = settings.from.flatMap({ MailAddress($0) }) else {
      return nil
    }
    let host = url.drop { $0 != "/" }.dropFirst(2)
    self.init(
      // Its path is the name for EHLO.
      url: host.contains("/") ? url : "\(url)/\(from.domain)", user: settings.user,
      password: settings.password, security: .init(settings.startTLS),
      authority: settings.caFile, milliseconds: settings.timeoutSeconds * 1_000)
  }
}

extension MailServerAddress.Security {
  init(_ setting: StartTLS) {
    self =
      switch setting {
      case .required: .required
      case .optional: .optional
      case .off: .off
      }
  }
}
