/// The mailbox for replies from its settings.
public import HTTPClient
public import Settings

extension MailFolderAddress {
  /// Nil: no replies are read.
  public init?(_ settings: MailSettings) {
    guard let url = settings.imapURL, let user = settings.imapUser,
      let password = settings.imapPassword
    else { return nil }
    self.init(
      url: url, user: user, password: password, security: .init(settings.startTLS),
      authority: settings.caFile, milliseconds: settings.timeoutSeconds * 1_000)
  }
}
