/// The stored intents of a workspace (`intents`), as administrators list and change them.
/// `BotScript` loads them for the bot.
public import Directory
public import Postgres
public import Primitives

public enum Intents {
  /// The most intents of one workspace.
  public static let countMax = Int64(BotScript.intentsMax)

  /// One page in the order in which the bot tries them. Columns: name, keyword, kind of match,
  /// replies, position, whether it is enabled; then position and name as text.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, after last: (position: Int64, name: String)?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT i.name, i.keyword, i.match_kind, i.replies::text, i.position, i.is_enabled,
        i.position::text, i.name
      FROM intents i
      WHERE i.workspace_id = $1::uuid
        AND ($2::bigint IS NULL OR (i.position, i.name) > ($2::bigint, $3::text))
      ORDER BY i.position, i.name LIMIT $4::bigint
      """,
      [
        .uuid(workspace), last.map { .int($0.position) } ?? .null, .text(last?.name),
        .int(Int64(limit)),
      ])
  }

  /// The members of an intent other than its name; nil: the default of a new intent, or unchanged.
  public struct Content: Sendable {
    public var keyword: String?
    public var matchKind: String?
    /// A JSON array as text.
    public var replies: [UInt8]?
    public var position: Int64?
    public var isEnabled: Bool?

    public init(
      keyword: String?, matchKind: String?, replies: [UInt8]?, position: Int64?, isEnabled: Bool?
    ) {
      self.keyword = keyword
      self.matchKind = matchKind
      self.replies = replies
      self.position = position
      self.isEnabled = isEnabled
    }

    /// `$5` to `$9`.
    fileprivate var parameters: [Parameter] {
      [
        .text(keyword), .text(matchKind), replies.map { .json($0) } ?? .null,
        position.map { .int($0) } ?? .null, isEnabled.map { .bool($0) } ?? .null,
      ]
    }
  }

  /// Keyword and kind of match of a stored intent; nil if it does not exist.
  public static func find(
    _ name: String, in workspace: Identifier
  ) -> Statement<(keyword: String, matchKind: String)?> {
    Statement(
      Query(
        """
        SELECT keyword, match_kind FROM intents
        WHERE workspace_id = $1::uuid AND name = $2::text
        """, [.uuid(workspace), .text(name)])
    ) { $0.isEmpty ? nil : ($0.text(0, 0) ?? "", $0.text(0, 1) ?? "") }
  }

  /// Adds an intent. Columns as those of `page`, without the last two. No row if the name is in
  /// use, or the workspace already has `countMax` intents.
  public static func add(_ name: String, _ content: Content, by actor: AuditActor) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO intents
          (workspace_id, name, keyword, match_kind, replies, position, is_enabled)
        SELECT $1::uuid, $4::text, $5::text, coalesce($6::text, 'contains'),
          coalesce($7::jsonb, '[]'), coalesce($8::bigint, 0), coalesce($9::boolean, true)
        WHERE (SELECT count(*) FROM intents WHERE workspace_id = $1::uuid) < $10::bigint
        ON CONFLICT (workspace_id, name) DO NOTHING
        RETURNING name, keyword, match_kind, replies::text, position, is_enabled
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'intent.added', jsonb_build_object('name', name)
        FROM made
      )
      SELECT * FROM made
      """, actor.parameters + [.text(name)] + content.parameters + [.int(countMax)])
  }

  /// Changes an intent. Columns as those of `page`, without the last two. No row if it does not
  /// exist.
  public static func change(_ name: String, _ content: Content, by actor: AuditActor) -> Query {
    Query(
      """
      WITH made AS (
        UPDATE intents SET keyword = coalesce($5::text, keyword),
          match_kind = coalesce($6::text, match_kind), replies = coalesce($7::jsonb, replies),
          position = coalesce($8::bigint, position),
          is_enabled = coalesce($9::boolean, is_enabled)
        WHERE workspace_id = $1::uuid AND name = $4::text
        RETURNING name, keyword, match_kind, replies::text, position, is_enabled
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'intent.changed', jsonb_build_object('name', name)
        FROM made
      )
      SELECT * FROM made
      """, actor.parameters + [.text(name)] + content.parameters)
  }

  /// False if it does not exist.
  public static func delete(_ name: String, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM intents WHERE workspace_id = $1::uuid AND name = $4::text RETURNING name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'intent.deleted', jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, actor.parameters + [.text(name)])
    ) { !$0.isEmpty }
  }
}
