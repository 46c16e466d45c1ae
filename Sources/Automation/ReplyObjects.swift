/// The stored reply objects of a workspace (`reply_objects`): replies of the bot, and the canned
/// replies of operators.
public import Directory
public import Postgres
public import Primitives

public enum ReplyObjects {
  /// The most reply objects of one workspace.
  public static let countMax: Int64 = 2_000

  /// One page in the order of the names. Columns: name, type, payload, alternative text, shortcut,
  /// time of the last change; then the name.
  ///
  /// - Parameter last: the last name of the previous page; nil: the first page.
  public static func page(of workspace: Identifier, after last: String?, limit: Int) -> Query {
    Query(
      """
      SELECT object_id, object_type, payload::text, alt_text, shortcut, updated_at, object_id
      FROM reply_objects
      WHERE workspace_id = $1::uuid AND ($2::text IS NULL OR object_id > $2::text)
      ORDER BY object_id LIMIT $3::bigint
      """, [.uuid(workspace), .text(last), .int(Int64(limit))])
  }

  public static func exists(_ name: String, in workspace: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        """
        SELECT object_id FROM reply_objects
        WHERE workspace_id = $1::uuid AND object_id = $2::text
        """, [.uuid(workspace), .text(name)])
    ) { !$0.isEmpty }
  }

  /// The text of a canned reply; nil if there is no such reply object, or it is of another type.
  public static func text(of name: String, in workspace: Identifier) -> Statement<String?> {
    Statement(
      Query(
        """
        SELECT payload ->> 'text' FROM reply_objects
        WHERE workspace_id = $1::uuid AND object_id = $2::text AND object_type = 'text'
        """, [.uuid(workspace), .text(name)])
    ) { rows in rows.isEmpty ? nil : rows.text(0, 0) }
  }

  /// The stored form of a reply object.
  public struct Content: Sendable {
    public var type: String
    /// A JSON object as text.
    public var payload: [UInt8]
    public var altText: String?
    /// The text with which operators insert it.
    public var shortcut: String?

    public init(type: String, payload: [UInt8], altText: String?, shortcut: String?) {
      self.type = type
      self.payload = payload
      self.altText = altText
      self.shortcut = shortcut
    }
  }

  /// Creates or replaces a reply object. Columns as those of `page`, without the last. No row if
  /// the workspace already has `countMax` reply objects. PostgreSQL refuses the statement (23505)
  /// if another reply object has the shortcut.
  ///
  /// - Parameter isCreateOnly: an existing reply object stays as it is, and there is no row.
  public static func put(
    _ name: String, _ content: Content, isCreateOnly: Bool, by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO reply_objects
          (workspace_id, object_id, object_type, payload, alt_text, shortcut)
        SELECT $1::uuid, $4::text, $5::text, $6::jsonb, $7::text, $8::text
        WHERE EXISTS (
            SELECT FROM reply_objects WHERE workspace_id = $1::uuid AND object_id = $4::text)
          OR (SELECT count(*) FROM reply_objects WHERE workspace_id = $1::uuid) < $9::bigint
        ON CONFLICT (workspace_id, object_id) DO UPDATE SET object_type = excluded.object_type,
          payload = excluded.payload, alt_text = excluded.alt_text, shortcut = excluded.shortcut
          WHERE NOT $10::boolean
        RETURNING object_id, object_type, payload::text, alt_text, shortcut, updated_at
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'reply_object.changed',
          jsonb_build_object('object_id', object_id)
        FROM made
      )
      SELECT * FROM made
      """,
      actor.parameters + [
        .text(name), .text(content.type), .json(content.payload), .text(content.altText),
        .text(content.shortcut), .int(countMax), .bool(isCreateOnly),
      ])
  }

  /// False if it does not exist.
  public static func delete(_ name: String, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM reply_objects WHERE workspace_id = $1::uuid AND object_id = $4::text
          RETURNING object_id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'reply_object.deleted',
          jsonb_build_object('object_id', object_id)
        FROM gone RETURNING id
        """, actor.parameters + [.text(name)])
    ) { !$0.isEmpty }
  }
}
