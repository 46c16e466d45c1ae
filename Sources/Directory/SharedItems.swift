public import Postgres
public import Primitives

/// Named things that a member keeps alone or shares with the workspace: macros, saved
/// views.
///
/// A private one is visible to its owner only. A shared one is visible to all; its creator and
/// administrators change it. Each statement checks this, so that no request between two statements
/// can change the answer.
public struct SharedItems: Sendable {
  /// The table, and its column with the content as `jsonb`.
  let table: SQL
  let content: SQL
  /// The object in actions of the audit log.
  let object: SQL
  /// The most items of one workspace that are shared, and of one member that are private.
  public let countMax: Int64
  /// A further column, computed for each row `i` that is read; empty: none.
  let figure: SQL

  /// - Parameter figure: an expression over the row `i`; `$1` is the workspace, `$2` the reader.
  public init(table: SQL, content: SQL, object: SQL, countMax: Int64, figure: SQL = "") {
    self.table = table
    self.content = content
    self.object = object
    self.countMax = countMax
    self.figure = figure
  }

  public static let macros = SharedItems(
    table: "macros", content: "actions", object: "macro", countMax: 200)

  /// A caller: an operator, or an API key with the rights of an administrator.
  public struct Reader: Sendable {
    public var actor: AuditActor
    public var isAdmin: Bool

    public init(actor: AuditActor, isAdmin: Bool) {
      self.actor = actor
      self.isAdmin = isAdmin
    }

    var parameters: [Parameter] { actor.parameters + [.bool(isAdmin)] }
  }

  /// The members that a request changes; nil: unchanged.
  public struct Change: Sendable {
    public var name: String?
    public var isShared: Bool?
    /// JSON as text.
    public var content: [UInt8]?

    public init(name: String?, isShared: Bool?, content: [UInt8]?) {
      self.name = name
      self.isShared = isShared
      self.content = content
    }
  }

  private static let isVisible: SQL = "(i.owner_id IS NULL OR i.owner_id = $2::uuid)"
  private static let mayChange: SQL = "(i.created_by = $2::uuid OR $4::boolean)"

  private var columns: SQL {
    """
    i.id, i.name, i.owner_id IS NULL AS is_shared, \(SharedItems.mayChange) AS may_change,
      i.\(content)::text, i.created_at, i.updated_at\(figure)
    """
  }

  /// One page in the order of the names. Columns: id, name, whether it is shared, whether the
  /// reader may change it, content, creation time, time of the last change, the
  /// figure if any; then name and id.
  public func page(
    for reader: Reader, after last: (name: String, id: Identifier)?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT \(columns), i.name, i.id::text FROM \(table) i
      WHERE i.workspace_id = $1::uuid AND $3::text IS NOT NULL AND \(SharedItems.isVisible)
        AND ($5::text IS NULL OR (i.name, i.id) > ($5::text, $6::uuid))
      ORDER BY i.name, i.id LIMIT $7::bigint
      """,
      reader.parameters + [.text(last?.name), .uuid(last?.id), .int(Int64(limit))])
  }

  /// The columns of `page` without its key; no row if it does not exist, or is another member's.
  public func find(_ id: Identifier, for reader: Reader) -> Query {
    Query(
      """
      SELECT \(columns) FROM \(table) i
      WHERE i.workspace_id = $1::uuid AND i.id = $5::uuid AND $3::text IS NOT NULL
        AND \(SharedItems.isVisible)
      """, reader.parameters + [.uuid(id)])
  }

  /// The columns of `find`; no row if there are `countMax` already. PostgreSQL refuses the
  /// statement (23505) if another one has the name.
  public func add(
    _ id: Identifier, name: String, isShared: Bool, content json: [UInt8], by reader: Reader
  ) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO \(table) AS i (id, workspace_id, owner_id, created_by, name, \(content))
        SELECT $5::uuid, $1::uuid, CASE WHEN NOT $7::boolean THEN $2::uuid END, $2::uuid, $6::text,
          $8::jsonb
        WHERE (SELECT count(*) FROM \(table) o WHERE o.workspace_id = $1::uuid
          AND o.owner_id IS NOT DISTINCT FROM CASE WHEN NOT $7::boolean THEN $2::uuid END)
          < $9::bigint
        RETURNING \(columns)
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, '\(object).added', id,
          jsonb_build_object('name', name, 'shared', is_shared)
        FROM made
      )
      SELECT * FROM made
      """,
      reader.parameters + [
        .uuid(id), .text(name), .bool(isShared), .json(json), .int(countMax),
      ])
  }

  /// The columns of `find`; no row if it does not exist or the reader may not change it. Made
  /// private, it belongs to its creator: an administrator cannot take it over.
  public func change(_ id: Identifier, _ change: Change, by reader: Reader) -> Query {
    Query(
      """
      WITH made AS (
        UPDATE \(table) i SET name = coalesce($6::text, i.name),
          owner_id = CASE $7::boolean WHEN true THEN NULL WHEN false THEN i.created_by
            ELSE i.owner_id END,
          \(content) = coalesce($8::jsonb, i.\(content)), updated_at = now()
        WHERE i.workspace_id = $1::uuid AND i.id = $5::uuid AND \(SharedItems.isVisible)
          AND \(SharedItems.mayChange)
        RETURNING \(columns)
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, '\(object).changed', id,
          jsonb_build_object('name', name, 'shared', is_shared)
        FROM made
      )
      SELECT * FROM made
      """,
      reader.parameters + [
        .uuid(id), .text(change.name), change.isShared.map { .bool($0) } ?? .null,
        change.content.map { .json($0) } ?? .null,
      ])
  }

  /// False if it does not exist or the reader may not change it.
  public func delete(_ id: Identifier, by reader: Reader) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM \(table) i WHERE i.workspace_id = $1::uuid AND i.id = $5::uuid
            AND \(SharedItems.isVisible) AND \(SharedItems.mayChange)
          RETURNING i.id, i.name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, '\(object).deleted', id,
          jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, reader.parameters + [.uuid(id)])
    ) { !$0.isEmpty }
  }
}
