import Directory
import OpenSSL
import Primitives
import Testing

@testable import Mail

/// Messages as bytes. Tests/EndToEnd/mail.sh parses the same with Python's email package.
@Suite struct MIMETests {
  private let envelope = MailAddress("chat@example.com")

  private func message(
    name: String = "", subject: String = "Hello", text: String = "Hi",
    change: (inout MailContent) -> Void = { _ in }
  ) throws -> String {
    let to = try #require(MailAddress("ada@example.org", name: name))
    var content = MailContent(
      to: to, subject: subject, letter: Letter(brand: "", parts: [.words(text)]))
    change(&content)
    let message = MIMEMessage(
      id: Identifier(high: 1, low: 2), date: WallTime(microseconds: 1_795_731_406_000_000),
      domain: "example.com", envelope: try #require(envelope), content: content)
    return String(decoding: message.bytes, as: UTF8.self)
  }

  private func head(_ message: String) -> [String] {
    message.components(before: "\r\n\r\n")
  }

  @Test(
    "A name or subject cannot begin another header field (RFC 5322 §2.2)",
    arguments: [
      "Ada\r\nBcc: eve@example.net", "Ada\nBcc: eve@example.net", "Ada\u{2028}Bcc: e",
      "Ada\u{0}\u{7F}", "Ada\u{85}Bcc: eve", "\"Ada\" <eve@example.net>", "=?utf-8?B?QmNjOg==?=",
      String(repeating: "x", count: 3_000), "\u{202E}adA",
    ])
  func injection(hostile: String) throws {
    let lines = head(try message(name: hostile, subject: hostile))
    let names = lines.filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
    #expect(
      names == [
        "Date", "From", "To", "Subject", "Message-ID", "Auto-Submitted",
        "X-Auto-Response-Suppress", "MIME-Version", "Content-Type",
      ])
    #expect(lines.allSatisfy { $0.utf8.count <= 78 })
    #expect(lines.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } })
  }

