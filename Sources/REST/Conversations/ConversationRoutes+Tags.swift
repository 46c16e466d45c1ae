/// The tags of a conversation.
import Conversations
import Directory
import JSON
import Primitives

extension ConversationRoutes {
  /// Replaces the tags of a conversation. Tags that the workspace does not have yet are created.
  func tagConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let given = try object.strings(
      "tags", countMax: APILimits.tagsOfConversation, bytesMax: APILimits.tagBytes)
    guard let given else { throw .missing("tags") }
    var names: [String] = []
    for name in given { names.append(try tagName(name)) }
    let found = try await api.database.run(
      ConversationTags.set(names, of: call.id, in: call.workspace, tagsMax: Tags.countMax))
    guard let fits = found else { throw .noSuchSession }
    guard fits else { throw .tooMany("tags", Tags.countMax) }
    api.sessions.changed(session: call.id)
    return try await showConversation(call)
  }
}
