public import Postgres
public import Primitives

/// The tags of a workspace (`tags`), with which operators sort conversations.
public enum Tags {
  /// The most tags of one workspace.
  public static let countMax: Int64 = 1_000

  /// One page in the order of the names. Columns: name, colour, number of conversations, creation
  /// time; then the name.
  ///
  /// - Parameter last: the last name of the previous page; nil: the first page.
  public static func page(of workspace: Identifier, after last: String?, limit: Int) -> Query {
    Query(
      """
      SELECT t.name, t.colour,
        (SELECT count(*) FROM session_tags s WHERE s.workspace_id = $1::uuid AND s.tag = t.name),
        t.created_at, t.name
      FROM tags t WHERE t.workspace_id = $1::uuid AND ($2::text IS NULL OR t.name > $2::text)
      ORDER BY t.name LIMIT $3::bigint
      """, [.uuid(workspace), .text(last), .int(Int64(limit))])
  }

  public static func exists(_ name: String, in workspace: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        "SELECT name FROM tags WHERE workspace_id = $1::uuid AND name = $2::text",
        [.uuid(workspace), .text(name)])
    ) { !$0.isEmpty }
  }

  /// Creates or replaces a tag. Columns: name, colour, number of conversations, creation time. No
  /// row if the workspace already has `countMax` tags.
  ///
  /// - Parameter isCreateOnly: an existing tag stays as it is, and there is no row.
  public static func put(
    _ name: String, colour: String?, isCreateOnly: Bool, by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO tags (workspace_id, name, colour)
        SELECT $1::uuid, $4::text, $5::text
        WHERE EXISTS (SELECT FROM tags WHERE workspace_id = $1::uuid AND name = $4::text)
          OR (SELECT count(*) FROM tags WHERE workspace_id = $1::uuid) < $6::bigint
        ON CONFLICT (workspace_id, name) DO UPDATE SET colour = excluded.colour
          WHERE NOT $7::boolean
        RETURNING name, colour, created_at
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'tag.changed', jsonb_build_object('name', name)
        FROM made
      )
      SELECT m.name, m.colour,
        (SELECT count(*) FROM session_tags s WHERE s.workspace_id = $1::uuid AND s.tag = m.name),
        m.created_at
      FROM made m
      """,
      actor.parameters + [.text(name), .text(colour), .int(countMax), .bool(isCreateOnly)])
  }

  /// Deletes a tag, also from the conversations; false if it does not exist.
  public static func delete(_ name: String, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM tags WHERE workspace_id = $1::uuid AND name = $4::text RETURNING name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'tag.deleted', jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, actor.parameters + [.text(name)])
    ) { !$0.isEmpty }
  }
}
