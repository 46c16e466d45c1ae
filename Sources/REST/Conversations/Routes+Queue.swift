/// The queue: which operator has which conversation.
extension API {
  static let queueRoutes: [Route] = [
    Route(
      "POST", "\(conversations)/{id}/claim", .member(.agent, nil, QueueRoutes.claim),
      "Claim a conversation", body: .nothing, response: .oneConversation),
    Route(
      "POST", "\(admin)/live-chat/next", .member(.agent, nil, QueueRoutes.claimNext),
      "Claim the conversation that has waited longest", body: .nothing,
      response: .oneConversation, problems: [404]),
    Route(
      "POST", "\(conversations)/{id}/transfer", .member(.agent, nil, QueueRoutes.transfer),
      "Transfer a conversation to another operator, or back to the queue", body: .transfer,
      response: .oneConversation),
    Route(
      "POST", "\(conversations)/{id}/close", .member(.agent, nil, QueueRoutes.close),
      "Close a conversation", body: .close, response: .oneConversation),
    Route(
      "POST", "\(conversations)/{id}/reopen", .member(.agent, nil, QueueRoutes.reopen),
      "Reopen a closed conversation", body: .nothing, response: .oneConversation),
  ]
}
