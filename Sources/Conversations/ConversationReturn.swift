/// Where a visitor goes on who comes back from elsewhere, such as with a reply by e-mail: to the
/// conversation that they answer, or, if that is closed, to another open one, or else to a new one.
public import Directory
import Postgres
public import Primitives
import SharedSQL

public enum ConversationReturn {
  /// What is known before a message is appended.
  public struct Arrival: Sendable, Equatable {
    /// The conversation that has the message already.
    public var known: Identifier?
    public var isBanned: Bool
    public var visitor: Identifier
    public var name: String
    /// The conversation that it goes to; nil: it was closed meanwhile, and the statement is to be
    /// repeated.
    public var session: Identifier?
    public var isNew: Bool
  }

  /// Finds the conversation of a message. Nil: the one that it answers is deleted.
  ///
  /// - Parameters:
  ///   - session: the conversation that it answers.
  ///   - message: the id of the message that is to be stored.
  ///   - fresh: the id of a conversation that must be created.
  public static func arrive(
    _ session: Identifier, in workspace: Identifier, message: Identifier, fresh: Identifier
  ) -> Statement<Arrival?> {
    Statement(
      Query(sql, [.uuid(workspace), .uuid(session), .uuid(message), .uuid(fresh)])
    ) { rows in
      guard !rows.isEmpty, let visitor = rows.uuid(0, 2) else { return nil }
      return Arrival(
        known: rows.uuid(0, 0), isBanned: rows.bool(0, 1) ?? false, visitor: visitor,
        name: rows.text(0, 3) ?? "", session: rows.uuid(0, 4), isNew: rows.bool(0, 5) ?? false)
    }
  }

  private static let sql: SQL = """
    WITH before AS (
      SELECT (SELECT session_id FROM chats WHERE workspace_id = $1::uuid AND id = $3::uuid
        LIMIT 1) AS known
    ), origin AS (
      -- A merge waits for the lock.
      SELECT s.id, k.id AS own, v.id AS visitor, coalesce(v.name, '') AS name, v.banned_at
      FROM chat_sessions s
      JOIN visitors k ON k.workspace_id = s.workspace_id AND k.id = s.user_id
      JOIN visitors v
        ON v.workspace_id = s.workspace_id AND v.id = coalesce(k.merged_into, k.id)
      WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid AND s.deleted_at IS NULL
      FOR KEY SHARE OF v
    ), found AS (
      SELECT s.id FROM chat_sessions s, origin o
      WHERE s.workspace_id = $1::uuid AND s.user_id IN (o.own, o.visitor)
        AND s.deleted_at IS NULL AND s.status <> 'closed' AND (s.id = o.id OR s.channel = 'web')
      ORDER BY s.id <> o.id, s.created_at DESC, s.id DESC LIMIT 1
    ), opened AS (
      -- Its message brings it into the queue.
      INSERT INTO chat_sessions (id, workspace_id, user_id, \(ConversationQueue.entryTime))
      SELECT $4::uuid, $1::uuid, o.visitor, \(ConversationQueue.outside) FROM origin o, before b
      WHERE o.banned_at IS NULL AND b.known IS NULL AND NOT EXISTS (SELECT FROM found)
      ON CONFLICT DO NOTHING RETURNING id
    )
    SELECT b.known, o.banned_at IS NOT NULL, o.visitor, o.name,
      coalesce((SELECT id FROM found), (SELECT id FROM opened)), EXISTS (SELECT FROM opened)
    FROM before b, origin o
    """
}
