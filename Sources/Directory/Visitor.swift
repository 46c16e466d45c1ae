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

  /// Creates many visitors without a name, for load tests: a statement for each would take longer
  /// than the test. Returns their number.
  public static func create(_ ids: [Identifier], workspace: Identifier) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH added AS (
          INSERT INTO visitors (id, workspace_id, name)
          SELECT id, $2::uuid, '' FROM unnest($1::uuid[]) AS id RETURNING 1)
        SELECT count(*) FROM added
        """, [.uuids(ids), .uuid(workspace)])
    ) { $0.int(0, 0) ?? 0 }
  }

  /// A visitor of this workspace.
  public static func find(_ id: Identifier, workspace: Identifier) -> Statement<Visitor?> {
    Statement(
      Query(
        "SELECT id, name FROM visitors WHERE id = $1::uuid AND workspace_id = $2::uuid",
        [.uuid(id), .uuid(workspace)])
    ) { Visitor($0) }
  }

  /// The visitor of a token, and whether they are blocked. The token of a merged visitor is the
  /// surviving one's. Nil if the workspace has no such visitor.
  public static func ofToken(
    _ id: Identifier, workspace: Identifier
  ) -> Statement<(visitor: Identifier, isBanned: Bool)?> {
    Statement(
      Query(
        """
        SELECT coalesce(merged_into, id), banned_at IS NOT NULL FROM visitors
        WHERE id = $1::uuid AND workspace_id = $2::uuid
        """, [.uuid(id), .uuid(workspace)])
    ) { rows in
      guard !rows.isEmpty, let visitor = rows.uuid(0, 0) else { return nil }
      return (visitor, rows.bool(0, 1) ?? false)
    }
  }

  private init?(_ rows: Rows) {
    guard !rows.isEmpty, let id = rows.uuid(0, 0) else { return nil }
    self.init(id: id, name: rows.text(0, 1) ?? "")
  }
}
