public import Postgres
public import Primitives

/// The audit log (`audit_log`): one row for each change, added by the statement that makes the
/// change.
public enum AuditLog {
  /// One page, newest first. Columns: id, actor, the actor's id and name, action, target id,
  /// details, time; then the id as text.
  ///
  /// - Parameter last: the id of the last row of the previous page; nil: the first page.
  public static func page(of workspace: Identifier, after last: Int64?, limit: Int) -> Query {
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
      """, [.uuid(workspace), last.map { .int($0) } ?? .null, .int(Int64(limit))])
  }
}
