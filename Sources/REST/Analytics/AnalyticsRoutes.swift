/// The figures of a workspace's conversations, by day, hour, operator, team, channel and tag.
import Conversations
import Directory
import JSON
import Primitives

struct AnalyticsRoutes: RouteGroup {
  let api: API

  /// The most days of one request.
  static let daysMax: Int64 = 366
  /// Changes of conversations that are counted before the response; upkeep counts the rest, and the
  /// response says of when its figures are.
  static let countedMax: Int64 = 2_000
  /// How long a response waits for another count, in milliseconds.
  private static let patience: Int64 = 500
  /// The most operators, teams, channels or tags of a response: those with the most conversations.
  static let groupsMax = 500

  func showAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    let scope = try scope(call)
    let range = try await countedRange(call)
    let (workspace, from, to) = (call.workspace, range.from, range.to)
    let days = try await api.expensiveDatabase.run(
      Analytics.days(of: scope, in: workspace, from: from, to: to))
    let hours = try await api.expensiveDatabase.run(
      Analytics.hours(of: scope, in: workspace, from: from, to: to))
    let whole = try await api.expensiveDatabase.run(
      Analytics.total(of: scope, in: workspace, from: from, to: to))
    let targets = try await targets(of: scope, range, in: workspace)
    return .json(
      [UInt8].object { json in
        append(range, to: &json)
        append(targets.values.reduce(into: Targets.Outcome(), +=), to: &json)
        json.appendArray("days", days) { element, json in
          json += [UInt8].object {
            $0.appendMember("day", element.day)
            append(element.figures, to: &$0)
            append(targets[element.day] ?? Targets.Outcome(), to: &$0)
          }
        }
        json.appendObject("total") { append(whole.now, to: &$0) }
        json.appendObject("previous") { append(whole.before, to: &$0) }
        json.appendMember(
          "by_hour",
          json: JSONValue.array(hours.map { .array($0.map { .int(Int($0)) }) }).text)
      })
  }

  func showOperatorAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    try await show(.operators, "operators", call)
  }

  func showTeamAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    try await show(.teams, "teams", call)
  }

  func showChannelAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    try await show(.channels, "channels", call)
  }

  func showTagAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    try await show(.tags, "tags", call)
  }

  private func show(
    _ grouping: Analytics.Grouping, _ name: StaticString, _ call: Call
  ) async throws(Problem) -> APIResponse {
    let range = try await countedRange(call)
    let groups = try await groups(grouping, call, range)
    let targets = try await targets(by: grouping, range, in: call.workspace)
    return .json(
      [UInt8].object { json in
        append(range, to: &json)
        json.appendArray(name, groups) { group, json in
          json += [UInt8].object {
            if grouping == .operators || grouping == .teams {
              $0.appendMember("id", group.key)
            }
            $0.appendMember("name", group.name)
            append(group.figures, to: &$0)
            append(targets[group.key] ?? Targets.Outcome(), to: &$0)
            $0.appendObject("previous") { append(group.previous, to: &$0) }
          }
        }
      })
  }

  private func groups(
    _ grouping: Analytics.Grouping, _ call: Call, _ range: Analytics.DayRange
  ) async throws(Problem) -> [Analytics.Group] {
    try await api.expensiveDatabase.run(
      Analytics.groups(
        grouping, of: call.workspace, from: range.from, to: range.to,
        limit: AnalyticsRoutes.groupsMax))
  }

  /// The days of the query, after conversations that are not counted yet were counted.
  func countedRange(_ call: Call) async throws(Problem) -> Analytics.DayRange {
    _ = try await api.expensiveDatabase.run(
      Analytics.count(limit: AnalyticsRoutes.countedMax, patience: AnalyticsRoutes.patience))
    return try await dayRange(call)
  }

  /// Which conversations the query limits the report to.
  private func scope(_ call: Call) throws(Problem) -> Analytics.Scope {
    let query = try QueryString(call.request.query)
    let scopes = [
      try id(query, "operator").map { Analytics.Scope.ofOperator($0) },
      try id(query, "team").map { .ofTeam($0) }, try query.channel().map { .onChannel($0) },
      query["tag"].map { .withTag($0) },
    ].compactMap { $0 }
    guard scopes.count < 2 else {
      throw .invalid(
        "The parameters “operator”, “team”, “channel” and “tag” exclude each other. Send one of "
          + "them.")
    }
    return scopes.first ?? .all
  }

  /// The days of the query, `from` and `to` included.
  private func dayRange(_ call: Call) async throws(Problem) -> Analytics.DayRange {
    let query = try QueryString(call.request.query)
    for name in ["from", "to"] {
      guard let text = query.formatted(name), !isDate(text) else { continue }
      throw .invalidParameter(name, "a date such as 2026-11-22")
    }
    let days = try query.int("days", in: 1...AnalyticsRoutes.daysMax)
    guard days == nil || query["from"] == nil else {
      throw .invalid("The parameters “from” and “days” exclude each other. Send one of them.")
    }
    let range = try await api.expensiveDatabase.run(
      Analytics.range(
        call.workspace, from: query["from"], to: query["to"], days: days ?? 30,
        now: call.request.now))
    guard let range, (1...AnalyticsRoutes.daysMax).contains(range.days) else {
      throw .invalid(
        "The parameters “from” and “to” must span 1 to \(AnalyticsRoutes.daysMax) days.")
    }
    return range
  }

  private func append(_ range: Analytics.DayRange, to json: inout [UInt8]) {
    json.appendMember("from", range.from)
    json.appendMember("to", range.to)
    json.appendMember("time_zone", range.timeZone)
    json.appendMember("counted_at", range.countedAt)
  }

  private func append(_ figures: Analytics.Figures, to json: inout [UInt8]) {
    json.appendMember("sessions", figures.sessions)
    json.appendMember("claimed", figures.claimed)
    json.appendMember("answered", figures.answered)
    json.appendMember("closed", figures.closed)
    json.appendMember("messages", figures.messages)
    for (name, time) in zip(AnalyticsRoutes.timeNames, figures.times) {
      json.appendMember(name, orNull: time)
    }
    json.appendMember("csat_count", figures.ratings)
    json.appendMember(
      "csat_stars", json: JSONValue.array(figures.stars.map { .int(Int($0)) }).text)
    if figures.ratings > 0 {
      // Two decimals, rounded in integers.
      let hundredths = (200 * figures.rated + figures.ratings) / (2 * figures.ratings)
      let fraction = hundredths % 100
      json.appendMember(
        "csat_mean",
        json: Array("\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)".utf8))
    } else {
      json.appendMember("csat_mean", json: "null")
    }
  }

  static let timeNames: [StaticString] = [
    "wait_p50_ms", "wait_p90_ms", "first_response_p50_ms", "first_response_p90_ms",
    "resolution_p50_ms", "resolution_p90_ms",
  ]
}
