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

  public enum Verdict: String, Sendable {
    case changed, unchanged
    /// The workspace would have more than `tagsMax` tags.
    case workspaceFull
    /// The conversation would have more than `conversationMax` tags.
    case conversationFull
  }

  /// Adds and removes tags of a conversation, and creates missing ones in the workspace; others
  /// stay, also those that a simultaneous call adds. Nil if there is no such conversation.
  public static func change(
    adding added: [String], removing removed: [String], of session: Identifier,
    in workspace: Identifier, tagsMax: Int64, conversationMax: Int64
  ) -> Statement<Verdict?> {
    Statement(
      Query(
        changeSQL,
        [
          .uuid(workspace), .uuid(session), .text(added.joined(separator: "\n")), .int(tagsMax),
          .text(removed.joined(separator: "\n")), .int(conversationMax),
        ])
    ) { rows in rows.isEmpty ? nil : rows.text(0, 0).flatMap { Verdict(rawValue: $0) } }
  }

  private static let changeSQL: StaticString = """
    WITH target AS (
      SELECT id FROM chat_sessions
      WHERE id = $2::uuid AND workspace_id = $1::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), has AS (
      SELECT s.tag FROM target, session_tags s
      WHERE s.workspace_id = $1::uuid AND s.session_id = target.id
    ), new AS (
      SELECT DISTINCT name
      FROM target, unnest(string_to_array(nullif($3::text, ''), E'\\n')) AS name
      WHERE name NOT IN (SELECT tag FROM has)
    ), old AS (
      SELECT tag FROM has WHERE tag = ANY (string_to_array($5::text, E'\\n'))
    ), decided AS (
      SELECT CASE
        WHEN NOT EXISTS (SELECT FROM new) AND NOT EXISTS (SELECT FROM old) THEN 'unchanged'
        WHEN (SELECT count(*) FROM has) + (SELECT count(*) FROM new) - (SELECT count(*) FROM old)
          > $6::bigint THEN 'conversationFull'
        WHEN (SELECT count(*) FROM tags WHERE workspace_id = $1::uuid) + (
          SELECT count(*) FROM new w WHERE NOT EXISTS (
            SELECT FROM tags t WHERE t.workspace_id = $1::uuid AND t.name = w.name)) > $4::bigint
          THEN 'workspaceFull'
        ELSE 'changed' END AS verdict
      FROM target
    ), made AS (
      INSERT INTO tags (workspace_id, name)
      SELECT $1::uuid, name FROM new, decided WHERE verdict = 'changed' ORDER BY name
      ON CONFLICT (workspace_id, name) DO NOTHING
    ), removed AS (
      DELETE FROM session_tags s USING target, decided, old
      WHERE verdict = 'changed' AND s.workspace_id = $1::uuid AND s.session_id = target.id
        AND s.tag = old.tag
    ), added AS (
      INSERT INTO session_tags (workspace_id, session_id, tag)
      SELECT $1::uuid, target.id, new.name FROM target, new, decided WHERE verdict = 'changed'
      ON CONFLICT (workspace_id, session_id, tag) DO NOTHING
    ), touched AS (
      UPDATE chat_sessions s SET updated_at = clock_timestamp()
      FROM target, decided WHERE verdict = 'changed' AND s.id = target.id
    )
    SELECT verdict FROM decided
    """
}
