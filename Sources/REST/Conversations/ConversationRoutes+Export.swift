/// The export of all conversations with their messages, as NDJSON.
///
/// A response is one page: memory and time of a request do not grow with the workspace. Its
/// statements run on `ExpensiveReaders`, one after another, and no loop waits for them.
import Chat
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension ConversationRoutes {
  static let exportType = "application/x-ndjson"

  func exportConversations(_ call: Call) async throws(Problem) -> APIResponse {
    let query = try QueryString(call.request.query)
    let since = try query.moment("since")
    let until = try query.moment("until")
    let page = try call.page("export", keys: 3, defaultLimit: APILimits.exportConversations)
    let last = try page.position
    if last == nil {
      try await api.expensiveDatabase.run(
        ConversationExport.note(since: since, until: until, by: call.actor))
    }
    let rows = try await api.expensiveDatabase.rows(
      ConversationExport.page(
        of: call.workspace, since: since, until: until, after: last, limit: page.rowsWanted
      ).scoped(to: call.workspace))
    let positions = (0..<min(rows.count, page.limit)).compactMap { row in
      rows.uuid(row, 0).flatMap { id in
        rows.time(row, 1).map { ListPosition(at: $0, id: id) }
      }
    }
    var export = ExportPage()
    // The conversation at the cursor may have further messages.
    if let last, let seq = try page.number(2) {
      try await add(messagesOf: last, after: seq, to: &export, call)
    }
    let known = try await conversations(positions.map(\.id), of: call.workspace)
    for position in positions {
      if export.body.count >= APILimits.exportBytes { export.isFull = true }
      if export.isFull { break }
      export.place = (position, 0)
      // Nil: deleted since the first statement.
      guard let conversation = known[position.id] else { continue }
      export.appendLine("conversation") {
        $0.appendKey("conversation")
        appendConversationJSON(conversation, to: &$0)
      }
      export.conversations += 1
      try await add(messagesOf: position, after: 0, to: &export, call)
    }
    var next: String?
    if export.isFull || rows.count > page.limit, let (position, seq) = export.place {
      next = page.cursor(
        after: ["\(position.at.microseconds)", "\(position.id)", "\(seq)"])
    }
    let (conversations, messages) = (export.conversations, export.messages)
    export.appendLine("end") { json in
      json.appendMember("conversations", conversations)
      json.appendMember("messages", messages)
      json.appendMember("next_cursor", orNull: next)
    }
    return APIResponse(
      status: 200, headers: [("Content-Type", ConversationRoutes.exportType)], body: export.body)
  }

  /// Adds the messages after `seq`, until they end, the page is full, or the conversation is
  /// deleted.
  private func add(
    messagesOf position: ListPosition, after seq: Int64, to export: inout ExportPage, _ call: Call
  ) async throws(Problem) {
    export.place = (position, seq)
    while !export.isFull, let place = export.place {
      let found = try await api.expensiveDatabase.run(
        MessageRange.after(place.seq).page(
          of: position.id, workspace: call.workspace, limit: APILimits.exportMessages
        ).scoped(to: call.workspace))
      guard let found else { return }
      for entry in found.entries {
        export.appendLine("message") {
          appendMembers(of: entry, session: position.id, to: &$0)
        }
        export.messages += 1
        export.place = (position, entry.seq)
      }
      guard found.hasMore else { return }
      export.isFull = export.body.count >= APILimits.exportBytes
    }
  }
}

/// The lines of one page.
private struct ExportPage {
  var body: [UInt8] = []
  var conversations: Int64 = 0
  var messages: Int64 = 0
  /// The last conversation in the page, and the last of its messages.
  var place: (position: ListPosition, seq: Int64)?
  /// There is more, which begins the next page.
  var isFull = false

  /// Appends `{"type":TYPE,…}` and a line feed.
  mutating func appendLine(_ type: StaticString, _ members: (inout [UInt8]) -> Void) {
    body.append(
      contentsOf: [UInt8].object { json in
        json.appendMember("type", String(describing: type))
        members(&json)
      })
    body.append(UInt8(ascii: "\n"))
  }
}
