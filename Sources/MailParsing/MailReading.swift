/// Reads what the gateway needs of a message: who has written it, to what it refers, its text and
/// its files. `text/plain` is preferred to HTML, which becomes plain text.
import Texts

@safe struct MailReading {
  /// The parts of a message that are looked at, and how deep they are nested.
  static let partsMax = 1_000
  static let depthMax = 60
  static let fieldsMax = 1_000

  /// The text of a part and its own parts.
  struct Found {
    var plain: [String] = []
    /// From HTML, where there is no plain text.
    var converted: [String] = []

    var isBlank: Bool { (plain + converted).allSatisfy { $0.allSatisfy(\.isWhitespace) } }
  }

  private let tree: MailTree
  private let charsets: Charsets
  private var partsLeft = MailReading.partsMax
  private var bytesLeft = ParsedMail.textBytesMax
  private var fileBytesLeft = ParsedMail.filesBytesMax
  private var files: [ParsedMail.File] = []
  private var omitted = ParsedMail.Omitted()

  static func mail(_ tree: MailTree, _ charsets: Charsets) -> ParsedMail {
    var reading = MailReading(tree: tree, charsets: charsets)
    var mail = ParsedMail()
    reading.readHeader(into: &mail)
    // SAFETY: the tree's objects live until the process ends.
    if let root = unsafe tree.root {
      let type = unsafe tree.type(of: root)
      mail.isReport = type.type == "multipart" && type.subtype == "report"
      let found = unsafe reading.found(in: root, depth: 0)
      mail.text = reading.joined(found.plain.isEmpty ? found.converted : found.plain)
      (mail.files, mail.omitted) = (reading.files, reading.omitted)
    }
    return mail
  }

  private init(tree: MailTree, charsets: Charsets) {
    self.tree = tree
    self.charsets = charsets
  }

  private func readHeader(into mail: inout ParsedMail) {
    mail.messageID = value(tree.messageID ?? "")
    let author = tree.author
    mail.from = value(author.address ?? "")
    var authorFields = 0
    var further: [String] = []
    for (name, value) in tree.fields(atMost: MailReading.fieldsMax) {
      let value = self.value(value)
      if ParsedMail.keptFields.contains(name), mail.fields[name] == nil {
        mail.fields[name] = value
      } else if name == "authentication-results" {
        if mail.authentication.count < ParsedMail.authenticationMax {
          mail.authentication.append(value)
        }
      } else if name == "from" {
        authorFields += 1
      } else if name == "in-reply-to" {
        mail.references += ParsedMail.ids(in: value)
      } else if name == "references" {
        further += ParsedMail.ids(in: value).reversed()
      } else if ParsedMail.recipientFields.contains(name) {
        let room = ParsedMail.recipientsMax - mail.recipients.count
        if room > 0 { mail.recipients += tree.addresses(of: value, atMost: room).map(self.value) }
      }
    }
    mail.hasOneAuthor = author.count == 1 && authorFields == 1 && !mail.from.isEmpty
    mail.references = Array((mail.references + further).prefix(ParsedMail.referencesMax))
  }

  /// A value that is kept: on one line, and not longer than allowed.
  private func value(_ text: String) -> String {
    MailReading.clean(String(decoding: text.utf8.prefix(ParsedMail.valueBytesMax), as: UTF8.self))
  }

  /// Without control characters.
  static func clean(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.isControl ? " " : $0 }))
  }

  // MARK: Parts

  private mutating func found(in object: MailTree.Object, depth: Int) -> Found {
    guard partsLeft > 0, depth <= MailReading.depthMax else { return Found() }
    partsLeft -= 1
    switch unsafe tree.kind(of: object) {
    case .multipart: return unsafe foundInMultipart(object, depth: depth)
    case .part: return unsafe foundInPart(object)
    // A message in the message.
    case .other:
      omitted.add("message.eml")
      return Found()
    }
  }

  private mutating func foundInMultipart(_ object: MailTree.Object, depth: Int) -> Found {
    let isChoice = unsafe tree.type(of: object).subtype == "alternative"
    var all = Found()
    var choices: [Found] = []
    let parts = unsafe tree.parts(of: object, atMost: MailReading.partsMax)
    for index in unsafe parts.indices {
      let one = unsafe found(in: parts[index], depth: depth + 1)
      if isChoice {
        choices.append(one)
      } else {
        // Text between files, where one has plain text and another HTML.
        all.plain += one.plain.isEmpty ? one.converted : one.plain
      }
    }
    if isChoice,
      let best = choices.first(where: { !$0.plain.isEmpty && !$0.isBlank })
        ?? choices.first(where: { !$0.isBlank })
    {
      (all.plain, all.converted) = (best.plain, best.converted)
    }
    return all
  }

  private mutating func foundInPart(_ part: MailTree.Object) -> Found {
    let type = unsafe tree.type(of: part)
    let name = unsafe tree.fileName(of: part)
    let isText = type.type == "text" && (type.subtype == "plain" || type.subtype == "html")
    guard isText, unsafe !tree.isAttached(part), name == nil || type.subtype == "plain" else {
      // Signatures and calendars have no name, and are no files; some pictures have none either.
      let isMedia = ["image", "audio", "video"].contains(type.type)
      if let name = name ?? (isMedia ? "" : nil) {
        unsafe keep(part, MailReading.fileName(name))
      }
      return Found()
    }
    guard bytesLeft > 0 else { return Found() }
    let bytes = unsafe tree.content(of: part, atMost: bytesLeft)
    bytesLeft -= bytes.count
    let text = charsets.text(bytes, charset: type.charset)
    let isHTML = type.subtype == "html"
    return isHTML ? Found(converted: [PlainText.ofHTML(text)]) : Found(plain: [text])
  }

  private mutating func keep(_ part: MailTree.Object, _ name: String) {
    guard files.count < ParsedMail.filesMax else { return omitted.add(name) }
    let bytes = unsafe tree.content(of: part, atMost: fileBytesLeft + 1)
    guard !bytes.isEmpty, bytes.count <= fileBytesLeft else { return omitted.add(name) }
    fileBytesLeft -= bytes.count
    files.append(ParsedMail.File(name: name, bytes: bytes))
  }

  private static func fileName(_ name: String) -> String {
    let clean = MailReading.clean(name).prefix(ParsedMail.fileNameCharactersMax)
    return clean.isEmpty ? "file" : String(clean)
  }

  /// With line ends of one character, and without what PostgreSQL does not store.
  private func joined(_ texts: [String]) -> String {
    let text = texts.joined(separator: "\n").replacing("\r\n", with: "\n").unicodeScalars
    let allowed = text.filter { $0 == "\n" || $0 == "\t" || !$0.properties.isControl }
    return String(
      decoding: String(String.UnicodeScalarView(allowed)).utf8.prefix(ParsedMail.textBytesMax),
      as: UTF8.self)
  }
}

extension Unicode.Scalar.Properties {
  /// Control characters, as C0 and C1.
  fileprivate var isControl: Bool { generalCategory == .control }
}
