/// Who did what in a workspace.
import Directory
import Postgres
import Primitives

extension SettingsRoutes {
  static let auditEntry = RowShape([
    ("id", .int), ("actor", .text), ("actor_id", .optional(.id)), ("actor_name", .optional(.text)),
    ("action", .text), ("target_id", .optional(.id)), ("details", .json(.object)),
    ("created_at", .time),
  ])

  /// Newest first.
  func listAudit(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("audit_log")
    return try await rest.list(
      page, SettingsRoutes.auditEntry,
      Query(
        """
        SELECT a.id, a.actor, a.actor_id, coalesce(
            (SELECT o.name FROM operators o WHERE o.id = a.actor_id),
            (SELECT k.name FROM api_keys k
              WHERE k.workspace_id = $1::uuid AND k.id = a.actor_id)),
          a.action, a.target_id, a.details::text, a.created_at, a.id::text
        FROM audit_log a
        WHERE a.workspace_id = $1::uuid AND ($2::bigint IS NULL OR a.id < $2::bigint)
        ORDER BY a.id DESC LIMIT $3::bigint
        """, [.uuid(call.workspace), try page.number(0), page.rowsWanted]))
  }
}
