/// The logins of the caller's account: on which devices it is logged in. Each can be ended; the
/// response then comes after the end of all its requests and connections (`Disconnection`).
import Directory
import JSON
import Postgres
import Primitives

struct LoginSessionRoutes: RouteGroup {
  let api: API

  static let session = RowShape([
    ("id", .id), ("current", .bool), ("device", .text), ("address", .text), ("workspace", .text),
    ("created_at", .time), ("last_seen_at", .time), ("expires_at", .time),
  ])

  func listSessions(_ call: Call) async throws(Problem) -> APIResponse {
    let rows = try await api.database.rows(
      OperatorSession.list(
        of: try call.member.id, current: try api.authenticator.currentLogin(call.request),
        now: call.request.now))
    return .json(
      [UInt8].object { json in
        json.appendArray("sessions", 0..<rows.count) {
          LoginSessionRoutes.session.append(rows, $0, to: &$1)
        }
      })
  }

  func endSession(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(OperatorSession.end(call.id, by: call.actor))
  }

  func endOtherSessions(_ call: Call) async throws(Problem) -> APIResponse {
    let count = try await api.database.run(
      OperatorSession.endOthers(
        than: try api.authenticator.currentLogin(call.request), by: call.actor))
    return .json([UInt8].object { $0.appendMember("ended", Int64(count)) })
  }
}
