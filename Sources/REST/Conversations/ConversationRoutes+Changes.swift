/// Changes of a conversation as a whole: its title, deletion and restoration.
import Chat
import Conversations
import Directory
import JSON
import Primitives

extension ConversationRoutes {
  static let deletedConversation = RowShape([
    ("id", .id), ("title", .text), ("status", .word(["waiting", "active", "closed"])),
    ("visitor_id", .optional(.id)), ("visitor_name", .optional(.text)), ("messages", .int),
    ("last_message", .optional(.text)), ("created_at", .time), ("deleted_at", .time),
    ("deleted_via", .optional(.word(["operator", "api_key", "command"]))),
    ("deleted_by", .optional(.text)), ("erased_at", .optional(.time)),
  ])

  /// Sets the title; null or an empty one removes it.
  func changeConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard object.has("title") else { throw .missing("title") }
    let text = try object.string("title", bytesMax: APILimits.titleBytes) ?? ""
    guard let title = ConversationTitle.normalize(text) else {
      throw .invalidMember(
        "title",
        "one line of at most \(ConversationTitle.charactersMax) characters, or null to remove it")
    }
    guard
      try await api.database.run(ConversationTitle.set(title, of: call.id, in: call.workspace))
    else { throw .noSuchSession }
    api.sessions.changed(session: call.id, of: call.workspace)
    return try await showConversation(call)
  }

  /// The same answer whether it was deleted now or before. It can be restored until its erasure.
  func deleteConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let isNew = try await api.database.run(ConversationDeletion.delete(call.id, by: call.actor))
    guard let isNew else { throw .noSuchSession }
    if isNew { notify(.closed, call) }
    return APIResponse(status: 204)
  }

  func restoreConversation(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let isNew = try await api.database.run(ConversationDeletion.restore(call.id, by: call.actor))
    guard let isNew else { throw .noSuchSession }
    if isNew { notify(.waits, call) }
    return try await showConversation(call)
  }

  func listDeleted(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("conversations", keys: 2)
    let search = try QueryString(call.request.query).search("q")
    return try await api.list(
      page, ConversationRoutes.deletedConversation,
      ConversationDeletion.page(
        of: call.workspace, search: search, after: try page.position, limit: page.rowsWanted),
      from: api.expensiveDatabase)
  }

  private func notify(_ kind: WorkspaceNews.Kind, _ call: Call) {
    api.sessions.changed(session: call.id, of: call.workspace)
    api.sessions.happened(WorkspaceNews(workspace: call.workspace, session: call.id, kind: kind))
  }
}
