/// Visitors, as operators see them.
import Directory
import Postgres
import Primitives

struct VisitorRoutes: RouteGroup {
  let api: API

  static let visitor = RowShape([
    ("id", .id), ("name", .text), ("email", .optional(.text)), ("external_id", .optional(.text)),
    ("attributes", .json(.object)), ("banned_at", .optional(.time)), ("created_at", .time),
    ("last_seen_at", .optional(.time)), ("conversations", .int),
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

  func showVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.row(
      "visitor", VisitorRoutes.visitor, Visitor.details(call.id, in: call.workspace))
  }
}
