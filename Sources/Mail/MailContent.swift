/// The content of a message in the outbox. It is stored encrypted, and deleted after the message
/// was sent: it has what people wrote, and links that let their owner in.
import Directory
import JSON
public import Primitives

public struct MailContent: Sendable, Equatable {
  /// The name of the sender; empty: that of the gateway's address.
  public var fromName = ""
  /// The sender's address; nil: the gateway's own.
  public var from: MailAddress?
  public var replyTo: MailAddress?
  public var to: MailAddress
  public var subject: String
  public var text: String
  public var html: String
  /// The conversation whose thread it is in.
  public var session: Identifier?
  /// The address with which the recipient ends such mail with one click (RFC 8058).
  public var unsubscribe: String?

  public init(to: MailAddress, subject: String, letter: Letter) {
    self.to = to
    self.subject = subject
    text = letter.text
    html = letter.html
  }

  /// The place to which `SecretBox` binds the content.
  private static func place(of id: Identifier) -> String { "mail:\(id)" }

  func seal(by secrets: SecretBox, for id: Identifier) -> SecretBox.Sealed {
    var members: [String: JSONValue] = [
      "from_name": .string(fromName), "to": .string(to.address), "to_name": .string(to.name),
      "subject": .string(subject), "text": .string(text), "html": .string(html),
    ]
    members["from"] = from.map { .string($0.address) }
    members["reply_to"] = replyTo.map { .string($0.address) }
    members["session"] = session.map { .string($0.description) }
    members["unsubscribe"] = unsubscribe.map { .string($0) }
    return secrets.seal(JSONValue.object(members).text, place: MailContent.place(of: id))
  }

  /// Nil if the key that encrypted it is not configured any longer.
  init?(_ sealed: SecretBox.Sealed, for id: Identifier, by secrets: SecretBox) {
    guard let bytes = secrets.open(sealed, place: MailContent.place(of: id)),
      let members = JSONValue(bytes)?.object, let address = members["to"]?.string,
      let to = MailAddress(address, name: members["to_name"]?.string ?? ""),
      let subject = members["subject"]?.string, let text = members["text"]?.string,
      let html = members["html"]?.string
    else { return nil }
    self.to = to
    self.subject = subject
    self.text = text
    self.html = html
    fromName = members["from_name"]?.string ?? ""
    from = members["from"]?.string.flatMap { MailAddress($0) }
    replyTo = members["reply_to"]?.string.flatMap { MailAddress($0) }
    session = members["session"]?.string.flatMap { Identifier($0) }
    unsubscribe = members["unsubscribe"]?.string
  }
}
