import Postgres
public import Primitives

/// Whether a visitor may write, and what is recorded of a contact's following, as messengers have
/// it: the widget's visitors follow with their first visit (`Visit`), and again when they come back
/// after a month or after they were unblocked.
extension Visitor {
  /// Shuts a visitor out, or lets them in again, and records it; what is so already is recorded
  /// once. Answers whether it changed; nil when the workspace has no such visitor.
  public static func setBlocked(
    _ id: Identifier, _ isBlocked: Bool, workspace: Identifier, now: WallTime
  ) -> Statement<Bool?> {
    Statement(
      Query(
        """
        WITH known AS (
          SELECT id, banned_at FROM visitors WHERE id = $1::uuid AND workspace_id = $2::uuid
          FOR UPDATE
        ), changed AS (
          UPDATE visitors v SET banned_at = CASE WHEN $3::boolean THEN $4::timestamptz END
          FROM known k WHERE v.id = k.id AND (k.banned_at IS NULL) = $3::boolean
          RETURNING v.id
        ), recorded AS (
          INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
          SELECT $2::uuid, id, 'widget',
            CASE WHEN $3::boolean THEN 'block' ELSE 'unblock' END, $4::timestamptz FROM changed
        )
        SELECT EXISTS (SELECT FROM changed) FROM known
        """, [.uuid(id), .uuid(workspace), .bool(isBlocked), .time(now)])
    ) { rows in rows.isEmpty ? nil : rows.bool(0, 0) }
  }

  /// What happened to a contact, oldest first.
  public static func friendEvents(
    of id: Identifier, workspace: Identifier
  ) -> Statement<[(event: String, channel: String, at: WallTime)]> {
    Statement(
      Query(
        """
        SELECT event, channel, created_at FROM friend_events
        WHERE visitor_id = $1::uuid AND workspace_id = $2::uuid ORDER BY created_at, id LIMIT 1000
        """, [.uuid(id), .uuid(workspace)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let event = rows.text(row, 0), let channel = rows.text(row, 1),
          let at = rows.time(row, 2)
        else { return nil }
        return (event, channel, at)
      }
    }
  }
}
