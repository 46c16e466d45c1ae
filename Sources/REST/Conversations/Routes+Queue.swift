/// Who takes which conversation.
extension API {
  static let queueRoutes: [Route] = [
    Route(
      "POST", "\(conversations)/{id}/claim", .member(.agent, nil, QueueRoutes.claim),
      "Makes the conversation the caller's", body: .nothing, answer: .oneConversation),
    Route(
      "POST", "\(admin)/live-chat/next", .member(.agent, nil, QueueRoutes.claimNext),
      "Makes the conversation that has waited longest the caller's", body: .nothing,
      answer: .oneConversation, problems: [404]),
    Route(
      "POST", "\(conversations)/{id}/transfer", .member(.agent, nil, QueueRoutes.transfer),
      "Gives the conversation to another operator, or back to the queue", body: .transfer,
      answer: .oneConversation),
    Route(
      "POST", "\(conversations)/{id}/close", .member(.agent, nil, QueueRoutes.close),
      "Closes the conversation", body: .close, answer: .oneConversation),
    Route(
      "POST", "\(conversations)/{id}/reopen", .member(.agent, nil, QueueRoutes.reopen),
      "Opens a closed conversation again", body: .nothing, answer: .oneConversation),
  ]
}
