/// Whether the mailbox for replies can be read, and this system reads e-mail. Nothing is changed.
import Gateway
import HTTPClient
import MailParsing
import Settings

extension DoctorCheck {
  static let mailbox = DoctorCheck(
    name: "mailbox", symptom: "visitors' replies by e-mail do not come into their conversations",
    remedy: "correct mail.imap_url, mail.imap_user and mail.imap_password, and see that the server "
      + "runs and a firewall lets the port pass", limitMilliseconds: 60_000
  ) { examination in
    let settings = examination.settings.mail
    guard var address = MailFolderAddress(settings) else {
      return .skipped("no mailbox is set (mail.imap_url)")
    }
    do throws(MailParsingFault) { try MailParser().check() } catch {
      return .failure(
        error.description,
        mend: "install the package libgmime-3.0-0; messages wait in the mailbox until then")
    }
    address.milliseconds = min(address.milliseconds, DoctorCheck.mailboxMilliseconds)
    var folder = MailFolder(address)
    do throws(MailFolderFault) {
      let count = try folder.numbers(of: MailFolder.waiting) { true }.count
      return .ok("\(address.url) can be read, \(count) messages wait")
    } catch {
      return .failure("\(address.url): \(DoctorCheck.reason(error))")
    }
  }

  /// The most that is waited for the server.
  private static let mailboxMilliseconds = 20_000

  private static func reason(_ fault: MailFolderFault) -> String {
    switch fault {
    case .unreachable(let reason), .refused(let reason): reason
    case .tooLarge: "it has too many messages"
    case .gone, .stopped: "it was closed meanwhile"
    }
  }
}
