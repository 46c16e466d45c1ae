import Foundation
import Testing

@testable import MailParsing

/// The process that reads e-mail, as the gateway starts it. Sanitizers map more than its address
/// space may have.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["ASAN_OPTIONS"] == nil))
struct MailParserTests {
  /// The binary is beside the bundle of the tests.
  private let parser = MailParser(
    executable: URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(path: "chirrup").path)

  private func parse(_ lines: String...) throws -> ParsedMail? {
    try parser.parse(Array(lines.joined(separator: "\r\n").utf8))
  }

  @Test func `this system confines the process, and GMime is here`() throws {
    try parser.check()
  }

  @Test func `header fields, decoded and in lower case`() throws {
    let mail = try #require(
      try parse(
        "Return-Path: <>", "Delivered-To: a+r.x@example.com",
        "From: =?utf-8?Q?Gr=C3=B6=C3=9Fe?= <Ada@Example.org>, b@example.org",
        "To: \"x, y\" <chat@example.com>, group: c@example.com;", "Message-ID: <1@example.org>",
        "In-Reply-To: <2@example.org>", "References: <3@example.org>", "\t<4@example.org>",
        "Auto-Submitted: auto-replied; x", "Subject: not kept",
        "Authentication-Results: mx.example.com;", " dmarc=pass", "Authentication-Results: second",
        "", "text", ""))
    #expect(mail.from == "Ada@Example.org" && mail.messageID == "1@example.org")
    #expect(mail.references == ["2@example.org", "4@example.org", "3@example.org"])
    #expect(mail.recipients.contains("a+r.x@example.com"))
    #expect(mail.recipients.contains("chat@example.com"))
    #expect(mail.fields["return-path"] == "<>" && mail.fields["subject"] == nil)
    #expect(mail.fields["auto-submitted"] == "auto-replied; x")
    #expect(mail.authentication.count == 2)
    #expect(mail.authentication[0].hasPrefix("mx.example.com;"))
    #expect(mail.text == "text\n" && mail.files.isEmpty && !mail.isReport)
    #expect(!mail.hasOneAuthor)
  }

  @Test func `plain text is preferred, HTML becomes plain text, files are named`() throws {
    let alternative = try parse(
      "Content-Type: multipart/alternative; boundary=b", "", "--b", "Content-Type: text/html", "",
      "<p>rich</p>", "--b", "Content-Type: text/plain", "", "plain", "--b--", "")
    #expect(alternative?.text.trimmingCharacters(in: .whitespacesAndNewlines) == "plain")
    let html = try parse(
      "Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: text/html", "",
      "<style>p {}</style><p>rich&nbsp;&amp; short</p>", "--b", "Content-Type: message/rfc822", "",
      "Subject: inner", "", "inner", "--b", "Content-Type: text/plain",
      "Content-Disposition: attachment; filename*=utf-8''gr%C3%B6%C3%9Fe%0A.txt", "", "no",
      "--b--", "")
    #expect(html?.text == "rich & short")
    #expect(html?.files == [ParsedMail.File(name: "größe .txt", bytes: Array("no".utf8))])
    #expect(html?.omitted.count == 1 && html?.omitted.names == ["message.eml"])
  }

  @Test func `files are decoded; pictures need no name; further ones are counted`() throws {
    var lines = ["Content-Type: multipart/mixed; boundary=b", "", "--b", "", "text"]
    lines += [
      "--b", "Content-Type: image/png", "Content-Transfer-Encoding: base64", "", "AAEC/w==",
      "--b", "Content-Type: application/pkcs7-signature", "", "signature",
      "--b", "Content-Type: application/pdf; name=empty.pdf", "",
    ]
    for number in 0..<14 {
      lines += ["--b", "Content-Type: text/csv; name=\(number).csv", "", "\(number)"]
    }
    lines += ["--b--", ""]
    let mail = try #require(try parser.parse(Array(lines.joined(separator: "\r\n").utf8)))
    #expect(mail.files.count == ParsedMail.filesMax)
    #expect(mail.files.first == ParsedMail.File(name: "file", bytes: [0, 1, 2, 255]))
    #expect(mail.files.last == ParsedMail.File(name: "8.csv", bytes: Array("8".utf8)))
    #expect(mail.omitted.count == 6 && mail.omitted.names.first == "empty.pdf")
    #expect(mail.omitted.names.count == ParsedMail.omittedNamesMax && mail.text == "text")
  }

  @Test(arguments: [
    (["From: a@example.org"], true), (["From: Ada <a@example.org>"], true),
    (["From: a@example.org, b@example.org"], false),
    (["From: a@example.org", "From: b@example.org"], false),
    (["From: a@example.org", "From: a@example.org"], false),
    (["From: a@example.org", "from : b@example.org"], false),
    (["From: friends: a@example.org;"], false), (["From: "], false), (["To: a@example.org"], false),
    (["From: a@example.org", "Sender: b@example.org"], true),
  ])
  func `whether a message has one author (RFC 5322 §3.6.2)`(
    fields: [String], isOne: Bool
  ) throws {
    let text = (fields + ["", "text", ""]).joined(separator: "\r\n")
    #expect(try parser.parse(Array(text.utf8))?.hasOneAuthor == isOne)
  }

  @Test(arguments: [
    ("utf-8", [0x67, 0xF6], "gö"), ("iso-8859-1", [0x93, 0xC3, 0xB6, 0x94], "\u{201C}Ã¶\u{201D}"),
    ("iso-8859-1", [0xC3, 0xB6], "ö"), ("koi8-r", [0xD0, 0xD2], "пр"),
    ("shift_jis", [0x93, 0xFA], "日"), ("gb2312", [0xC4, 0xE3, 0xFF], "你\u{FFFD}"),
    ("x-unknown", [0x80], "€"), ("utf-8", [0x61, 0, 0x62, 1], "ab"),
    ("utf-16le", [0x61, 0, 0x62, 0], "ab"),
  ])
  func `charsets, also under wrong names`(name: String, bytes: [UInt8], text: String) throws {
    let head = Array("Content-Type: text/plain; charset=\(name)\r\n\r\n".utf8)
    #expect(try parser.parse(head + bytes)?.text == text)
  }

  @Test func `damaged messages never end in a fault`() throws {
    let message = Array(
      """
      From: a@example.org\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\
      Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n\
      dGhlIHRleHQ=\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: =?utf-8?B?eA==?=\r\n\r\n\
      --b--\r\n
      """.utf8)
    var state: UInt64 = 1
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for _ in 0..<60 {
      var damaged = message
      for _ in 0...next(8) {
        switch next(3) {
        case 0: damaged[next(damaged.count)] = UInt8(next(256))
        case 1: damaged.remove(at: next(damaged.count))
        default: damaged.insert(contentsOf: message.prefix(next(60)), at: next(damaged.count))
        }
      }
      let mail = try parser.parse(damaged)
      #expect((mail?.text.utf8.count ?? 0) <= ParsedMail.textBytesMax)
    }
  }

  @Test func `a message with more parts, levels or bytes than are read`() throws {
    var deep = ""
    for level in 0..<5_000 {
      deep += "Content-Type: multipart/mixed; boundary=b\(level)\r\n\r\n--b\(level)\r\n"
    }
    #expect(try parser.parse(Array((deep + "\r\nbottom").utf8))?.text ?? "" == "")
    let long = Array(("\r\n" + String(repeating: "ö", count: 1 << 20)).utf8)
    let mail = try parser.parse(long)
    #expect((1...ParsedMail.textBytesMax + 2).contains(mail?.text.utf8.count ?? 0))
    #expect(
      try parser.parse([UInt8](repeating: 65, count: MailReadingProcess.messageBytesMax + 1)) == nil
    )
  }

  @Test func `the process is not trusted`() {
    #expect(ParsedMail(Array("{}".utf8)) == nil && ParsedMail(Array("{}\n".utf8)) == nil)
    #expect(ParsedMail(Array("garbage".utf8)) == nil)
    var mail = ParsedMail()
    mail.fields = ["subject": "x", "list-id": "y"]
    mail.recipients = Array(repeating: "a@example.org", count: 100)
    mail.files = [ParsedMail.File(name: "f", bytes: [1, 10, 2])]
    let read = ParsedMail(mail.output)
    #expect(read?.recipients.count == ParsedMail.recipientsMax)
    #expect(read?.fields == ["list-id": "y"] && read?.files == mail.files)
    // More bytes, or fewer, than the files have.
    #expect(ParsedMail(mail.output + [0]) == nil)
    #expect(ParsedMail(Array(mail.output.dropLast())) == nil)
    mail.files = Array(repeating: mail.files[0], count: ParsedMail.filesMax + 1)
    #expect(ParsedMail(mail.output) == nil)
    mail.files = []
    mail.omitted.count = -1
    #expect(ParsedMail(mail.output) == nil)
  }

  @Test func `a program without GMime or without confinement is a fault, and no refusal`() {
    #expect(throws: MailParsingFault.self) { try MailParser(executable: "/nowhere").parse([65]) }
  }
}
