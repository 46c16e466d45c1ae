/// An e-mail as `MailReadingProcess` has read it: what the gateway needs of it, and no more.
import JSON
import Primitives

public struct ParsedMail: Sendable, Equatable {
  /// Header fields that are kept, in lower case.
  static let keptFields: Set<String> = [
    "auto-submitted", "precedence", "list-id", "x-auto-response-suppress", "return-path",
    "x-autoreply", "x-autorespond",
  ]
  /// Header fields that name the addresses to which it was sent.
  static let recipientFields: Set<String> = [
    "to", "cc", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "resent-to",
  ]
  static let recipientsMax = 50
  static let referencesMax = 50
  static let authenticationMax = 10
  public static let filesMax = 20
  public static let fileNameCharactersMax = 100
  /// Of each other value.
  static let valueBytesMax = 2_000
  /// Of the text; the rest is left out.
  public static let textBytesMax = 1 << 20

  /// Without the angle brackets; empty: it has none.
  public var messageID = ""
  /// Ids of earlier messages to which it refers, without angle brackets: that of `In-Reply-To`
  /// first, then the newest of `References`.
  public var references: [String] = []
  /// The address of the first author; empty: none.
  public var from = ""
  public var recipients: [String] = []
  /// The first value of each of `keptFields`.
  public var fields: [String: String] = [:]
  /// The values of `Authentication-Results`, the topmost first.
  public var authentication: [String] = []
  /// `multipart/report`: a bounce or a receipt.
  public var isReport = false
  public var text = ""
  /// The names of its files.
  public var files: [String] = []

  public init() {}

  var json: [UInt8] {
    JSONValue.object([
      "message_id": .string(messageID), "references": .array(references.map { .string($0) }),
      "from": .string(from), "recipients": .array(recipients.map { .string($0) }),
      "fields": .object(fields.mapValues { .string($0) }),
      "authentication": .array(authentication.map { .string($0) }), "is_report": .bool(isReport),
      "text": .string(text), "files": .array(files.map { .string($0) }),
    ]).text
  }

  /// Nil for anything but the form above: the process may be in the hands of its input.
  init?(_ json: [UInt8]) {
    guard let members = JSONValue(json)?.object, let messageID = members["message_id"]?.string,
      let references = ParsedMail.list(members["references"]),
      let from = members["from"]?.string,
      let recipients = ParsedMail.list(members["recipients"]),
      let fields = members["fields"]?.object?.compactMapValues(\.string),
      let authentication = ParsedMail.list(members["authentication"]),
      let isReport = members["is_report"]?.bool, let text = members["text"]?.string,
      let files = ParsedMail.list(members["files"])
    else { return nil }
    self.messageID = messageID
    self.references = Array(references.prefix(ParsedMail.referencesMax))
    self.from = from
    self.recipients = Array(recipients.prefix(ParsedMail.recipientsMax))
    self.fields = fields.filter { ParsedMail.keptFields.contains($0.key) }
    self.authentication = Array(authentication.prefix(ParsedMail.authenticationMax))
    self.isReport = isReport
    self.text = text
    self.files = Array(files.prefix(ParsedMail.filesMax))
  }

  private static func list(_ value: JSONValue?) -> [String]? { value?.array?.compactMap(\.string) }

  /// The ids of a header field such as `References`: what stands in angle brackets.
  static func ids(in value: String) -> [String] {
    value.split(separator: "<").compactMap { piece in
      guard let end = piece.firstIndex(of: ">") else { return nil }
      let id = piece[..<end]
      return id.isEmpty || id.utf8.count > 998 ? nil : String(id)
    }
  }
}
