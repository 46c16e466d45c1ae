import Postgres
public import Primitives

/// Blocking of visitors, and the events of a contact (`friend_events`) in the terms of messengers.
/// A visitor of the widget follows with the first visit (`Visit`), and again after a month of
/// absence or after being unblocked.
extension Visitor {
  /// The value of `friend_events.channel` for visitors of the widget.
  static let channel: SQL = "'widget'"

  /// Blocks or unblocks a visitor, with an event and an entry of the audit log. Returns whether
  /// this changed anything; nil if the workspace has no such visitor. A blocked visitor gets no
  /// token; the caller ends open connections. Those merged into the visitor are blocked too.
  public static func setBlocked(
    _ id: Identifier, _ isBlocked: Bool, by actor: AuditActor, now: WallTime
  ) -> Statement<Bool?> {
    Statement(
      Query(
        """
        WITH known AS (
          SELECT id, banned_at FROM visitors WHERE workspace_id = $1::uuid
            AND id = \(surviving("$4::uuid", in: "$1::uuid"))
          FOR UPDATE
        ), written AS (
          UPDATE visitors v SET banned_at = CASE WHEN $5::boolean THEN $6::timestamptz END
          FROM known k WHERE (v.id = k.id OR v.merged_into = k.id)
            AND (k.banned_at IS NULL) = $5::boolean
          RETURNING v.id
        ), changed AS (
          SELECT w.id FROM written w JOIN known k ON k.id = w.id
        ), recorded AS (
          INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
          SELECT $1::uuid, id, \(channel),
            CASE WHEN $5::boolean THEN 'block' ELSE 'unblock' END, $6::timestamptz FROM changed
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text,
            CASE WHEN $5::boolean THEN 'visitor.blocked' ELSE 'visitor.unblocked' END, id
          FROM changed
        )
        SELECT EXISTS (SELECT FROM changed) FROM known
        """, actor.parameters + [.uuid(id), .bool(isBlocked), .time(now)]
      ).after(.merges(in: actor.workspace))
    ) { rows in rows.isEmpty ? nil : rows.bool(0, 0) }
  }
}
