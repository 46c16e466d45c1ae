/// Conversations and their messages.
extension API {
  static let conversationRoutes: [Route] = [
    Route(
      "GET", "\(conversations)",
      .member(.agent, .conversationsRead, ConversationRoutes.listConversations),
      "List conversations, last activity first; waiting ones by their waiting time, longest first",
      query: .conversationFilters, response: .conversations),
    Route(
      "GET", "\(conversations)/{id}",
      .member(.agent, .conversationsRead, ConversationRoutes.showConversation),
      "Get a conversation", response: .oneConversation),
    Route(
      "GET", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsRead, ConversationRoutes.listMessages),
      "List messages of a conversation in the order of their seq", query: .messageRange,
      response: .messages),
    Route(
      "GET", "\(admin)/live-chat/messages/search",
      .member(.agent, .conversationsRead, ConversationRoutes.searchMessages),
      "Search messages, newest conversation first", query: .messageSearch, response: .hits),
    Route(
      "POST", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsWrite, ConversationRoutes.postMessage), "Send a message",
      body: .newMessage, status: 201, response: .stored),
    Route(
      "POST", "\(conversations)/{id}/notes",
      .member(.agent, .conversationsWrite, ConversationRoutes.postNote),
      "Add a note, which only operators see", body: .newNote, status: 201, response: .stored),
    Route(
      "PUT", "\(conversations)/{id}/tags",
      .member(.agent, .conversationsWrite, ConversationRoutes.tagConversation),
      "Replace the tags of a conversation", body: .conversationTags, response: .oneConversation),
    Route(
      "POST", "\(conversations)/{id}/read", .member(.agent, nil, ConversationRoutes.markRead),
      "Move the caller's read mark forward", body: .readMark, response: .readSeq),
  ]
}
