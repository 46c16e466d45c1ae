/// Schemas of analytics.
extension Schema {
  private static let figures: [String: Schema] = {
    var members = [
      "sessions": count.described("Conversations that began; every other figure counts these."),
      "claimed": count.described("Those of the conversations that an operator has claimed."),
      "answered": count.described("Those that an operator has answered."),
      "closed": count.described("Those that are closed."), "messages": count, "csat_count": count,
      "csat_stars": array(of: count).described("Ratings with 1, 2, 3, 4 and 5 stars."),
    ]
    members["csat_mean"] = number.orNull
    for name in AnalyticsRoutes.timeNames { members["\(name)"] = count.orNull }
    return members
  }()
  private static let targets: [String: Schema] = [
    "missed_targets": object(["first_response": count, "resolution": count]).described(
      "Targets that were missed, by when they were due."),
    "due_targets": object(["first_response": count, "resolution": count]).described(
      "Targets that were due, met or missed."),
  ]
  private static let counted = figures.merging(targets) { first, _ in first }
  private static let previous = object(figures).described(
    "The figures of the period of the same length that ends before this one begins.")
  private static let range: [String: Schema] = [
    "from": date, "to": date, "time_zone": text,
    "counted_at": time.described("Every change until then is in the figures."),
  ]

  static let analytics = object(
    range.merging([
      "days": array(
        of: object(counted.merging(["day": date]) { first, _ in first })),
      "total": object(figures), "previous": previous,
      "by_hour": array(of: array(of: count)).described(
        "Conversations by weekday (Monday first) and hour."),
    ]) { first, _ in first }.merging(targets) { first, _ in first }
  ).named("Analytics")

  static let operatorAnalytics = groups("operators", ["id": id, "name": text])
    .named("OperatorAnalytics")
  static let teamAnalytics = groups("teams", ["id": id, "name": text]).named("TeamAnalytics")
  static let channelAnalytics = groups("channels", ["name": text]).named("ChannelAnalytics")
  static let tagAnalytics = groups("tags", ["name": text]).named("TagAnalytics")

  private static func groups(_ name: String, _ members: [String: Schema]) -> Schema {
    let group = counted.merging(members) { first, _ in first }
      .merging(["previous": previous]) { first, _ in first }
    return object(range.merging([name: array(of: object(group))]) { first, _ in first })
  }

  static let ratings = page("ratings", of: AnalyticsRoutes.rating.schema.named("ListedRating"))
    .named("ListedRatings")
}
