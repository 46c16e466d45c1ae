/// Decides what a message of the mailbox is: a reply to a conversation, or one that is refused.
import Directory
import Mail
import MailParsing
import Postgres
import Primitives
import Webhooks

struct ReplyJudge: Sendable {
  struct Judged: Sendable, Equatable {
    var entry: MailReceived.Entry
    /// Nil: it is none.
    var reply: IncomingReply?
    /// PostgreSQL was unavailable: nothing is known.
    var isUndecided = false

    init(key: [UInt8], refusal: MailRefusal? = nil) {
      entry = MailReceived.Entry(key: key, refusal: refusal)
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
      judged.entry.refusal = .own
      return judged
    }
    if mail.isAutomatic {
      judged.entry.refusal = .automatic
      return judged
    }
    do throws(Unavailable) {
      judged.entry.origin = try origin(of: mail, &database)
    } catch {
      judged.isUndecided = true
      return judged
    }
    guard let origin = judged.entry.origin else {
      judged.entry.refusal = .unknown
      return judged
    }
    if origin.isDeleted {
      judged.entry.refusal = .deleted
      // Nothing may hold on to what is deleted.
      judged.entry.origin = nil
    } else if origin.isBanned {
      judged.entry.refusal = .blocked
    } else if origin.isFull {
      judged.entry.refusal = .tooMany
    } else if let reply = IncomingReply(
      mail, visitorAddress: origin.address,
      verdict: MailVerdict(mail.authentication, of: verdictServer))
    {
      judged.reply = reply
    } else {
      judged.entry.refusal = .empty
    }
    return judged
  }

  /// The entry of a reply whose files are stored.
  func entry(of judged: Judged) -> MailReceived.Entry {
    var entry = judged.entry
    guard let reply = judged.reply, let origin = entry.origin else { return entry }
    entry.content = reply.seal(by: secrets, key: entry.key)
    entry.message = MailKey.message(0, of: entry.key, in: origin.workspace)
    (entry.author, entry.isVerified) = (reply.author, reply.isVerified)
    entry.verdict = reply.verdict.text
    return entry
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
