/// One row of Chatwoot's `messages` as entries of a log: their text, role and kind.
import Chat
import JSON
import Postgres
import Primitives

struct ChatwootMessage {
  /// Entries that one row becomes at most; what does not fit is left out.
  static let partsMax = 16
  /// Lines for the attachments and for the fields of a form, at most.
  static let linesMax = 64
  private static let fileTypes = [
    "image", "audio", "video", "file", "location", "link", "share", "story", "contact", "reel",
    "embed",
  ]

  enum Role: String {
    case visitor, `operator`, bot, system
  }

  var id: Int64
  var conversation: Int64
  var role: Role
  var isNote: Bool
  /// The user of Chatwoot who wrote it, with name.
  var user: Int64?
  var name: String?
  var at: WallTime?
  /// Empty: there is nothing to import, and `reason` says why.
  var texts: [String]
  var reason: String?

  init(_ rows: Rows, _ row: Int) {
    let attributes = ChatwootMessage.attributes(rows.text(row, 6))
    let type = rows.int(row, 3)
    let sender = rows.text(row, 7)
    id = rows.int(row, 0) ?? 0
    conversation = rows.int(row, 1) ?? 0
    isNote = rows.bool(row, 4) == true && type != 0
    role =
      switch (type, sender) {
      case (0, _): .visitor
      case (2, _): .system
      case (1, "User"): .operator
      // Operators alone read notes, so those of bots are theirs.
      case (1, _): isNote ? .operator : .bot
      default: .bot
      }
    user = sender == "User" ? rows.int(row, 8) : nil
    name = role == .operator ? rows.text(row, 9) : nil
    at = rows.time(row, 10)
    texts = []
    if attributes["deleted"]?.bool == true {
      reason = "deleted in Chatwoot: not imported"
      return
    }
    let text = ChatwootMessage.text(rows, row, attributes).filter { $0 != "\0" }
    guard text.contains(where: { !$0.isWhitespace }) else {
      reason = "without text: not imported"
      return
    }
    texts = PlainText.parts(text, bytes: Limits.bodyBytes)
    if texts.count > ChatwootMessage.partsMax {
      texts.removeLast(texts.count - ChatwootMessage.partsMax)
      reason = "longer than \(ChatwootMessage.partsMax) messages: the end is left out"
    } else if texts.count > 1 {
      reason = "longer than one message: imported as several"
    }
  }

  /// Chatwoot stores the attributes as an object, or as a string that contains one.
  private static func attributes(_ text: String?) -> JSONValue {
    guard let text, text != "{}" else { return .object([:]) }
    // JSON may have U+0000, which no text of PostgreSQL has.
    guard let value = JSONValue(text) ?? JSONValue(text.replacing("\\u0000", with: "")) else {
      return .object([:])
    }
    return value.string.flatMap { JSONValue($0) } ?? value
  }

  private static func text(_ rows: Rows, _ row: Int, _ attributes: JSONValue) -> String {
    var text = rows.text(row, 2) ?? ""
    if rows.int(row, 5) == 8 {  // An e-mail.
      let mail = attributes["email"]
      if text.isEmpty { text = mail?["text_content"]?["full"]?.string ?? "" }
      if text.isEmpty { text = mail?["html_content"]?["full"]?.string ?? "" }
      if PlainText.isHTML(text) { text = PlainText.ofHTML(text) }
    }
    var lines = text.isEmpty ? [] : [text]
    for item in (attributes["items"]?.array ?? []).prefix(linesMax) {
      let title = item["title"]?.string ?? item["label"]?.string
      if let title { lines.append("- \(title)") }
    }
    for value in (attributes["submitted_values"]?.array ?? []).prefix(linesMax) {
      let given = value["value"]?.string ?? value["title"]?.string
      if let given { lines.append("\(value["name"]?.string ?? "Answer"): \(given)") }
    }
    if let mail = attributes["submitted_email"]?.string { lines.append("E-mail: \(mail)") }
    let files = rows.text(row, 11).flatMap { JSONValue($0) }?.array ?? []
    lines += files.prefix(linesMax).map { line($0) }
    return lines.joined(separator: "\n")
  }

  /// `[image: receipt.png, 48210 bytes, https://…]`
  private static func line(_ file: JSONValue) -> String {
    let type = file["type"]?.int ?? 3
    let word = fileTypes.indices.contains(type) ? fileTypes[type] : "file"
    var facts = [file["file"]?.string ?? file["title"]?.string ?? ""]
    if let bytes = file["bytes"]?.int { facts.append("\(bytes) bytes") }
    if word == "location", case .number(let latitude)? = file["latitude"],
      case .number(let longitude)? = file["longitude"]
    {
      facts.append("\(latitude), \(longitude)")
    }
    facts.append(file["url"]?.string ?? "")
    facts.removeAll(where: \.isEmpty)
    return facts.isEmpty ? "[\(word)]" : "[\(word): \(facts.joined(separator: ", "))]"
  }
}
