public import Directory
public import Postgres
public import Primitives

/// Deletes conversations, restores them, and erases them after the workspace's deadline
/// (`WorkspaceSettings.Retention`).
///
/// A deleted conversation keeps its rows, and no statement of a list, a count, the queue or a
/// search finds it. The row is locked as by a batch of messages: a message is either committed
/// before the deletion, or refused with `no_such_session`. A trigger notifies the gateways and the
/// webhooks (`chirrup_note_deletion`).
public enum ConversationDeletion {
  /// Returns whether the conversation was not deleted before; nil if the workspace has none with
  /// this id.
  public static func delete(_ session: Identifier, by actor: AuditActor) -> Statement<Bool?> {
    Statement(
      Query(
        """
        WITH target AS (
          SELECT id, deleted_at FROM chat_sessions
          WHERE id = $4::uuid AND workspace_id = $1::uuid FOR UPDATE
        ), gone AS (
          UPDATE chat_sessions s SET deleted_at = clock_timestamp(), deleted_by = $2::uuid,
            deleted_via = $3::text
          FROM target t
          WHERE s.id = t.id AND s.workspace_id = $1::uuid AND t.deleted_at IS NULL
          RETURNING s.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text, 'conversation.deleted', id FROM gone
        )
        SELECT EXISTS (SELECT FROM gone) FROM target
        """, actor.parameters + [.uuid(session)])
    ) { $0.isEmpty ? nil : $0.bool(0, 0) ?? false }
  }

  /// Returns whether the conversation was deleted before; nil if the workspace has none with this
  /// id. It returns to its operator, or to its position in the queue.
  public static func restore(_ session: Identifier, by actor: AuditActor) -> Statement<Bool?> {
    Statement(
      Query(
        """
        WITH target AS (
          SELECT id, deleted_at FROM chat_sessions
          WHERE id = $4::uuid AND workspace_id = $1::uuid FOR UPDATE
        ), back AS (
          UPDATE chat_sessions s SET deleted_at = NULL, deleted_by = NULL, deleted_via = NULL,
            updated_at = clock_timestamp()
          FROM target t
          WHERE s.id = t.id AND s.workspace_id = $1::uuid AND t.deleted_at IS NOT NULL
          RETURNING s.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text, 'conversation.restored', id FROM back
        )
        SELECT EXISTS (SELECT FROM back) FROM target
        """, actor.parameters + [.uuid(session)])
    ) { $0.isEmpty ? nil : $0.bool(0, 0) ?? false }
  }

  /// One page of the deleted conversations, last deleted first. Columns: id, title, status,
  /// visitor's id and name, number of messages, last message, creation time, deletion time, how and
  /// by whom it was deleted, time of the erasure (null: never, another application deleted it);
  /// then deletion time (µs) and id as text.
  ///
  /// - Parameters:
  ///   - last: the last row of the previous page; nil: the first page.
  ///   - search: part of the title, the visitor's name or the last message; nil: all.
  public static func page(
    of workspace: Identifier, search: String?, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT s.id, s.title, s.status, s.user_id, v.name, s.message_count::bigint,
        s.last_message_preview, s.created_at, s.deleted_at, s.deleted_via, coalesce(
          (SELECT o.name FROM operators o WHERE o.id = s.deleted_by),
          (SELECT k.name FROM api_keys k
            WHERE k.workspace_id = $1::uuid AND k.id = s.deleted_by)),
        CASE WHEN s.deleted_via IS NOT NULL
          THEN s.deleted_at + d.days * interval '1 day' END,
        (extract(epoch FROM s.deleted_at) * 1000000)::bigint::text, s.id::text
      FROM chat_sessions s
      CROSS JOIN (SELECT chirrup_deleted_days($1::uuid) AS days) AS d
      LEFT JOIN visitors v ON v.workspace_id = $1::uuid AND v.id = s.user_id
      WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NOT NULL
        AND \(ConversationList.isFound(byName: contains("v.name")))
        AND ($2::timestamptz IS NULL OR (s.deleted_at, s.id) < ($2::timestamptz, $3::uuid))
      ORDER BY s.deleted_at DESC, s.id DESC LIMIT $4::bigint
      """,
      [
        .uuid(workspace), .time(last?.at), .uuid(last?.id), .int(Int64(limit)),
        .text(search.map { likePattern($0) }),
      ])
  }

  /// Those whose deadline has passed.
  private static let expired: SQL = """
    (SELECT p.workspace_id, chirrup_deleted_days(p.workspace_id) AS days
      FROM (SELECT DISTINCT workspace_id FROM chat_sessions WHERE deleted_at IS NOT NULL) AS p
      OFFSET 0) AS p
    JOIN chat_sessions s ON s.workspace_id = p.workspace_id
      AND s.deleted_at < now() - p.days * interval '1 day' AND s.deleted_via IS NOT NULL
    """

  /// Whether the deadline of a conversation has passed.
  public static let isErasureDue = Statement(
    Query("SELECT EXISTS (SELECT FROM \(expired))")
  ) { $0.isEmpty ? false : $0.bool(0, 0) ?? false }

  /// Erases at most `limit` conversations whose deadline has passed, with their messages, and adds
  /// a row to the audit log of each workspace. Skips those that another transaction is changing,
  /// and all that another application has deleted. Returns their number.
  public static func erase(limit: Int64) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH old AS MATERIALIZED (
          SELECT s.workspace_id, s.id, s.last_seq, p.days FROM \(expired)
          ORDER BY s.workspace_id, s.id LIMIT $1::bigint FOR UPDATE OF s SKIP LOCKED
        ), gone AS (
          DELETE FROM chat_sessions s USING old o
          WHERE s.workspace_id = o.workspace_id AND s.id = o.id
          RETURNING s.workspace_id, o.last_seq, o.days
        ), refused AS (
          DELETE FROM quarantine q USING old o
          WHERE q.workspace_id = o.workspace_id AND q.session_id = o.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor, action, details)
          SELECT workspace_id, 'rule', 'conversation.erased', jsonb_build_object(
            'days', min(days), 'conversations', count(*), 'messages', sum(last_seq))
          FROM gone GROUP BY workspace_id
        )
        SELECT count(*) FROM gone
        """, [.int(limit)])
    ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }
  }
}
