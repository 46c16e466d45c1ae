/// What has been counted.
extension API {
  static let analyticsRoutes: [Route] = [
    Route(
      "GET", "\(analytics)", .member(.agent, .analyticsRead, AnalyticsRoutes.showAnalytics),
      "The figures of each day, and of all together", query: .days, answer: .analytics),
    Route(
      "GET", "\(analytics)/operators",
      .member(.agent, .analyticsRead, AnalyticsRoutes.showOperatorAnalytics),
      "The figures of each operator", query: .days, answer: .operatorAnalytics),
    Route(
      "GET", "\(analytics)/comments",
      .member(.agent, .analyticsRead, AnalyticsRoutes.listRatingComments),
      "What visitors wrote with their ratings, newest first", query: .days + .page,
      answer: .ratingComments),
  ]

  private static let analytics = "\(admin)/live-chat/analytics"
}
