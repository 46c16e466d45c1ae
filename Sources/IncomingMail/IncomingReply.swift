/// A message of the mailbox as it is judged: a reply of a visitor, or the reason why it is none.
import Channels
import Chat
import Directory
import JSON
import Mail
import MailParsing
import OpenSSL
import Primitives
import Texts

/// What a reply says, until it is in the log. It is encrypted like what is sent.
struct IncomingReply: Sendable, Equatable {
  /// Messages that one reply becomes; the rest is left out.
  static let partsMax = 8

  /// Empty without any text.
  var bodies: [String]
  /// The stored files, which its last message has.
  var files: [Identifier] = []
  /// The author's address in short.
  var author: String
  /// The author's domain has confirmed it, and it is the visitor's address.
  var isVerified: Bool
  var verdict: MailVerdict

  /// Nil without any text or file.
  init?(_ mail: ParsedMail, visitorAddress: String, verdict: MailVerdict) {
    let text = QuotedText.new(of: mail.text)
    let isBlank = text.allSatisfy(\.isWhitespace)
    guard !isBlank || !mail.files.isEmpty || mail.omitted.count > 0 else { return nil }
    bodies =
      isBlank
      ? []
      : Array(PlainText.parts(text, bytes: Limits.bodyBytes).prefix(IncomingReply.partsMax))
    author = MailAddress(mail.from)?.masked ?? "…"
    isVerified =
      verdict.isPassed && mail.hasOneAuthor && !mail.from.isEmpty
      && mail.from.lowercased() == visitorAddress.lowercased()
    self.verdict = verdict
  }

  /// Adds what was stored of the files, and says how many were left out.
  mutating func take(_ files: [Identifier], omitted: ParsedMail.Omitted) {
    self.files = files
    guard omitted.count > 0 else { return }
    let line = IncomingFiles.leftOut(omitted.count, omitted.names)
    if let last = bodies.last, last.utf8.count + line.utf8.count + 2 <= Limits.bodyBytes {
      bodies[bodies.count - 1] = last + "\n\n" + line
    } else {
      bodies = bodies.prefix(IncomingReply.partsMax - 1) + [line]
    }
  }

  /// How many messages it becomes.
  var messageCount: Int { max(1, bodies.count) }

  /// What the payload of each of its messages has, for clients.
  var members: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "from": .string(author), "verified": .bool(isVerified),
    ]
    for (name, value) in verdict.results { members[name] = .string(value) }
    return ["email": .object(members)]
  }

  // MARK: Stored

  private static func place(of key: [UInt8]) -> String { "mail-reply:\(Base64.url.encode(key))" }

  func seal(by secrets: SecretBox, key: [UInt8]) -> SecretBox.Sealed {
    let members: [String: JSONValue] = [
      "bodies": .array(bodies.map { .string($0) }),
      "files": .array(files.map { .string("\($0)") }), "author": .string(author),
      "verified": .bool(isVerified), "spf": .string(verdict.spf), "dkim": .string(verdict.dkim),
      "dmarc": .string(verdict.dmarc),
    ]
    return secrets.seal(JSONValue.object(members).text, place: IncomingReply.place(of: key))
  }

  /// Nil if the key that encrypted it is not configured any longer.
  init?(_ sealed: SecretBox.Sealed, key: [UInt8], by secrets: SecretBox) {
    guard let bytes = secrets.open(sealed, place: IncomingReply.place(of: key)),
      let members = JSONValue(bytes)?.object,
      let bodies = members["bodies"]?.array?.compactMap(\.string),
      let files = members["files"]?.array?.compactMap(\.string),
      let author = members["author"]?.string
    else { return nil }
    self.bodies = bodies
    self.files = files.compactMap { Identifier($0) }
    self.author = author
    isVerified = members["verified"]?.bool == true
    verdict = MailVerdict()
    verdict.spf = members["spf"]?.string ?? ""
    verdict.dkim = members["dkim"]?.string ?? ""
    verdict.dmarc = members["dmarc"]?.string ?? ""
  }
}

extension ParsedMail {
  /// Whether a program has written it (RFC 3834 §5, and what programs write for the same).
  var isAutomatic: Bool {
    // Some bounces are no reports.
    if isReport || from.lowercased().hasPrefix("mailer-daemon@") { return true }
    if let automatic = fields["auto-submitted"] {
      let word = automatic.prefix { $0 != ";" && !$0.isWhitespace }
      if word.lowercased() != "no" { return true }
    }
    let precedence = fields["precedence"]?.lowercased().filter { !$0.isWhitespace } ?? ""
    if ["bulk", "list", "junk", "auto_reply"].contains(precedence) { return true }
    if let path = fields["return-path"], path.filter({ !$0.isWhitespace }) == "<>" { return true }
    return ["list-id", "x-auto-response-suppress", "x-autoreply", "x-autorespond"].contains {
      fields[$0] != nil
    }
  }
}

/// The name under which a message of the mailbox is stored once.
enum MailKey {
  /// Of the author's Message-ID, which stays when the message is moved or fetched again.
  static func of(messageID: String) -> [UInt8] { digest("message-id \(messageID)") }

  /// Of its place, for messages without one.
  static func of(folder: String, validity: String, number: UInt32) -> [UInt8] {
    digest("place \(folder) \(validity) \(number)")
  }

  /// Of a mailbox, for its lease.
  static func of(mailbox: String, user: String) -> [UInt8] { digest("mailbox \(mailbox) \(user)") }

  /// The id of a message that a reply becomes: the same whenever it is made.
  static func message(
    _ part: Int, of key: [UInt8], in workspace: Identifier
  ) -> Identifier {
    place(in: workspace).identifier("\(part):\(Base64.url.encode(key))")
  }

  /// The id of a file that a reply has.
  static func file(_ number: Int, of key: [UInt8], in workspace: Identifier) -> Identifier {
    place(in: workspace).identifier("file:\(number):\(Base64.url.encode(key))")
  }

  /// The id of a conversation that a reply begins.
  static func session(
    _ attempt: Int, of key: [UInt8], in workspace: Identifier
  ) -> Identifier {
    place(in: workspace).identifier("session:\(attempt):\(Base64.url.encode(key))")
  }

  private static func place(in workspace: Identifier) -> ChannelPeople.Person {
    ChannelPeople.Person(workspace: workspace, channel: "email", address: "")
  }

  private static func digest(_ text: String) -> [UInt8] { SHA256.digest(Array(text.utf8)) }
}
