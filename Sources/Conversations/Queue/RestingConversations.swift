public import Directory
import Postgres
public import Primitives
import SharedSQL

/// Closes conversations that rest, so that abandoned ones do not use up an operator's capacity. A
/// conversation rests when an operator has it and its log has got no entry, notes aside, for the
/// time of the workspace's setting `close_after_minutes`. While no operator has read the visitor's
/// last message, it does not rest; nor if its last 32 entries are notes.
///
/// A message that is committed first keeps the conversation open, and one that is committed later
/// is refused as after any close: the statement skips a conversation whose row a batch has locked,
/// and PostgreSQL compares `last_seq` again on the row that it has locked itself. So of several
/// gateways exactly one closes it.
public enum RestingConversations {
  public struct Position: Sendable, Equatable {
    public var workspace: Identifier
    public var session: Identifier

    public init(workspace: Identifier, session: Identifier) {
      self.workspace = workspace
      self.session = session
    }

    public static let start = Position(workspace: .zero, session: .zero)
  }

  public struct Page: Sendable, Equatable {
    public var closed: [Position] = []
    /// After it the next page begins; nil: this was the last one.
    public var next: Position?
  }

  /// Conversations that one statement reads.
  public static let examinedMax: Int64 = 1_000
  /// Conversations that one statement closes. It holds their locks until its end, and a batch of
  /// messages waits for them 0.3 s at most.
  public static let closedMax: Int64 = 50

  /// Closes the resting ones of a page of the conversations that operators have, in the order of
  /// workspaces and ids.
  public static func close(
    after position: Position, examined: Int64 = examinedMax, closed: Int64 = closedMax
  ) -> Statement<Page> {
    Statement(
      Query(
        sql,
        [
          .uuid(position.workspace), .uuid(position.session), .int(examined), .int(closed),
        ])
    ) { rows in
      var page = Page()
      for row in 0..<rows.count {
        guard let workspace = rows.uuid(row, 0), let session = rows.uuid(row, 1) else { continue }
        let position = Position(workspace: workspace, session: session)
        if rows.bool(row, 2) == true { page.closed.append(position) } else { page.next = position }
      }
      return page
    }
  }

  /// LATERAL and OFFSET 0 leave the planner only the keys to the logs and rows of a page.
  private static let sql: SQL = """
    WITH page AS MATERIALIZED (
      SELECT s.workspace_id, s.id, s.last_seq, s.last_message_role,
        coalesce(s.last_message_at, s.claimed_at, s.created_at) AS at
      FROM chat_sessions s
      WHERE s.status = 'active' AND s.deleted_at IS NULL
        AND (s.workspace_id, s.id) > ($1::uuid, $2::uuid)
      ORDER BY s.workspace_id, s.id LIMIT $3::bigint
    ), rules AS MATERIALIZED (
      SELECT w.workspace_id, now() - chirrup_close_after(w.workspace_id) AS before
      FROM (SELECT DISTINCT workspace_id FROM page) AS w
    ), due AS MATERIALIZED (
      SELECT p.workspace_id, p.id, p.last_seq
      FROM page p JOIN rules r ON r.workspace_id = p.workspace_id
      CROSS JOIN LATERAL (
        SELECT c.seq, c.created_at FROM chats c
        WHERE c.workspace_id = p.workspace_id AND c.session_id = p.id
          AND c.seq > p.last_seq - 32 AND c.seq <= p.last_seq AND c.kind <> 'note'
        ORDER BY c.seq DESC LIMIT 1) AS entry
      WHERE p.at < r.before AND entry.created_at < r.before
        AND (p.last_message_role NOT IN ('visitor', 'user') OR EXISTS (
          SELECT FROM read_marks m
          WHERE m.workspace_id = p.workspace_id AND m.session_id = p.id AND m.role = 'operator'
            AND m.read_seq >= entry.seq))
      ORDER BY p.workspace_id, p.id LIMIT $4::bigint
    ), target AS (
      SELECT s.workspace_id, s.id
      FROM due d CROSS JOIN LATERAL (
        SELECT c.workspace_id, c.id FROM chat_sessions c
        WHERE c.workspace_id = d.workspace_id AND c.id = d.id AND c.last_seq = d.last_seq
          AND CASE WHEN c.status = 'active' AND c.deleted_at IS NULL THEN true ELSE false END
        FOR UPDATE SKIP LOCKED) AS s
    ), closed AS (
      SELECT t.workspace_id, t.id, chirrup_change(
        t.workspace_id, t.id, 'closed', NULL, NULL, NULL, NULL, gen_random_uuid(),
        'The conversation was closed, since nobody wrote any more',
        '{"event": "closed", "by": null, "rule": "resting"}') AS is_closed
      FROM target t
    ), ends AS (
      (SELECT workspace_id, id FROM due ORDER BY workspace_id, id OFFSET $4::bigint - 1)
      UNION ALL
      (SELECT workspace_id, id FROM page ORDER BY workspace_id, id OFFSET $3::bigint - 1)
    )
    SELECT workspace_id, id, is_closed FROM closed
    UNION ALL
    (SELECT workspace_id, id, false FROM ends ORDER BY workspace_id, id LIMIT 1)
    """
}
