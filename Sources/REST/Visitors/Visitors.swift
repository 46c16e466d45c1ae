/// Visitors as operators see them.
import Directory
import Postgres
import Primitives

struct VisitorRoutes: RouteGroup {
  let rest: API

  static let visitor = RowShape([
    ("id", .id), ("name", .text), ("email", .optional(.text)), ("external_id", .optional(.text)),
    ("attributes", .json(.object)), ("banned_at", .optional(.time)), ("created_at", .time),
    ("last_seen_at", .optional(.time)), ("conversations", .int),
  ])

  /// Nil when there is none any more.
  func visitorDetail(
    _ id: Identifier, of workspace: Identifier
  ) async throws(Problem) -> [UInt8]? {
    try await rest.run(
      Statement(Query(VisitorRoutes.visitorSQL, [.uuid(workspace), .uuid(id)])) { rows in
        guard !rows.isEmpty else { return nil }
        var json: [UInt8] = []
        VisitorRoutes.visitor.append(rows, 0, to: &json)
        return json
      })
  }

  private static let visitorSQL: StaticString = """
    SELECT v.id, v.name, v.email, v.external_id, v.attributes::text, v.banned_at, v.created_at,
      v.last_seen_at, (SELECT count(*) FROM chat_sessions s WHERE s.workspace_id = $1::uuid
        AND s.user_id = v.id AND s.deleted_at IS NULL)
    FROM visitors v WHERE v.workspace_id = $1::uuid AND v.id = $2::uuid
    """

  func showVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await rest.answer(
      "visitor", VisitorRoutes.visitor,
      Query(VisitorRoutes.visitorSQL, [.uuid(call.workspace), .uuid(call.parameters.id("id"))]))
  }
}
