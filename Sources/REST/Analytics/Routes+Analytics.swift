/// Analytics of conversations.
extension API {
  static let analyticsRoutes: [Route] = [
    Route(
      "GET", "\(analytics)", .member(.agent, .analyticsRead, AnalyticsRoutes.showAnalytics),
      "Get the figures of each day, and their total", query: .days, response: .analytics,
      isExpensive: true),
    Route(
      "GET", "\(analytics)/operators",
      .member(.agent, .analyticsRead, AnalyticsRoutes.showOperatorAnalytics),
      "Get the figures of each operator, most conversations first", query: .days,
      response: .operatorAnalytics, isExpensive: true),
    Route(
      "GET", "\(analytics)/comments",
      .member(.agent, .analyticsRead, AnalyticsRoutes.listRatingComments),
      "List the comments of ratings, newest first", query: .days + .page,
      response: .ratingComments, isExpensive: true),
  ]

  private static let analytics = "\(admin)/live-chat/analytics"
}
