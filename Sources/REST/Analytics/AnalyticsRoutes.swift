/// The figures of a workspace's conversations, by day, hour and operator.
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
  private static let operatorsMax = 500

  func showAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    let range = try await countedRange(call)
    let days = try await api.expensiveDatabase.run(
      Analytics.days(call.workspace, from: range.from, to: range.to))
    let hours = try await api.expensiveDatabase.run(
      Analytics.hours(call.workspace, from: range.from, to: range.to))
    return .json(
      [UInt8].object { json in
        append(range, to: &json)
        // The last element has no day: it is the total.
        json.appendArray("days", days.compactMap { day, figures in day.map { ($0, figures) } }) {
          element, json in
          json += [UInt8].object {
            $0.appendMember("day", element.0)
            append(element.1, to: &$0)
          }
        }
        json.appendObject("total") { json in
          if let total = days.last { append(total.figures, to: &json) }
        }
        json.appendMember(
          "by_hour",
          json: JSONValue.array(hours.map { .array($0.map { .int(Int($0)) }) }).text)
      })
  }

  func showOperatorAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    let range = try await countedRange(call)
    let operators = try await api.expensiveDatabase.run(
      Analytics.operators(
        call.workspace, from: range.from, to: range.to, limit: AnalyticsRoutes.operatorsMax))
    return .json(
      [UInt8].object { json in
        append(range, to: &json)
        json.appendArray("operators", operators) { element, json in
          json += [UInt8].object {
            $0.appendMember("id", element.id)
            $0.appendMember("name", element.name)
            append(element.figures, to: &$0)
          }
        }
      })
  }

  /// The days of the query, after conversations that are not counted yet were counted.
  private func countedRange(_ call: Call) async throws(Problem) -> Analytics.DayRange {
    _ = try await api.expensiveDatabase.run(
      Analytics.count(limit: AnalyticsRoutes.countedMax, patience: AnalyticsRoutes.patience))
    return try await dayRange(call)
  }

  /// The days of the query, `from` and `to` included.
  func dayRange(_ call: Call) async throws(Problem) -> Analytics.DayRange {
    let query = try QueryString(call.request.query)
    for name in ["from", "to"] {
      guard let text = query.formatted(name), !isDate(text) else { continue }
      throw .invalidParameter(name, "a date such as 2026-11-22")
    }
    let range = try await api.expensiveDatabase.run(
      Analytics.range(
        call.workspace, from: query["from"], to: query["to"], now: call.request.now))
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
    json.appendMember("closed", figures.closed)
    json.appendMember("messages", figures.messages)
    for (name, time) in zip(AnalyticsRoutes.timeNames, figures.times) {
      json.appendMember(name, orNull: time)
    }
    json.appendMember("csat_count", figures.ratings)
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
