/// How many targets were due and missed, in the analytics.
import Conversations
import Directory
import JSON
import Primitives

extension AnalyticsRoutes {
  func targets(
    by grouping: Analytics.Grouping? = nil, of scope: Analytics.Scope = .all,
    _ range: Analytics.DayRange, in workspace: Identifier
  ) async throws(Problem) -> [String: Targets.Outcome] {
    try await api.expensiveDatabase.run(
      Targets.outcomes(
        by: grouping, of: scope, in: workspace, from: range.from, to: range.to,
        zone: range.timeZone))
  }

  func append(_ outcome: Targets.Outcome, to json: inout [UInt8]) {
    let counts: [(StaticString, [Int64])] = [
      ("missed_targets", outcome.missed), ("due_targets", outcome.due),
    ]
    for (name, values) in counts {
      json.appendObject(name) {
        $0.appendMember("first_response", values[0])
        $0.appendMember("resolution", values[1])
      }
    }
  }
}
