/// The tags of a conversation.
public import Directory
import Postgres
public import Primitives

public enum ConversationTags {
  /// Replaces the tags of a conversation and creates missing ones in the workspace. Returns false,
  /// without a change, if the workspace would have more than `tagsMax` tags; nil if there is no
  /// such conversation.
  public static func set(
    _ names: [String], of session: Identifier, in workspace: Identifier, tagsMax: Int64
  ) -> Statement<Bool?> {
    Statement(
      Query(
        sql,
        [.uuid(workspace), .uuid(session), .text(names.joined(separator: "\n")), .int(tagsMax)])
    ) { rows in rows.isEmpty ? nil : (rows.bool(0, 0) ?? false) }
  }

  /// Locks the session's row first, so that concurrent calls replace each other's tags as a whole.
  private static let sql: StaticString = """
    WITH target AS (
      SELECT id FROM chat_sessions
      WHERE id = $2::uuid AND workspace_id = $1::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), wanted AS (
      SELECT DISTINCT name
      FROM target, unnest(string_to_array(nullif($3::text, ''), E'\\n')) AS name
    ), room AS (
      SELECT (SELECT count(*) FROM tags WHERE workspace_id = $1::uuid) + (
        SELECT count(*) FROM wanted w
        WHERE NOT EXISTS (SELECT FROM tags t WHERE t.workspace_id = $1::uuid AND t.name = w.name)
      ) <= $4::bigint AS fits FROM target
    ), made AS (
      INSERT INTO tags (workspace_id, name)
      SELECT $1::uuid, name FROM wanted, room WHERE fits ORDER BY name
      ON CONFLICT (workspace_id, name) DO NOTHING
    ), removed AS (
      DELETE FROM session_tags s USING target, room
      WHERE fits AND s.workspace_id = $1::uuid AND s.session_id = target.id
        AND s.tag NOT IN (SELECT name FROM wanted)
    ), added AS (
      INSERT INTO session_tags (workspace_id, session_id, tag)
      SELECT $1::uuid, target.id, w.name FROM target, wanted w, room WHERE fits
      ON CONFLICT (workspace_id, session_id, tag) DO NOTHING
    ), touched AS (
      UPDATE chat_sessions s SET updated_at = clock_timestamp()
      FROM target, room WHERE fits AND s.id = target.id
    )
    SELECT fits FROM room
    """
}
