/// Visitors, as operators see them.
import Directory
import Postgres
import Primitives

struct VisitorRoutes: RouteGroup {
  let api: API

  static let visitor = RowShape([
    ("id", .id), ("name", .text), ("email", .optional(.text)), ("external_id", .optional(.text)),
    ("is_identified", .bool), ("attributes", .json(.object)), ("banned_at", .optional(.time)),
    ("created_at", .time), ("last_seen_at", .optional(.time)), ("conversations", .int),
  ])

  /// The visitor as JSON; nil if the visitor was erased.
  func visitorJSON(
    _ id: Identifier, in workspace: Identifier
  ) async throws(Problem) -> [UInt8]? {
    let rows = try await api.database.rows(Visitor.details(id, in: workspace))
    guard !rows.isEmpty else { return nil }
    var json: [UInt8] = []
    VisitorRoutes.visitor.append(rows, 0, to: &json)
    return json
  }

  static let friendEvent = RowShape([
    ("id", .id), ("event", .word(FriendEvents.kinds)), ("channel", .text), ("created_at", .time),
  ])

  func listFriendEvents(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("friend_events", keys: 2)
    guard try await visitorJSON(call.id, in: call.workspace) != nil else { throw .noSuchResource }
    return try await api.list(
      page, VisitorRoutes.friendEvent,
      FriendEvents.page(
        of: call.id, in: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  func showVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.row(
      "visitor", VisitorRoutes.visitor, Visitor.details(call.id, in: call.workspace))
  }
}
