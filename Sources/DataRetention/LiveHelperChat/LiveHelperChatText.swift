/// Messages of Live Helper Chat: who wrote them, and their BBCode as plain text.
import JSON
import Primitives

enum LiveHelperChatText {
  /// Tags whose markup is left out and whose content stays.
  private static let styles: Set<String> = [
    "b", "i", "u", "s", "strike", "quote", "h1", "h2", "h3", "h4", "code", "list", "html", "plain",
    "img", "url", "email", "level", "color", "fs", "mark", "center", "youtube", "translation",
  ]
  /// Characters of the longest tag, with its value.
  private static let tagLength = 2_048

  static func message(
    _ value: JSONValue, key: String, conversation: String, at: WallTime?,
    files: [String: JSONValue]
  ) -> ImportedMessage {
    let user = value["user"]?.int ?? 0
    let content = value.inner("meta_msg")?["content"]
    let isWhisper = value.flag("note") || content?["whisper"] != nil
    let role: ImportedMessage.Role =
      switch user {
      case 0: .visitor
      case -2: .bot
      case ..<0: .system
      default: .operator
      }
    var message = ImportedMessage(key: key, conversation: conversation, role: role)
    // Operators alone read notes.
    message.isNote = isWhisper && role == .operator
    // A remark names no author.
    message.user = role == .operator && !value.flag("note") ? "\(user)" : nil
    message.name = value.text("name")
    message.at = at
    message.setText(plain(value["msg"]?.string ?? "", files: files))
    return message
  }

  /// Addresses and the names of files stay; other markup is left out. The time is proportional to
  /// the length of the text, since the search for a tag's end stops at the next bracket.
  static func plain(_ text: String, files: [String: JSONValue]) -> String {
    guard text.utf8.contains(UInt8(ascii: "[")) else { return text }
    let input = Array(text.unicodeScalars)
    var output = String.UnicodeScalarView()
    /// The addresses of open `[url=…]`, which follow their texts.
    var links: [String] = []
    var at = 0
    while at < input.count {
      guard input[at] == "[",
        let end = input[(at + 1)...].prefix(tagLength)
          .firstIndex(where: { $0 == "[" || $0 == "]" }),
        input[end] == "]"
      else {
        output.append(input[at])
        at += 1
        continue
      }
      let tag = String(String.UnicodeScalarView(input[at + 1..<end]))
      if let replacement = replacement(of: tag, files: files, links: &links) {
        output.append(contentsOf: replacement.unicodeScalars)
        at = end + 1
      } else {
        output.append("[")
        at += 1
      }
    }
    return String(output)
  }

  /// Nil: the text is no tag.
  private static func replacement(
    of tag: String, files: [String: JSONValue], links: inout [String]
  ) -> String? {
    let isEnd = tag.hasPrefix("/")
    let body = isEnd ? tag.dropFirst() : tag[...]
    let name = body.prefix { $0.isLetter || $0.isNumber }.lowercased()
    let value = body.dropFirst(name.count)
    let argument = value.hasPrefix("=") ? value.dropFirst().filter { $0 != "\"" } : ""
    guard value.isEmpty || value.hasPrefix("=") else { return nil }
    if name == "file", !argument.isEmpty { return file(argument, files) }
    guard styles.contains(name) else { return nil }
    guard name == "url" else { return "" }
    if !isEnd {
      links.append(argument)
      return ""
    }
    let link = links.popLast() ?? ""
    return link.isEmpty ? "" : " (\(link))"
  }

  /// `[file=12_5f3a…_img]` names a row of lh_chat_file: `[file: receipt.png, 48210 bytes]`.
  private static func file(_ argument: String, _ files: [String: JSONValue]) -> String {
    let number = String(argument.prefix { $0 != "_" })
    var facts: [String] = []
    if let name = files[number]?.text("name") { facts.append(name) }
    if let bytes = files[number]?["size"]?.int { facts.append("\(bytes) bytes") }
    return facts.isEmpty ? "[file]" : "[file: \(facts.joined(separator: ", "))]"
  }
}
