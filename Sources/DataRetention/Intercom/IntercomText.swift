/// Parts of Intercom's conversations as messages: who wrote them, and their HTML as plain text.
import JSON
import Primitives
import Texts

enum IntercomText {
  /// Lines for attachments, at most.
  private static let linesMax = 64
  /// Parts of admins whose body the contact has seen. Of others that is not documented, so only
  /// operators see them: a note.
  private static let shownTypes: Set<String> = ["comment", "quick_reply", "open", "close"]
  /// Parts without a body that are lines of the log. Visitors see such lines, so that assignments
  /// and others that concern the team alone are none.
  private static let events = ["close": "Closed", "open": "Opened"]

  /// Whether an author or an admin is a bot.
  static func isBot(_ author: JSONValue) -> Bool {
    let email = author.text("email") ?? ""
    return author.text("type") == "bot" || author["from_ai_agent"]?.bool == true
      || email.hasPrefix("operator+") && email.hasSuffix("@intercom.io")
  }

  /// - Parameter value: a part, or the source of a conversation, which has no `part_type`.
  static func message(
    _ value: JSONValue, key: String, conversation: String, at: WallTime?
  ) -> ImportedMessage {
    let author = value["author"] ?? .null
    let type = value.text("part_type") ?? "comment"
    var message = ImportedMessage(key: key, conversation: conversation, role: role(author))
    message.at = at
    if value["redacted"]?.bool == true {
      message.reason = "redacted in Intercom: not imported"
      return message
    }
    let text = text(value)
    guard text.isEmpty else {
      message.isNote = message.role != .visitor && !shownTypes.contains(type)
      // Operators alone read notes, so those of bots are theirs.
      if message.isNote { message.role = .operator }
      sign(&message, author)
      message.setText(text)
      return message
    }
    guard let event = events[type] else {
      message.reason =
        shownTypes.contains(type) || type == "note"
        ? "without text: not imported" : "events of the team: not imported"
      return message
    }
    message.role = .system
    message.setText(event + (author.text("name").map { " by \($0)" } ?? ""))
    return message
  }

  private static func role(_ author: JSONValue) -> ImportedMessage.Role {
    if isBot(author) { return .bot }
    switch author.text("type") {
    case "user", "lead", "contact": return .visitor
    case "admin", "team": return .operator
    default: return .system
    }
  }

  private static func sign(_ message: inout ImportedMessage, _ author: JSONValue) {
    message.name = author.text("name")
    guard message.role == .operator, author.text("type") == "admin" else { return }
    message.user = author["id"]?.key
  }

  private static func text(_ value: JSONValue) -> String {
    var lines: [String] = []
    if let subject = value.text("subject") {
      lines.append(PlainText.ofHTML(subject, withLinks: true))
    }
    if let body = value.text("body") {
      lines.append(PlainText.ofHTML(body, withLinks: true))
    }
    for file in (value["attachments"]?.array ?? []).prefix(linesMax) {
      var facts = [file.text("name") ?? ""]
      if let bytes = file["filesize"]?.int { facts.append("\(bytes) bytes") }
      facts.append(file.text("url") ?? "")
      facts.removeAll(where: \.isEmpty)
      lines.append(facts.isEmpty ? "[file]" : "[file: \(facts.joined(separator: ", "))]")
    }
    return lines.filter { !$0.isEmpty }.joined(separator: "\n")
  }
}
