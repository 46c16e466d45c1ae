/// Channels: the webhooks of platforms, the state of each channel, and what was sent on them.
extension API {
  static let channelRoutes: [Route] = [
    Route(
      "POST", ChannelWebhookRoutes.path, .open(ChannelWebhookRoutes.receive),
      "Receive events of a platform", response: .object, problems: [400, 401, 404, 429]),
    Route(
      "GET", "\(admin)/channels", .member(.agent, .settingsRead, ChannelRoutes.list),
      "List the channels, with what is stored for each", response: .channels),
    Route(
      "POST", "\(admin)/channels/{channel:text}/test",
      .member(.admin, .settingsWrite, ChannelRoutes.test),
      "Ask a channel's platform for the account's name", body: .nothing, response: .channelTrial),
    Route(
      "GET", "\(admin)/channels/{channel:text}/quota",
      .member(.agent, .settingsRead, ChannelRoutes.quota),
      "Ask a channel's platform for the quota of messages", response: .channelQuota),
    Route(
      "POST", "\(conversations)/{id}/deliveries/{message}/send-again",
      .member(.agent, .conversationsWrite, ChannelRoutes.sendAgain),
      "Send a message again that has not reached a channel's platform", body: .nothing,
      status: 202, response: .channelDelivery),
    Route(
      "GET", "\(conversations)/{id}/deliveries",
      .member(.agent, .conversationsRead, ChannelRoutes.deliveries),
      "Get what became of the messages that were to be sent on a channel",
      response: .channelDeliveries),
  ]
}
