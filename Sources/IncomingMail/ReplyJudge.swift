/// Decides what a message of the mailbox is: a reply to a conversation, or one that is refused.
import Directory
import Mail
import MailParsing
import Postgres
import Primitives
import Webhooks

struct ReplyJudge: Sendable {
  /// The decision, as it is stored.
  struct Judged: Sendable, Equatable {
    var key: [UInt8]
    var origin: MailReceived.Origin?
    var content: SecretBox.Sealed?
    var refusal: MailRefusal?
    /// In short; nil: there is no reply.
    var author: String?
    var isVerified = false
    /// Such as `spf=pass dkim=pass dmarc=pass`.
    var verdict = ""
    /// PostgreSQL was unavailable: nothing is known.
    var isUndecided = false

    init(key: [UInt8], refusal: MailRefusal? = nil) {
      self.key = key
      self.refusal = refusal
    }
  }

  /// What a message without a token may refer to: our messages whose ids are looked for.
  static let referencesMax = 10

  let replies: ReplyAddress
  let from: MailAddress?
  let verdictServer: String?
  let secrets: SecretBox

  /// - Parameter place: its key without a Message-ID.
  func judge(
    _ mail: ParsedMail, place: [UInt8], _ database: inout OutboxConnection
  ) -> Judged {
    var judged = Judged(
      key: mail.messageID.isEmpty ? place : MailKey.of(messageID: mail.messageID))
    if isOwn(mail) {
      judged.refusal = .own
      return judged
    }
    if mail.isAutomatic {
      judged.refusal = .automatic
      return judged
    }
    do throws(Unavailable) {
      judged.origin = try origin(of: mail, &database)
    } catch {
      judged.isUndecided = true
      return judged
    }
    guard let origin = judged.origin else {
      judged.refusal = .unknown
      return judged
    }
    if origin.isDeleted {
      judged.refusal = .deleted
      // Nothing may hold on to what is deleted.
      judged.origin = nil
    } else if origin.isBanned {
      judged.refusal = .blocked
    } else if let reply = IncomingReply(
      mail, visitorAddress: origin.address,
      verdict: MailVerdict(mail.authentication, of: verdictServer))
    {
      judged.content = reply.seal(by: secrets, key: judged.key)
      (judged.author, judged.isVerified) = (reply.author, reply.isVerified)
      judged.verdict = reply.verdict.text
    } else {
      judged.refusal = .empty
    }
    return judged
  }

  private struct Unavailable: Error {}

  private func isOwn(_ mail: ParsedMail) -> Bool {
    if replies.isOwn(mail.from) || mail.from.lowercased() == from?.address.lowercased() {
      return true
    }
    return from.flatMap { MIMEMessage.reference(mail.messageID, domain: $0.domain) } != nil
  }

  /// The conversation of the token, or, where a mail program or a server has lost it, that of the
  /// message of ours to which it refers. Ids of messages are no secret, so then the author must be
  /// the visitor.
  private func origin(
    of mail: ParsedMail, _ database: inout OutboxConnection
  ) throws(Unavailable) -> MailReceived.Origin? {
    for token in mail.recipients.compactMap({ replies.token(in: $0) }) {
      guard let rows = database.run(MailReceived.origin(.conversation(token.session))) else {
        throw Unavailable()
      }
      if let origin = MailReceived.origin(rows),
        token.isAuthentic(in: origin.workspace, by: secrets)
      {
        return origin
      }
    }
    guard let domain = from?.domain, !mail.from.isEmpty else { return nil }
    let references = mail.references.compactMap { MIMEMessage.reference($0, domain: domain) }
    for reference in references.prefix(ReplyJudge.referencesMax) {
      guard let rows = database.run(MailReceived.origin(reference)) else { throw Unavailable() }
      if let origin = MailReceived.origin(rows),
        origin.address.lowercased() == mail.from.lowercased()
      {
        return origin
      }
    }
    return nil
  }
}
