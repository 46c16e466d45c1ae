public import Directory
public import Postgres
public import Primitives

/// The export of a workspace's conversations: pages in the order of their beginning, which a cursor
/// continues.
public enum ConversationExport {
  /// The conversations of a page, oldest first. Columns: id, time of creation.
  ///
  /// - Parameters:
  ///   - since: the first moment as RFC 3339; nil: from the beginning.
  ///   - until: the moment behind the last one; nil: to the end.
  ///   - last: the last conversation of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, since: String?, until: String?, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT id, created_at FROM chat_sessions
      WHERE workspace_id = $1::uuid AND deleted_at IS NULL
        AND ($2::timestamptz IS NULL OR created_at >= $2::timestamptz)
        AND ($3::timestamptz IS NULL OR created_at < $3::timestamptz)
        AND ($4::timestamptz IS NULL OR (created_at, id) > ($4::timestamptz, $5::uuid))
      ORDER BY created_at, id LIMIT $6::bigint
      """,
      [
        .uuid(workspace), .text(since), .text(until), .time(last?.at), .uuid(last?.id),
        .int(Int64(limit)),
      ])
  }

  /// Records the beginning of an export in the audit log.
  public static func note(
    since: String?, until: String?, by actor: AuditActor
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        VALUES ($1::uuid, $2::uuid, $3::text, 'conversations.exported', jsonb_strip_nulls(
          jsonb_build_object('since', $4::timestamptz, 'until', $5::timestamptz)))
        """, actor.parameters + [.text(since), .text(until)]))
  }
}
