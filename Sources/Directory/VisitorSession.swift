import Postgres
public import Primitives
import SharedSQL

/// A conversation of a visitor's token.
public struct VisitorSession: Sendable, Equatable {
  public var id: Identifier
  /// `waiting`, `active` or `closed`.
  public var status: String

  public init(id: Identifier, status: String) {
    self.id = id
    self.status = status
  }
}

extension VisitorSession {
  /// Opens a conversation. Nil if the workspace has no such visitor.
  ///
  /// - Parameter context: a JSON object: the visitor's page, the referrer, the locale, …
  public static func create(
    id: Identifier, workspace: Identifier, visitor: Identifier, context: [UInt8],
    title: String? = nil
  ) -> Statement<VisitorSession?> {
    Statement(
      Query(
        """
        INSERT INTO chat_sessions (id, workspace_id, user_id, title, context,
          \(ConversationQueue.entryTime))
        SELECT $1::uuid, v.workspace_id, v.id, coalesce($4::text, ''), $5::jsonb,
          \(ConversationQueue.outside)
        FROM visitors v WHERE v.id = $3::uuid AND v.workspace_id = $2::uuid
        RETURNING id, status
        """,
        [.uuid(id), .uuid(workspace), .uuid(visitor), .text(title), .json(context)])
    ) { VisitorSession($0) }
  }

  /// Opens a conversation for each of many visitors of the workspace; see `Visitor.create(_:)`.
  /// Returns their number.
  public static func create(
    _ ids: [Identifier], workspace: Identifier, visitors: [Identifier]
  ) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH added AS (
          INSERT INTO chat_sessions (id, workspace_id, user_id, \(ConversationQueue.entryTime))
          SELECT t.id, v.workspace_id, v.id, \(ConversationQueue.outside)
          FROM unnest($1::uuid[], $3::uuid[]) AS t (id, visitor)
          JOIN visitors v ON v.id = t.visitor AND v.workspace_id = $2::uuid RETURNING 1)
        SELECT count(*) FROM added
        """, [.uuids(ids), .uuid(workspace), .uuids(visitors)])
    ) { $0.int(0, 0) ?? 0 }
  }

  /// The visitor's newest conversation, open or closed.
  public static func latest(
    visitor: Identifier, workspace: Identifier
  ) -> Statement<VisitorSession?> {
    Statement(
      Query(
        """
        SELECT id, status FROM chat_sessions
        WHERE user_id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
        ORDER BY created_at DESC, id DESC LIMIT 1
        """, [.uuid(visitor), .uuid(workspace)])
    ) { VisitorSession($0) }
  }

  /// A conversation of this visitor; nil for one of another visitor.
  public static func find(
    _ id: Identifier, visitor: Identifier, workspace: Identifier
  ) -> Statement<VisitorSession?> {
    Statement(
      Query(
        """
        SELECT id, status FROM chat_sessions
        WHERE id = $1::uuid AND user_id = $2::uuid AND workspace_id = $3::uuid
          AND deleted_at IS NULL
        """, [.uuid(id), .uuid(visitor), .uuid(workspace)])
    ) { VisitorSession($0) }
  }

  private init?(_ rows: Rows) {
    guard !rows.isEmpty, let id = rows.uuid(0, 0), let status = rows.text(0, 1) else { return nil }
    self.init(id: id, status: status)
  }
}
