/// Conversations and their messages.
extension API {
  static let conversationRoutes: [Route] = [
    Route(
      "GET", "\(conversations)",
      .member(.agent, .conversationsRead, ConversationRoutes.listConversations),
      "List conversations, last activity first; waiting ones by their waiting time, longest first",
      query: .conversationFilters, response: .conversations, isExpensive: true),
    Route(
      "POST", "\(conversations)",
      .member(.agent, .conversationsWrite, ConversationRoutes.openConversation),
      "Begin a conversation with a visitor", body: .newConversation, status: 201,
      response: .oneConversation, problems: [404]),
    Route(
      "GET", "\(admin)/live-chat/export",
      .member(.admin, .conversationsRead, ConversationRoutes.exportConversations),
      "Export conversations with their messages, page by page", query: .export,
      type: ConversationRoutes.exportType, problems: [422], isExpensive: true),
    Route(
      "GET", "\(conversations)/{id}",
      .member(.agent, .conversationsRead, ConversationRoutes.showConversation),
      "Get a conversation", response: .oneConversation),
    Route(
      "PATCH", "\(conversations)/{id}",
      .member(.agent, .conversationsWrite, ConversationRoutes.changeConversation),
      "Change the title of a conversation", body: .conversationPatch, response: .oneConversation),
    Route(
      "DELETE", "\(conversations)/{id}",
      .member(.admin, .conversationsWrite, ConversationRoutes.deleteConversation),
      "Delete a conversation; it can be restored until it is erased", status: 204),
    Route(
      "POST", "\(conversations)/{id}/restore",
      .member(.admin, .conversationsWrite, ConversationRoutes.restoreConversation),
      "Restore a deleted conversation", body: .nothing, response: .oneConversation),
    Route(
      "GET", "\(admin)/live-chat/deleted-conversations",
      .member(.admin, .conversationsRead, ConversationRoutes.listDeleted),
      "List the deleted conversations that are not erased yet, last deleted first",
      query: .deletedConversations, response: .deletedConversations, isExpensive: true),
    Route(
      "GET", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsRead, ConversationRoutes.listMessages),
      "List messages of a conversation in the order of their seq", query: .messageRange,
      response: .messages),
    Route(
      "GET", "\(admin)/live-chat/messages/search",
      .member(.agent, .conversationsRead, ConversationRoutes.searchMessages),
      "Search messages, newest conversation first", query: .messageSearch, response: .hits,
      isExpensive: true),
    Route(
      "POST", "\(conversations)/{id}/messages",
      .member(.agent, .conversationsWrite, ConversationRoutes.postMessage), "Send a message",
      body: .sentMessage, status: 201, response: .stored),
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
