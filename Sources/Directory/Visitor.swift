import Postgres
public import Primitives

/// Somebody who writes from a website's widget.
public struct Visitor: Sendable, Equatable {
  public var id: Identifier
  public var name: String

  public init(id: Identifier, name: String) {
    self.id = id
    self.name = name
  }
}

extension Visitor {
  public static func create(
    id: Identifier, workspace: Identifier, name: String
  ) -> Statement<Visitor?> {
    Statement(
      Query(
        """
        INSERT INTO visitors (id, workspace_id, name) VALUES ($1::uuid, $2::uuid, $3::text)
        RETURNING id, name
        """, [.uuid(id), .uuid(workspace), .text(name)])
    ) { Visitor($0) }
  }

  /// A visitor of this workspace; a foreign one is not found.
  public static func find(_ id: Identifier, workspace: Identifier) -> Statement<Visitor?> {
    Statement(
      Query(
        "SELECT id, name FROM visitors WHERE id = $1::uuid AND workspace_id = $2::uuid",
        [.uuid(id), .uuid(workspace)])
    ) { Visitor($0) }
  }

  /// Nil when the workspace has no such visitor (any more).
  public static func isBanned(_ id: Identifier, workspace: Identifier) -> Statement<Bool?> {
    Statement(
      Query(
        """
        SELECT banned_at IS NOT NULL FROM visitors
        WHERE id = $1::uuid AND workspace_id = $2::uuid
        """, [.uuid(id), .uuid(workspace)])
    ) { $0.isEmpty ? nil : $0.bool(0, 0) }
  }

  /// Visitors of all workspaces who were blocked or erased within the last seconds, and are so
  /// still.
  public static func bannedLately(seconds: Int64) -> Statement<Set<Identifier>> {
    Statement(
      Query(
        """
        SELECT DISTINCT a.target_id FROM audit_log a
        WHERE a.created_at > now() - make_interval(secs => $1::bigint)
          AND a.action IN ('visitor.blocked', 'visitor.erasing', 'visitor.erased')
          AND a.target_id IS NOT NULL
          AND NOT EXISTS (SELECT FROM visitors v
            WHERE v.id = a.target_id AND v.workspace_id = a.workspace_id AND v.banned_at IS NULL)
        LIMIT 10000
        """, [.int(seconds)])
    ) { rows in Set((0..<rows.count).compactMap { rows.uuid($0, 0) }) }
  }

  private init?(_ rows: Rows) {
    guard !rows.isEmpty, let id = rows.uuid(0, 0) else { return nil }
    self.init(id: id, name: rows.text(0, 1) ?? "")
  }
}
