/// The settings of e-mail: their texts, and what they require of each other.
import Testing

@testable import Settings

@Suite struct MailSettingsTests {
  /// What `SettingsTests` reads from a file and from variables.
  static var all: MailSettings {
    var mail = MailSettings()
    mail.smtpURL = "smtps://mail.example.com:465"
    mail.user = "chat"
    mail.password = "word"
    mail.from = "chat@example.com"
    mail.startTLS = .optional
    mail.caFile = "/etc/mail.pem"
    mail.timeoutSeconds = 9
    mail.retryMilliseconds = 200
    mail.imapURL = "imaps://mail.example.com:993/INBOX"
    mail.imapUser = "replies"
    mail.imapPassword = "secret"
    mail.imapProcessed = "Archive/Done"
    mail.imapPollSeconds = 5
    mail.replyTo = "replies@example.com"
    mail.verdictServer = "mx.example.com"
    return mail
  }

  @Test(
    "mail servers",
    arguments: [
      "smtp://relay.example.com:587", "smtps://relay.example.com", "smtp://[::1]:25",
      "smtp://127.0.0.1:25/chat.example.com",
    ])
  func servers(text: String) {
    #expect(parseSMTPURL(text) == text)
  }

  @Test(
    "refused mail servers",
    arguments: [
      "", "relay.example.com", "http://relay.example.com", "smtp://", "smtp://:25",
      "smtp://user@relay.example.com", "smtp://user:secret@relay.example.com",
      "smtp://relay.example.com:0", "smtp://relay.example.com:", "smtp://a:25/b?c",
      "smtp://a:25/b/c", "smtp://a\r\n:25", "smtp://a b",
    ])
  func noServers(text: String) {
    #expect(parseSMTPURL(text) == nil)
  }

  @Test("addresses, users and passwords have no characters that end a line of SMTP")
  func texts() {
    #expect(parseMailAddress("chat@example.com") == "chat@example.com")
    for text in ["", "chat", "a@b@c", "a b@c", "a@b\r\nRCPT TO:<c@d>", "<a@b>", "ä@b"] {
      #expect(parseMailAddress(text) == nil, "\(text)")
    }
    #expect(parseMailCredential("pass: word \"1\"") == "pass: word \"1\"")
    for text in ["", "a\nb", "a\u{0}", String(repeating: "x", count: 257)] {
      #expect(parseMailCredential(text) == nil, "\(text)")
    }
  }

  @Test(
    "mailboxes, and the folder that counts without a path",
    arguments: [
      ("imaps://imap.example.com/INBOX", "imaps://imap.example.com/INBOX"),
      ("imap://127.0.0.1:143", "imap://127.0.0.1:143/INBOX"),
      ("imaps://[::1]:993/", "imaps://[::1]:993/INBOX"),
      ("imaps://a/Chat.Replies", "imaps://a/Chat.Replies"), ("", nil), ("imap.example.com", nil),
      ("imaps://", nil), ("imaps://user@a/INBOX", nil), ("imaps://a/b;UID=1", nil),
      ("imaps://a/b?c", nil), ("imaps://a/b\r\nc", nil), ("imaps://a:0/b", nil),
      ("imaps://a/b c", nil), ("imaps://a/%22", nil),
    ])
  func mailboxes(text: String, url: String?) {
    #expect(parseIMAPURL(text) == url)
  }

  @Test("names of folders, addresses for replies and names of servers are no commands")
  func mailboxTexts() {
    #expect(parseMailFolder("Archive/Done-1_a.b") == "Archive/Done-1_a.b")
    for text in ["", "a b", "a\"", "a\r\nb", "ä", String(repeating: "x", count: 101)] {
      #expect(parseMailFolder(text) == nil, "\(text)")
    }
    #expect(parseReplyAddress("\(String(repeating: "r", count: 19))@a.test") != nil)
    #expect(parseReplyAddress("\(String(repeating: "r", count: 20))@a.test") == nil)
    #expect(parseMailServerName("mx.example.com") == "mx.example.com")
    for text in ["", "a b", "a;b", "a=b"] { #expect(parseMailServerName(text) == nil, "\(text)") }
  }

  private func problems(_ flags: [SettingKey: String]) async -> [String] {
    do {
      _ = try await Settings.load(flags: flags, environment: [:])
      return []
    } catch {
      return error.problems
    }
  }

  @Test("a mail server needs a sender, a URL for links, and TLS for a password")
  func requirements() async {
    var flags: [SettingKey: String] = [.mailSMTPURL: "smtp://relay.example.com:587"]
    #expect(await problems(flags).count == 2)
    flags[.mailFrom] = "chat@example.com"
    flags[.publicURL] = "https://chat.example.com"
    #expect(await problems(flags) == [])
    flags[.mailUser] = "chirrup"
    #expect(await problems(flags).count == 1)
    flags[.mailPassword] = "secret"
    #expect(await problems(flags) == [])
    flags[.mailSTARTTLS] = "optional"
    let refused = await problems(flags)
    #expect(refused.count == 1 && refused.allSatisfy { !$0.contains("secret") })
    flags[.mailSMTPURL] = "smtps://relay.example.com"
    #expect(await problems(flags) == [])
  }

  @Test("a mailbox needs an address, a login, TLS, and a mail server that sends")
  func mailboxRequirements() async {
    var flags: [SettingKey: String] = [
      .mailSMTPURL: "smtps://relay.example.com", .mailFrom: "chat@example.com",
      .publicURL: "https://chat.example.com", .mailReplyTo: "replies@example.com",
    ]
    #expect(await problems(flags).count == 1)
    flags[.mailIMAPURL] = "imap://imap.example.com"
    #expect(await problems(flags).count == 2)
    flags[.mailIMAPUser] = "replies"
    flags[.mailIMAPPassword] = "secret"
    #expect(await problems(flags) == [])
    flags[.mailSTARTTLS] = "optional"
    let refused = await problems(flags)
    #expect(refused.count == 1 && refused.allSatisfy { !$0.contains("secret") })
    flags[.mailIMAPURL] = "imaps://imap.example.com"
    #expect(await problems(flags) == [])
    flags[.mailReplyTo] = nil
    #expect(await problems(flags).count == 1)
    flags[.mailReplyTo] = "replies@example.com"
    flags[.mailSMTPURL] = nil
    #expect(await problems(flags).count == 1)
  }
}
