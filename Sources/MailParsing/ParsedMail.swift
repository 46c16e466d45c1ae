/// An e-mail as `MailReadingProcess` has read it: what the gateway needs of it, and no more.
import JSON
import Primitives

public struct ParsedMail: Sendable, Equatable {
  /// A file of the message, decoded.
  public struct File: Sendable, Equatable {
    public var name: String
    public var bytes: [UInt8]

    public init(name: String, bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes
    }
  }

  /// Files whose bytes are left out.
  public struct Omitted: Sendable, Equatable {
    public var count = 0
    /// The first ones' names.
    public var names: [String] = []

    public init() {}

    public mutating func add(_ name: String) {
      count += 1
      if names.count < ParsedMail.omittedNamesMax { names.append(name) }
    }
  }

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
  /// Files whose bytes are read.
  public static let filesMax = 10
  /// Bytes of all files.
  public static let filesBytesMax = MailReadingProcess.messageBytesMax
  public static let omittedNamesMax = 5
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
  /// Whether there is no other author, in no other field `From` either (RFC 5322 §3.6.2): what a
  /// server says about the author is about one of several then.
  public var hasOneAuthor = false
  public var recipients: [String] = []
  /// The first value of each of `keptFields`.
  public var fields: [String: String] = [:]
  /// The values of `Authentication-Results`, the topmost first.
  public var authentication: [String] = []
  /// `multipart/report`: a bounce or a receipt.
  public var isReport = false
  public var text = ""
  public var files: [File] = []
  public var omitted = Omitted()

  public init() {}

  /// A line of JSON, and the bytes of the files behind it.
  var output: [UInt8] {
    let line = JSONValue.object([
      "message_id": .string(messageID), "references": .array(references.map { .string($0) }),
      "from": .string(from), "has_one_author": .bool(hasOneAuthor),
      "recipients": .array(recipients.map { .string($0) }),
      "fields": .object(fields.mapValues { .string($0) }),
      "authentication": .array(authentication.map { .string($0) }), "is_report": .bool(isReport),
      "text": .string(text),
      "files": .array(
        files.map { .object(["name": .string($0.name), "bytes": .number("\($0.bytes.count)")]) }),
      "omitted": .number("\(omitted.count)"),
      "omitted_names": .array(omitted.names.map { .string($0) }),
    ]).text
    return files.reduce(into: line + [UInt8(ascii: "\n")]) { $0 += $1.bytes }
  }

  /// Nil for anything but the form above: the process may be in the hands of its input.
  init?(_ output: [UInt8]) {
    guard let end = output.firstIndex(of: UInt8(ascii: "\n")),
      let members = JSONValue(Array(output[..<end]))?.object,
      let messageID = members["message_id"]?.string,
      let references = ParsedMail.list(members["references"]),
      let from = members["from"]?.string, let hasOneAuthor = members["has_one_author"]?.bool,
      let recipients = ParsedMail.list(members["recipients"]),
      let fields = members["fields"]?.object?.compactMapValues(\.string),
      let authentication = ParsedMail.list(members["authentication"]),
      let isReport = members["is_report"]?.bool, let text = members["text"]?.string,
      let files = ParsedMail.files(members["files"], output[(end + 1)...]),
      let omitted = members["omitted"]?.int, (0...MailReading.partsMax).contains(omitted),
      let names = ParsedMail.list(members["omitted_names"])
    else { return nil }
    self.messageID = messageID
    self.references = Array(references.prefix(ParsedMail.referencesMax))
    self.from = from
    self.hasOneAuthor = hasOneAuthor
    self.recipients = Array(recipients.prefix(ParsedMail.recipientsMax))
    self.fields = fields.filter { ParsedMail.keptFields.contains($0.key) }
    self.authentication = Array(authentication.prefix(ParsedMail.authenticationMax))
    self.isReport = isReport
    self.text = text
    self.files = files
    self.omitted.count = omitted
    self.omitted.names = Array(names.prefix(ParsedMail.omittedNamesMax))
  }

  /// Nil unless the bytes are those of the files exactly.
  private static func files(_ value: JSONValue?, _ bytes: ArraySlice<UInt8>) -> [File]? {
    guard let list = value?.array, list.count <= filesMax else { return nil }
    var rest = bytes
    var files: [File] = []
    for file in list {
      guard let members = file.object, let name = members["name"]?.string,
        let count = members["bytes"]?.int, (0...rest.count).contains(count)
      else { return nil }
      files.append(File(name: name, bytes: Array(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
    return rest.isEmpty ? files : nil
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
