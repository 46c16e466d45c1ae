/// Analytics of conversations.
extension API {
  static let analyticsRoutes: [Route] = [
    Route(
      "GET", "\(analytics)", .member(.agent, .analyticsRead, AnalyticsRoutes.showAnalytics),
      "Get the figures of each day, and their total", query: .days + .scope,
      response: .analytics, isExpensive: true),
    Route(
      "GET", "\(analytics)/operators",
      .member(.agent, .analyticsRead, AnalyticsRoutes.showOperatorAnalytics),
      "Get the figures of each operator, most conversations first", query: .days,
      response: .operatorAnalytics, isExpensive: true),
    Route(
      "GET", "\(analytics)/teams",
      .member(.agent, .analyticsRead, AnalyticsRoutes.showTeamAnalytics),
      "Get the figures of each team, most conversations first", query: .days,
      response: .teamAnalytics, isExpensive: true),
    Route(
      "GET", "\(analytics)/channels",
      .member(.agent, .analyticsRead, AnalyticsRoutes.showChannelAnalytics),
      "Get the figures of each channel, most conversations first", query: .days,
      response: .channelAnalytics, isExpensive: true),
    Route(
      "GET", "\(analytics)/tags",
      .member(.agent, .analyticsRead, AnalyticsRoutes.showTagAnalytics),
      "Get the figures of each tag, most conversations first", query: .days,
      response: .tagAnalytics, isExpensive: true),
    Route(
      "GET", "\(analytics)/ratings",
      .member(.agent, .analyticsRead, AnalyticsRoutes.listRatings),
      "List ratings with their comments, newest first", query: .days + .ratings,
      response: .ratings, isExpensive: true),
  ]

  private static let analytics = "\(admin)/live-chat/analytics"
}