  @Test("Text outside ASCII is in encoded words of at most 75 characters (RFC 2047 §2)")
  func encodedWords() throws {
    let lines = head(try message(subject: String(repeating: "Größe 🚲 ", count: 30)))
    let words = lines.flatMap { $0.split(separator: " ") }.filter { $0.hasPrefix("=?utf-8?B?") }
    #expect(words.count > 3 && words.allSatisfy { $0.utf8.count <= 75 && $0.hasSuffix("?=") })
    let decoded = words.flatMap { word in
      Base64.standard.decode(word.dropFirst(10).dropLast(2).filter { $0 != "=" }.utf8) ?? []
    }
    #expect(
      String(decoding: decoded, as: UTF8.self)
        == String(repeating: "Größe 🚲 ", count: 30).dropLast())
    // No word ends within a character (RFC 2047 §5).
    for word in words {
      let bytes = Base64.standard.decode(word.dropFirst(10).dropLast(2).filter { $0 != "=" }.utf8)
      #expect(String(validating: try #require(bytes), as: UTF8.self) != nil)
    }
  }

  @Test("Lines of quoted-printable have at most 76 characters, no blank at the end (RFC 2045 §6.7)")
  func quotedPrintable() {
    let text = String(repeating: "ä b=c ", count: 60) + " \nline \t\n\r\n.\nFrom me\n"
    let lines = String(decoding: QuotedPrintable.encode(text), as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false)
    #expect(lines.allSatisfy { $0.utf8.count <= 76 && !$0.hasSuffix(" ") && !$0.hasSuffix("\t") })
    #expect(lines.contains("line =09"))
    #expect(QuotedPrintable.encode("ä=") == Array("=C3=A4=3D".utf8))
    #expect(QuotedPrintable.encode("a\r\nb") == Array("a\r\nb".utf8))
  }

  @Test("The same content gives the same bytes, and Message-ID is the row's id")
  func stable() throws {
    let first = try message(text: "Größe")
    #expect(first == (try message(text: "Größe")))
    #expect(first.contains("Message-ID: <00000000-0000-0001-0000-000000000002@example.com>\r\n"))
    #expect(first.contains("Date: Thu, 26 Nov 2026 "))
    #expect(first.contains("Auto-Submitted: auto-generated\r\n"))
  }

  @Test("A workspace's sender is in From, and the gateway's own address then in Sender")
  func senders() throws {
    let text = try message {
      $0.from = MailAddress("help@shop.example")
      $0.fromName = "Mika at \"Tidewater\""
      $0.replyTo = MailAddress("reply@shop.example")
      $0.session = Identifier(high: 3, low: 4)
      $0.unsubscribe = "https://chat.example.com/u/x"
    }
    #expect(text.contains("From: \"Mika at \\\"Tidewater\\\"\" <help@shop.example>\r\n"))
    #expect(text.contains("Sender: chat@example.com\r\n"))
    #expect(text.contains("Reply-To: reply@shop.example\r\n"))
    #expect(text.contains("List-Unsubscribe: <https://chat.example.com/u/x>\r\n"))
    #expect(text.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"))
    let thread = "<conversation.00000000-0000-0003-0000-000000000004@example.com>"
    #expect(text.contains("References: \(thread)") || text.contains("References:\r\n \(thread)"))
  }

  @Test(
    "Addresses that an envelope cannot carry are not accepted",
    arguments: [
      "ada", "ada@", "@example.org", "a b@example.org", "ada@exa\r\nmple.org", "<ada@example.org>",
      "ada@ex,ample.org", "\"a\"@example.org", "ädä@example.org", "ada@bücher.example",
      String(repeating: "a", count: 65) + "@example.org", "a@b@c",
    ])
  func addresses(text: String) {
    #expect(MailAddress(text) == nil)
    #expect(MailAddress("ada+chat@example.org")?.masked == "a…@example.org")
  }

  @Test("Markup of people is text in HTML")
  func escaping() {
    let letter = Letter(
      brand: "<b>", parts: [.message(author: "<i>", at: "now", text: "<script>\"&'\n\u{1}")])
    #expect(letter.html.contains("&lt;script&gt;&quot;&amp;&#39;<br>"))
    #expect(!letter.html.contains("<script") && !letter.html.contains("<i>"))
  }

  @Test("Content opens only with its key and for its row")
  func sealing() throws {
    let secrets = SecretBox(configured: ["a key for tests"], signingKey: [])
    var content = MailContent(
      to: try #require(MailAddress("ada@example.org", name: "Ada")), subject: "S",
      letter: Letter(brand: "B", parts: [.words("W")]))
    content.session = Identifier(high: 3, low: 4)
    content.unsubscribe = "https://x"
    let id = Identifier(high: 1, low: 2)
    let sealed = content.seal(by: secrets, for: id)
    #expect(MailContent(sealed, for: id, by: secrets) == content)
    #expect(MailContent(sealed, for: .zero, by: secrets) == nil)
  }

  @Test("An unsubscribe token opens with each of our keys, and not after a change")
  func tokens() throws {
    let old = SecretBox(configured: ["the old key for tests"], signingKey: [])
    let both = SecretBox(
      configured: ["the new key for tests", "the old key for tests"], signingKey: [])
    let token = UnsubscribeToken(workspace: Identifier(high: 7, low: 8), address: "Ada@Example.org")
    let text = token.text(by: old)
    #expect(UnsubscribeToken(text, by: both) == token)
    #expect(token.addressHash == MailOutbox.hash(of: "ada@example.org"))
    for index in [0, 30, text.utf8.count - 10] {
      var bytes = Array(text.utf8)
      bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(UnsubscribeToken(String(decoding: bytes, as: UTF8.self), by: both) == nil)
    }
    #expect(UnsubscribeToken(text, by: SecretBox(configured: ["another"], signingKey: [])) == nil)
  }
}

extension String {
  /// The lines before the first `mark`.
  fileprivate func components(before mark: String) -> [String] {
    guard let end = firstRange(of: mark) else { return [] }
    return self[..<end.lowerBound].split(separator: "\r\n").map { String($0) }
  }
}
