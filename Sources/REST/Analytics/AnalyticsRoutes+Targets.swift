/// How many targets were missed, in the analytics.
import Conversations
import Directory
import JSON
import Primitives

extension AnalyticsRoutes {
  func missedTargets(
    _ range: Analytics.DayRange, in workspace: Identifier
  ) async throws(Problem) -> [UInt8] {
    let missed = try await api.expensiveDatabase.run(
      Targets.missed(in: workspace, from: range.from, to: range.to, zone: range.timeZone))
    return [UInt8].object {
      $0.appendMember("first_response", missed.firstResponse)
      $0.appendMember("resolution", missed.resolution)
    }
  }
}
