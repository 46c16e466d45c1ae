public import Directory
import Postgres
public import Primitives
import SharedSQL

/// A conversation that operators or programs begin, instead of its visitor.
public enum ConversationOpening {
  /// The visitor: an existing one (`id`), or the one whom another system knows as `externalID`, who
  /// is created if unknown; without both a new one.
  public struct Person: Sendable {
    public var id: Identifier?
    public var externalID: String?
    public var name: String?
    public var email: String?

    public init(
      id: Identifier? = nil, externalID: String? = nil, name: String? = nil, email: String? = nil
    ) {
      self.id = id
      self.externalID = externalID
      self.name = name
      self.email = email
    }
  }

  public enum Outcome: Sendable, Equatable {
    case opened
    /// The workspace has the conversation with this id and this visitor already.
    case existed
    case noSuchVisitor, banned
    /// The visitor has as many open conversations as allowed.
    case full
    /// The id belongs to another conversation, or to one that is being created.
    case conflict
  }

  /// The conversation is outside the queue until a message of its visitor. With the id of a merged
  /// visitor it is the survivor's, for the browsers of the merged one. Name and address are
  /// those of a new visitor; a known one keeps its own.
  ///
  /// - Parameters:
  ///   - newVisitor: the id of a visitor who must be created.
  ///   - openMax: a visitor with so many conversations that are not closed gets no other one.
  public static func open(
    _ session: Identifier, title: String, with person: Person, newVisitor: Identifier,
    openMax: Int64, by actor: AuditActor
  ) -> Statement<Outcome> {
    Statement(
      Query(
        sql,
        [
          .uuid(session), .uuid(actor.workspace), .uuid(person.id), .text(person.externalID),
          .text(person.name), .text(person.email), .uuid(newVisitor), .text(title), .int(openMax),
          .uuid(actor.id), .text(actor.kind),
        ])
    ) { rows in
      if rows.bool(0, 0) == true { return .opened }
      if let isSame = rows.bool(0, 1) { return isSame ? .existed : .conflict }
      if rows.bool(0, 2) != true { return .noSuchVisitor }
      if rows.bool(0, 3) == true { return .banned }
      return rows.bool(0, 4) == true ? .conflict : .full
    }
  }

  private static let sql: SQL = """
    WITH existing AS (
      SELECT user_id, workspace_id, deleted_at FROM chat_sessions WHERE id = $1::uuid
    ), known AS (
      -- A merge waits for the lock, and then moves the new conversation too.
      SELECT coalesce(v.merged_into, v.id) AS id, v.banned_at,
        CASE WHEN v.merged_into IS NOT NULL THEN v.id END AS merged
      FROM visitors v WHERE v.workspace_id = $2::uuid
        AND CASE WHEN $3::uuid IS NULL THEN v.external_id = $4::text ELSE v.id = $3::uuid END
      FOR KEY SHARE OF v
    ), created AS (
      -- ON CONFLICT makes a concurrent request wait for the first one and find its visitor.
      INSERT INTO visitors AS v (id, workspace_id, external_id, name, email)
      SELECT $7::uuid, $2::uuid, $4::text, coalesce($5::text, ''), nullif($6::text, '')
      WHERE $3::uuid IS NULL AND NOT EXISTS (SELECT FROM known)
        AND NOT EXISTS (SELECT FROM existing)
      ON CONFLICT (workspace_id, external_id) DO UPDATE SET external_id = excluded.external_id
      RETURNING v.id, v.banned_at
    ), visitor AS (
      SELECT id, banned_at FROM known UNION ALL SELECT id, banned_at FROM created
    ), welcome AS (
      SELECT v.id FROM visitor v WHERE v.banned_at IS NULL
        AND \(Visit.hasRoom(visitor: "v.id", openMax: "$9::bigint"))
    ), opened AS (
      INSERT INTO chat_sessions
        (id, workspace_id, user_id, merged_from, title, \(ConversationQueue.entryTime))
      SELECT $1::uuid, $2::uuid, w.id, (SELECT merged FROM known), $8::text,
        \(ConversationQueue.outside)
      FROM welcome w
      WHERE NOT EXISTS (SELECT FROM existing)
      ON CONFLICT DO NOTHING
      RETURNING id
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
      SELECT $2::uuid, $10::uuid, $11::text, 'conversation.created', id FROM opened
    )
    SELECT EXISTS (SELECT FROM opened), (
        SELECT e.workspace_id = $2::uuid AND e.deleted_at IS NULL AND (
          $3::uuid IS NULL AND $4::text IS NULL OR e.user_id IN (SELECT id FROM known))
        FROM existing e),
      EXISTS (SELECT FROM visitor), EXISTS (SELECT FROM visitor WHERE banned_at IS NOT NULL),
      EXISTS (SELECT FROM welcome)
    """
}
