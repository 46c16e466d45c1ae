public import Directory
import Postgres
public import Primitives
import SharedSQL

/// The waiting conversations of a blocked visitor are closed: nobody can answer them, and they
/// would stand in the queue before others. A conversation that an operator has stays open.
public enum BlockedVisitor {
  /// Conversations of one statement.
  public static let closedMax: Int64 = 50

  /// Closes at most `closedMax` conversations and returns their ids; fewer were the last ones. It
  /// locks the rows in the order of their ids, as a batch of messages does.
  public static func close(
    _ visitor: Identifier, of workspace: Identifier
  ) -> Statement<[Identifier]> {
    Statement(Query(sql, [.uuid(workspace), .uuid(visitor), .int(closedMax)])) { rows in
      (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }
  }

  private static let sql: SQL = """
    WITH blocked AS (
      SELECT v.id FROM visitors v
      WHERE v.workspace_id = $1::uuid AND v.id = $2::uuid AND v.banned_at IS NOT NULL
    ), target AS (
      SELECT s.id FROM chat_sessions s JOIN blocked b ON b.id = s.user_id
      WHERE s.workspace_id = $1::uuid AND s.user_id = $2::uuid AND s.deleted_at IS NULL
        AND s.status = 'waiting'
      ORDER BY s.id LIMIT $3::bigint
      FOR UPDATE OF s
    )
    SELECT t.id, chirrup_change($1::uuid, t.id, 'closed', NULL, NULL, NULL, NULL,
      gen_random_uuid(), 'The conversation was closed, since the visitor is blocked',
      '{"event": "closed", "by": null, "rule": "blocked"}')
    FROM target t
    """
}
