/// Conversations and what is said in them.
extension API {
  static let conversationRoutes: [Route] = [
    Route(
      "GET", "\(conversations)",
      .member(.agent, .conversationsRead, ConversationRoutes.listConversations),
      "Lists conversations, newest activity first; those that wait, longest first",
      query: .conversationFilters, answer: .conversations),
    Route(
      "GET", "\(conversations)/{id}",
      .member(.agent, .conversationsRead, ConversationRoutes.showConversation), "One conversation",
      answer: .oneConversation),
    Route(
      "GET", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsRead, ConversationRoutes.listMessages),
      "A page of its messages",
      query: .messageRange, answer: .messages),
    Route(
      "GET", "\(admin)/live-chat/messages/search",
      .member(.agent, .conversationsRead, ConversationRoutes.searchMessages),
      "Finds messages, newest first",
      query: .messageSearch, answer: .hits),
    Route(
      "POST", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsWrite, ConversationRoutes.postMessage), "Writes a message",
      body: .newMessage, status: 201, answer: .stored),
    Route(
      "POST", "\(conversations)/{id}/notes",
      .member(.agent, .conversationsWrite, ConversationRoutes.postNote),
      "Writes a note that only operators see", body: .newNote, status: 201, answer: .stored),
    Route(
      "PUT", "\(conversations)/{id}/tags",
      .member(.agent, .conversationsWrite, ConversationRoutes.tagConversation), "Sets its tags",
      body: .conversationTags, answer: .oneConversation),
    Route(
      "POST", "\(conversations)/{id}/read", .member(.agent, nil, ConversationRoutes.markRead),
      "Notes how far the caller has read", body: .readMark, answer: .readSeq),
  ]
}
