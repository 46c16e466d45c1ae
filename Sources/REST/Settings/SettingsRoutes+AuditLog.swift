/// The audit log: who changed what in a workspace.
import Directory

extension SettingsRoutes {
  static let auditEntry = RowShape([
    ("id", .int), ("actor", .text), ("actor_id", .optional(.id)), ("actor_name", .optional(.text)),
    ("action", .text), ("target_id", .optional(.id)), ("details", .json(.object)),
    ("created_at", .time),
  ])

  func listAudit(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("audit_log")
    return try await api.list(
      page, SettingsRoutes.auditEntry,
      AuditLog.page(of: call.workspace, after: try page.number(0), limit: page.rowsWanted),
      from: api.expensiveDatabase)
  }
}
