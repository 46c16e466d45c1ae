import MailParsing
import Testing

@testable import IncomingMail

@Suite struct MailVerdictTests {
  @Test func `the topmost field of our server counts`() {
    let verdict = MailVerdict(
      [
        "evil.example; dmarc=pass",
        "mx.example 1; spf=fail smtp.mailfrom=a; dkim=none; "
          + "dkim=pass (good (nested; dmarc=pass)) header.d=b; dmarc=FAIL (p=none)",
        "mx.example; dmarc=pass",
      ], of: "MX.example")
    #expect(verdict.spf == "fail" && verdict.dkim == "pass" && verdict.dmarc == "fail")
    #expect(!verdict.isPassed)
  }

  @Test(arguments: [
    nil, "other.example", "mx.example.evil", "mx",
  ])
  func `without our server's field nothing is known`(server: String?) {
    #expect(MailVerdict(["mx.example; dmarc=pass"], of: server) == MailVerdict())
  }

  @Test(arguments: [
    "", ";", "mx.example", "mx.example;;;=", "mx.example; dmarc", "mx.example; dmarc=",
    "mx.example; (dmarc=pass", "mx.example; none", "mx.example; x=\"; dmarc=pass\"",
    "(mx.example); dmarc=pass",
  ])
  func `a field without a verdict`(field: String) {
    #expect(!MailVerdict([field], of: "mx.example").isPassed)
  }

  @Test(arguments: [
    (["auto-submitted": "auto-replied"], true), (["auto-submitted": "no"], false),
    (["auto-submitted": "No (really)"], false), (["auto-submitted": "auto-generated; a=b"], true),
    (["precedence": "Bulk "], true), (["precedence": "first-class"], false),
    (["return-path": "<>"], true), (["return-path": " < > "], true),
    (["return-path": "<a@example.org>"], false), (["list-id": "<x>"], true),
    (["x-auto-response-suppress": "OOF"], true), (["x-autoreply": "yes"], true), ([:], false),
  ])
  func `what a program has written (RFC 3834)`(fields: [String: String], isAutomatic: Bool) {
    var mail = ParsedMail()
    mail.fields = fields
    #expect(mail.isAutomatic == isAutomatic)
  }

  @Test func `bounces`() {
    var mail = ParsedMail()
    mail.from = "MAILER-DAEMON@example.org"
    #expect(mail.isAutomatic)
    mail.from = "daemon@example.org"
    #expect(!mail.isAutomatic)
    mail.isReport = true
    #expect(mail.isAutomatic)
  }
}
