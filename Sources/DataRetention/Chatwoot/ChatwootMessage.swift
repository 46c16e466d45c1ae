/// One row of Chatwoot's `messages` as a message: its text, role and kind.
import JSON
import Postgres
import Primitives
import Texts

enum ChatwootMessage {
  /// Lines for the attachments and for the fields of a form, at most.
  static let linesMax = 64
  private static let fileTypes = [
    "image", "audio", "video", "file", "location", "link", "share", "story", "contact", "reel",
    "embed",
  ]

  static func message(_ rows: Rows, _ row: Int) -> ImportedMessage {
    let attributes = attributes(rows.text(row, 6))
    let type = rows.int(row, 3)
    let sender = rows.text(row, 7)
    let isNote = rows.bool(row, 4) == true && type != 0
    let role: ImportedMessage.Role =
      switch (type, sender) {
      case (0, _): .visitor
      case (2, _): .system
      case (1, "User"): .operator
      // Operators alone read notes, so those of bots are theirs.
      case (1, _): isNote ? .operator : .bot
      default: .bot
      }
    var message = ImportedMessage(
      key: "\(rows.int(row, 0) ?? 0)", conversation: "\(rows.int(row, 1) ?? 0)", role: role)
    message.isNote = isNote
    message.user = sender == "User" ? rows.int(row, 8).map { "\($0)" } : nil
    message.name = role == .operator ? rows.text(row, 9) : nil
    message.at = rows.time(row, 10)
    if attributes["deleted"]?.bool == true {
      message.reason = "deleted in Chatwoot: not imported"
    } else {
      message.setText(text(rows, row, attributes))
    }
    return message
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
