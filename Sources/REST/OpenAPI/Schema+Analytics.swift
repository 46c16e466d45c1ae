/// Schemas of analytics.
extension Schema {
  private static let figures: [String: Schema] = {
    var members = [
      "sessions": count, "closed": count.described("Those of the conversations that are closed."),
      "messages": count.described("Of the closed conversations."), "csat_count": count,
    ]
    members["csat_mean"] = number.orNull
    for name in AnalyticsRoutes.timeNames { members["\(name)"] = count.orNull }
    return members
  }()
  private static let range: [String: Schema] = [
    "from": date, "to": date, "time_zone": text,
    "counted_at": time.described("Every change until then is in the figures."),
  ]

  static let analytics = object(
    range.merging([
      "days": array(of: object(figures.merging(["day": date]) { first, _ in first })),
      "total": object([:], sometimes: figures),
      "by_hour": array(of: array(of: count)).described(
        "Conversations by weekday (Monday first) and hour."),
    ]) { first, _ in first }
  ).named("Analytics")

  static let operatorAnalytics = object(
    range.merging([
      "operators": array(
        of: object(figures.merging(["id": id, "name": text]) { first, _ in first }))
    ]) { first, _ in first }
  ).named("OperatorAnalytics")

  static let ratingComments = page(
    "comments", of: AnalyticsRoutes.ratingComment.schema.named("RatingComment")
  )
  .named("RatingComments")
}
