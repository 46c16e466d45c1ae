import Postgres
public import Primitives

/// A person who writes from a website's widget.
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

  /// A visitor of this workspace.
  public static func find(_ id: Identifier, workspace: Identifier) -> Statement<Visitor?> {
    Statement(
      Query(
        "SELECT id, name FROM visitors WHERE id = $1::uuid AND workspace_id = $2::uuid",
        [.uuid(id), .uuid(workspace)])
    ) { Visitor($0) }
  }

  /// Nil if the workspace has no such visitor.
  public static func isBanned(_ id: Identifier, workspace: Identifier) -> Statement<Bool?> {
    Statement(
      Query(
        """
        SELECT banned_at IS NOT NULL FROM visitors
        WHERE id = $1::uuid AND workspace_id = $2::uuid
        """, [.uuid(id), .uuid(workspace)])
    ) { $0.isEmpty ? nil : $0.bool(0, 0) }
  }

  private init?(_ rows: Rows) {
    guard !rows.isEmpty, let id = rows.uuid(0, 0) else { return nil }
    self.init(id: id, name: rows.text(0, 1) ?? "")
  }
}
