/// Conversations and what is said in them.
extension API {
  static let conversationRoutes: [Route] = [
    Route(
      "GET", "\(conversations)", .member(.agent, .conversationsRead, API.listConversations),
      "Lists conversations, newest activity first; those that wait, longest first",
      query: ["status", "assignee", "tag", "q", "cursor", "limit"]),
    Route(
      "GET", "\(conversations)/{id}",
      .member(.agent, .conversationsRead, API.showConversation), "One conversation"),
    Route(
      "GET", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsRead, API.listMessages), "A page of its messages",
      query: ["after", "before", "around", "limit"]),
    Route(
      "GET", "\(admin)/live-chat/messages/search",
      .member(.agent, .conversationsRead, API.searchMessages), "Finds messages, newest first",
      query: ["q", "cursor", "limit"]),
    Route(
      "POST", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsWrite, API.postMessage), "Writes a message", body: "NewMessage",
      status: 201),
    Route(
      "POST", "\(conversations)/{id}/notes", .member(.agent, .conversationsWrite, API.postNote),
      "Writes a note that only operators see", body: "NewNote", status: 201),
    Route(
      "PUT", "\(conversations)/{id}/tags",
      .member(.agent, .conversationsWrite, API.tagConversation), "Sets its tags",
      body: "ConversationTags"),
    Route(
      "POST", "\(conversations)/{id}/read", .member(.agent, nil, API.markRead),
      "Notes how far the caller has read", body: "ReadMark"),
  ]
}
