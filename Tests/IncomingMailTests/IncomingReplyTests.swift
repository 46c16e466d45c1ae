/// What a reply says, until it is in the log.
import Chat
import Directory
import JSON
import MailParsing
import Primitives
import Testing

@testable import IncomingMail

@Suite struct IncomingReplyTests {
  private var passed: MailVerdict { MailVerdict(["mx; dmarc=pass spf=pass"], of: "mx") }

  private func mail(_ text: String = "text", from: String = "Ada@example.org") -> ParsedMail {
    var mail = ParsedMail()
    (mail.text, mail.from, mail.hasOneAuthor) = (text, from, true)
    return mail
  }

  private func reply(_ mail: ParsedMail, to address: String = "ada@example.org") -> IncomingReply? {
    IncomingReply(mail, visitorAddress: address, verdict: passed)
  }

  @Test func `verified: the server's verdict, the visitor's address, and one author`() {
    #expect(reply(mail())?.isVerified == true)
    #expect(reply(mail(from: "eve@example.org"))?.isVerified == false)
    #expect(reply(mail(from: ""), to: "")?.isVerified == false)
    var several = mail()
    several.hasOneAuthor = false
    #expect(reply(several)?.isVerified == false)
    let unknown = IncomingReply(
      mail(), visitorAddress: "ada@example.org", verdict: MailVerdict())
    #expect(unknown?.isVerified == false)
  }

  @Test func `without a text or a file there is no reply`() {
    #expect(reply(mail(" \n\t")) == nil)
    var withFile = mail(" \n")
    withFile.files = [ParsedMail.File(name: "a", bytes: [1])]
    #expect(reply(withFile)?.bodies == [] && reply(withFile)?.messageCount == 1)
    withFile.files = []
    withFile.omitted.add("a")
    #expect(reply(withFile) != nil)
  }

  @Test func `files that are left out are counted, with the first names`() throws {
    var one = try #require(reply(mail()))
    var omitted = ParsedMail.Omitted()
    one.take([], omitted: omitted)
    #expect(one.bodies == ["text"])
    omitted.add("a.exe")
    one.take([], omitted: omitted)
    #expect(one.bodies == ["text\n\n[1 file was left out: a.exe]"])
    for number in 0..<20 { omitted.add("\(number)") }
    var blank = try #require(reply(mail("full " + String(repeating: "x", count: 200_000))))
    #expect(blank.bodies.count == IncomingReply.partsMax)
    blank.take([], omitted: omitted)
    #expect(blank.bodies.count == IncomingReply.partsMax)
    #expect(blank.bodies.last == "[21 files were left out: a.exe, 0, 1, 2, 3, …]")
    #expect(blank.bodies.allSatisfy { $0.utf8.count <= Limits.bodyBytes })
  }

  @Test func `it is read as it was stored, with its key only`() throws {
    let secrets = SecretBox(configured: ["first"], signingKey: [1])
    var one = try #require(reply(mail()))
    one.take([Identifier(high: 1, low: 2)], omitted: ParsedMail.Omitted())
    let sealed = one.seal(by: secrets, key: [1])
    #expect(IncomingReply(sealed, key: [1], by: secrets) == one)
    #expect(IncomingReply(sealed, key: [2], by: secrets) == nil)
    let email = JSONValue.object(one.members)["email"]
    #expect(email?["verified"]?.bool == true && email?["from"]?.string == "A…@example.org")
    #expect(email?["dmarc"]?.string == "pass")
  }
}
