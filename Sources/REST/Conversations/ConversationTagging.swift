/// The tags that stand at a conversation.
import Conversations
import Directory
import JSON
import Primitives

extension ConversationRoutes {
  /// Sets which tags a conversation has. Those that the workspace does not know yet are made.
  func tagConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let given = try object.strings(
      "tags", countMax: APILimits.tagsOfConversation, bytesMax: APILimits.tagBytes)
    guard let given else { throw .missing("tags") }
    var names: [String] = []
    for name in given { names.append(try tagName(name)) }
    let found = try await rest.run(
      ConversationTags.set(
        names, of: call.session, in: call.workspace, tagsMax: APILimits.tags))
    guard let fits = found else { throw .noSuchSession }
    guard fits else { throw .tooMany("tags", APILimits.tags) }
    rest.sessions.changed(session: call.session)
    return try await showConversation(call)
  }
}
