/// A conversation as a text that its visitor keeps: what both sides said and the lines that say who
/// came and went, without the operators' notes.
import Chat
import Directory
import JSON
import Postgres
import Primitives

extension API {
  func transcript(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let session = try ownSession(call)
    guard
      try await run(
        VisitorSession.find(session, visitor: call.visitor, workspace: call.workspace)) != nil
    else { throw .noSuchSession }
    var text: [UInt8] = []
    var seq: Int64 = 0
    var hasMore = true
    while hasMore, text.count < APILimits.transcriptBytes {
      let page = try await run(
        MessageRange.after(seq).page(
          of: session, workspace: call.workspace, limit: Limits.pageEntries
        ).scoped(to: call.workspace, user: call.visitor))
      guard let page, let last = page.entries.last else { break }
      seq = last.seq
      hasMore = page.hasMore
      for entry in page.entries where Transcript.shows(entry) {
        guard text.count < APILimits.transcriptBytes else {
          hasMore = true
          break
        }
        Transcript.append(entry, to: &text)
      }
    }
    if hasMore && !text.isEmpty { text.append("\n[…]\n") }
    return APIResponse(
      status: 200,
      headers: [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Disposition", "attachment; filename=\"conversation-\(session).txt\""),
      ], body: text)
  }
}

enum Transcript {
  /// Lines of the log that are the operators' own affair.
  private static let hiddenEvents: Set<String> = ["assigned", "unassigned", "rated"]

  static func shows(_ entry: Entry) -> Bool {
    switch entry.kind {
    case .note: false
    case .event: !hiddenEvents.contains(JSONValue(entry.payload)?["event"]?.string ?? "")
    default: true
    }
  }

  /// `2026-11-21 14:03 UTC  Mika: text`; further lines of a text are indented, so that no text can
  /// look like somebody else's.
  static func append(_ entry: Entry, to text: inout [UInt8]) {
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
