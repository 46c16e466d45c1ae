/// The settings of outgoing e-mail: their texts, and what they require of each other.
import Testing

@testable import Settings

@Suite struct MailSettingsTests {
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
}
