/// Actions on several conversations in one request.
import Directory
import JSON
import Primitives

struct BulkRoutes: RouteGroup {
  let api: API

  func change(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let sessions = try sessions(in: object)
    guard let actions = try ConversationAction.list(in: object) else { throw .missing("actions") }
    return try await run(actions, of: nil, on: sessions, call)
  }

  /// The ids without repetitions, in their order.
  func sessions(in object: JSONObject) throws(Problem) -> [Identifier] {
    guard let elements = try object.elements("ids", countMax: ActionRun.conversationsMax) else {
      throw .missing("ids")
    }
    var known: Set<Identifier> = []
    var ids: [Identifier] = []
    for element in elements {
      guard let id = try element.identifier("ids") else {
        throw .invalidMember("ids", "an array of UUIDs")
      }
      if known.insert(id).inserted { ids.append(id) }
    }
    guard !ids.isEmpty else {
      throw .invalidMember("ids", "an array of 1 to \(ActionRun.conversationsMax) ids")
    }
    return ids
  }

  /// - Parameter macro: the macro that has the actions.
  func run(
    _ actions: [ConversationAction], of macro: Identifier?, on sessions: [Identifier],
    _ call: Call
  ) async throws(Problem) -> APIResponse {
    let run = ActionRun(
      try await api.resolved(actions, in: call.workspace), member: try call.member, api: api, call)
    let owner = ExpensiveCalls.Owner(workspace: call.workspace, isOfRuns: true)
    return try await api.expensiveCalls.run(for: owner, call.caller.id) {
      () async throws(Problem) in
      let results = try await run.results(of: sessions)
      let failed = results.count { $0.problem != nil }
      try await api.database.run(
        AuditLog.ranActions(
          actions.map(\.type), macro: macro, conversations: sessions.count, failed: failed,
          by: call.actor))
      return .json(
        [UInt8].object { json in
          json.appendArray("results", results) { $0.append(to: &$1) }
          for outcome in ActionRun.Outcome.allCases {
            json.appendMember(
              outcome.key, Int64(results.count { $0.outcome == outcome }))
          }
        })
    }
  }
}
