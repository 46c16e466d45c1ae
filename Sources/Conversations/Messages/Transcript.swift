public import Chat
import JSON
import Primitives

/// A conversation as plain text for its visitor: messages and events, without operators' notes.
public enum Transcript {
  /// Events that only operators see.
  private static let hiddenEvents: Set<String> = ["assigned", "unassigned", "rated"]

  public static func shows(_ entry: Entry) -> Bool {
    switch entry.kind {
    case .note: false
    case .event: !hiddenEvents.contains(JSONValue(entry.payload)?["event"]?.string ?? "")
    default: true
    }
  }

  /// Appends `2026-11-21 14:03 UTC  Mika: text`. Further lines of a text are indented, so that a
  /// text cannot imitate another entry.
  public static func append(_ entry: Entry, to text: inout [UInt8]) {
    let at = Array(entry.at.description.utf8)
    text += at[0..<10]
    text.append(UInt8(ascii: " "))
    text += at[11..<16]
    text.append(" UTC  ")
    if entry.kind == .event {
      text.append("— ")
    } else {
      text += name(entry)
      text.append(": ")
    }
    for byte in entry.body where byte != 0x0D {
      text.append(byte)
      if byte == 0x0A { text.append("                      ") }
    }
    text.append(0x0A)
    if entry.kind == .file { appendNames(of: entry, to: &text) }
  }

  /// Below a caption the names of the files. Without one the text has them already.
  private static func appendNames(of entry: Entry, to text: inout [UInt8]) {
    guard let payload = JSONValue(entry.payload), payload["caption"]?.bool == true else { return }
    for item in payload["attachments"]?.array ?? [] {
      guard let name = item["name"]?.string else { continue }
      text.append("                      📎 ")
      text += name.utf8.filter { $0 >= 0x20 }
      text.append(0x0A)
    }
  }

  private static func name(_ entry: Entry) -> [UInt8] {
    let name = entry.senderName.filter { $0 >= 0x20 }
    if !name.isEmpty { return name }
    switch entry.role {
    case .visitor, .user: return Array("Visitor".utf8)
    case .bot, .assistant: return Array("Bot".utf8)
    case .operator_, .system: return Array("Operator".utf8)
    }
  }
}
