/// What has been counted, for the page with the charts.
import Directory
import JSON
import Primitives

struct AnalyticsRoutes: RouteGroup {
  let rest: API

  /// Days of one question.
  static let analyticsDaysMax: Int64 = 366
  /// Conversations that are counted before a question is answered; more are left to the background.
  private static let countedMax = 200
  private static let operatorsMax = 500

  func showAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    let range = try await analyticsRange(call)
    let workspace = call.workspace
    let days = try await rest.run(Analytics.days(workspace, from: range.from, to: range.to))
    let hours = try await rest.run(Analytics.hours(workspace, from: range.from, to: range.to))
    return .json(
      [UInt8].object { json in
        json.appendMember("from", range.from)
        json.appendMember("to", range.to)
        json.appendMember("time_zone", range.timeZone)
        json.appendKey("days")
        json.append(UInt8(ascii: "["))
        for (day, figures) in days {
          guard let day else { continue }
          json.appendComma()
          json += [UInt8].object {
            $0.appendMember("day", day)
            append(figures, to: &$0)
          }
        }
        json.append(UInt8(ascii: "]"))
        json.appendObject("total") { json in
          if let total = days.last { append(total.figures, to: &json) }
        }
        json.appendMember(
          "by_hour",
          json: JSONValue.array(hours.map { .array($0.map { .int(Int($0)) }) }).text)
      })
  }

  func showOperatorAnalytics(_ call: Call) async throws(Problem) -> APIResponse {
    let range = try await analyticsRange(call)
    let operators = try await rest.run(
      Analytics.operators(
        call.workspace, from: range.from, to: range.to, limit: AnalyticsRoutes.operatorsMax))
    return .json(
      [UInt8].object { json in
        json.appendMember("from", range.from)
        json.appendMember("to", range.to)
        json.appendMember("time_zone", range.timeZone)
        json.appendKey("operators")
        json.append(UInt8(ascii: "["))
        for (id, name, figures) in operators {
          json.appendComma()
          json += [UInt8].object {
            $0.appendMember("id", id)
            $0.appendMember("name", name)
            append(figures, to: &$0)
          }
        }
        json.append(UInt8(ascii: "]"))
      })
  }

  private func analyticsRange(_ call: Call) async throws(Problem) -> AnalyticsDays {
    _ = try await rest.run(Analytics.count(limit: AnalyticsRoutes.countedMax))
    return try await analyticsDays(call)
  }

  typealias AnalyticsDays = (from: String, to: String, days: Int64, timeZone: String)

  /// The days that the query names.
  func analyticsDays(_ call: Call) async throws(Problem) -> AnalyticsDays {
    let query = try QueryString(call.request.query)
    for name in ["from", "to"] {
      guard let text = query.formed(name), !isDate(text) else { continue }
      throw .invalid("The parameter “\(name)” must be a date as 2026-11-22.")
    }
    let range = try await rest.run(
      Analytics.range(
        call.workspace, from: query["from"], to: query["to"], now: call.request.now))
    guard let range, (1...Self.analyticsDaysMax).contains(range.days) else {
      throw .invalid(
        "“from” must not be after “to”, and they are at most \(Self.analyticsDaysMax) days apart.")
    }
    return range
  }

  private func append(_ figures: Analytics.Figures, to json: inout [UInt8]) {
    json.appendMember("sessions", figures.sessions)
    json.appendMember("messages", figures.messages)
    for (name, time) in zip(AnalyticsRoutes.timeNames, figures.times) {
      if let time { json.appendMember(name, time) } else { json.appendMember(name, json: "null") }
    }
    json.appendMember("csat_count", figures.ratings)
    if figures.ratings > 0 {
      // Two digits, without a detour over binary fractions.
      let hundredths = (200 * figures.rated + figures.ratings) / (2 * figures.ratings)
      let rest = hundredths % 100
      json.appendMember(
        "csat_mean", json: Array("\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)".utf8))
    } else {
      json.appendMember("csat_mean", json: "null")
    }
  }

  static let timeNames: [StaticString] = [
    "wait_p50_ms", "wait_p90_ms", "first_response_p50_ms", "first_response_p90_ms",
    "resolution_p50_ms", "resolution_p90_ms",
  ]
}
