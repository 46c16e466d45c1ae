/// Messages that the widget shows by itself (`proactive_messages`). Their conditions are evaluated
/// in the visitor's browser, so they cost the gateway nothing. That a visitor sees one once is held
/// here: another browser, or one whose storage was cleared, does not know it.
public import Postgres
public import Primitives

public enum ProactiveMessages {
  /// The most messages of one workspace: browsers get the enabled ones with a page's first beacon.
  public static let countMax: Int64 = 20

  /// A message that is added or changed. Nil: as before.
  public struct Content: Sendable {
    public var name: String?
    public var body: String?
    /// An empty text removes it.
    public var senderName: String?
    /// A JSON object that the caller has checked.
    public var conditions: [UInt8]?
    public var isEnabled: Bool?

    public init(
      name: String?, body: String?, senderName: String?, conditions: [UInt8]?, isEnabled: Bool?
    ) {
      self.name = name
      self.body = body
      self.senderName = senderName
      self.conditions = conditions
      self.isEnabled = isEnabled
    }

    fileprivate var parameters: [Parameter] {
      [
        .text(name), .text(body), .text(senderName), conditions.map { .json($0) } ?? .null,
        isEnabled.map { .bool($0) } ?? .null,
      ]
    }
  }

  private static let columns: SQL = """
    id, name, body, sender_name, conditions::text, is_enabled, shown, answered, created_at,
    updated_at
    """

  /// One page, oldest first. Columns: id, name, body, sender's name, conditions, whether enabled,
  /// how often shown and answered, creation time, time of the last change; then creation time (µs)
  /// and id as text.
  public static func page(
    of workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT \(columns), (extract(epoch FROM created_at) * 1000000)::bigint::text, id::text
      FROM proactive_messages WHERE workspace_id = $1::uuid
        AND ($2::timestamptz IS NULL OR (created_at, id) > ($2::timestamptz, $3::uuid))
      ORDER BY proactive_messages.created_at, proactive_messages.id LIMIT $4::bigint
      """, [.uuid(workspace), .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }

  /// Columns as those of `page`, without the last two. No row if the workspace has `countMax`.
  public static func add(_ id: Identifier, _ content: Content, by actor: AuditActor) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO proactive_messages
          (workspace_id, id, name, body, sender_name, conditions, is_enabled)
        SELECT $1::uuid, $4::uuid, $5::text, $6::text, nullif($7::text, ''),
          coalesce($8::jsonb, '{}'), coalesce($9::boolean, false)
        WHERE (SELECT count(*) FROM proactive_messages WHERE workspace_id = $1::uuid) < $10::bigint
        RETURNING \(columns)
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'proactive_message.added', id,
          jsonb_build_object('name', name)
        FROM made
      )
      SELECT * FROM made
      """, actor.parameters + [.uuid(id)] + content.parameters + [.int(countMax)])
  }

  /// Columns as those of `page`, without the last two. No row if the message does not exist.
  public static func change(_ id: Identifier, _ content: Content, by actor: AuditActor) -> Query {
    Query(
      """
      WITH made AS (
        UPDATE proactive_messages SET name = coalesce($5::text, name),
          body = coalesce($6::text, body),
          sender_name = CASE WHEN $7::text IS NULL THEN sender_name
            ELSE nullif($7::text, '') END,
          conditions = coalesce($8::jsonb, conditions),
          is_enabled = coalesce($9::boolean, is_enabled), updated_at = now()
        WHERE workspace_id = $1::uuid AND id = $4::uuid
        RETURNING \(columns)
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'proactive_message.changed', id,
          jsonb_build_object('name', name)
        FROM made
      )
      SELECT * FROM made
      """, actor.parameters + [.uuid(id)] + content.parameters)
  }

  /// False if it does not exist.
  public static func delete(_ id: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM proactive_messages WHERE workspace_id = $1::uuid AND id = $4::uuid
          RETURNING id, name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'proactive_message.deleted', id,
          jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, actor.parameters + [.uuid(id)])
    ) { !$0.isEmpty }
  }

  /// The answer tells a page whether an operator is available, and has the enabled messages as a
  /// JSON array.
  public static func forPages(
    of workspace: Identifier
  ) -> Statement<(isSomebodyAvailable: Bool, messages: [UInt8])> {
    Statement(
      Query(
        """
        SELECT chirrup_is_anybody_available($1::uuid), coalesce((
          SELECT jsonb_agg(jsonb_build_object('id', id, 'body', body,
            'sender', coalesce(sender_name, ''), 'when', conditions) ORDER BY created_at, id)
          FROM proactive_messages WHERE workspace_id = $1::uuid AND is_enabled), '[]')::text
        """, [.uuid(workspace)])
    ) { ($0.bool(0, 0) ?? false, $0.bytes(0, 1) ?? Array("[]".utf8)) }
  }

  /// The text and the sender of an enabled message.
  public static func content(
    of id: Identifier, in workspace: Identifier
  ) -> Statement<(body: String, senderName: String)?> {
    Statement(
      Query(
        """
        SELECT p.body, coalesce(p.sender_name, w.name)
        FROM proactive_messages p JOIN workspaces w ON w.id = p.workspace_id
        WHERE p.workspace_id = $1::uuid AND p.id = $2::uuid AND p.is_enabled
        """, [.uuid(workspace), .uuid(id)])
    ) { rows in
      rows.isEmpty ? nil : (rows.text(0, 0) ?? "", rows.text(0, 1) ?? "")
    }
  }

  /// Notes that a browser shows a message. False if the message must be shown once and this
  /// browser, or another one of the same visitor, has shown it; or if it is disabled or deleted.
  public static func show(
    _ id: Identifier, to watcher: Identifier, in workspace: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH message AS (
          SELECT coalesce((conditions ->> 'once')::boolean, true) AS once
          FROM proactive_messages WHERE workspace_id = $1::uuid AND id = $2::uuid AND is_enabled
        ), own AS (
          SELECT $3::uuid AS watcher
          UNION
          SELECT other.watcher FROM watchers this JOIN watchers other
            ON other.workspace_id = this.workspace_id AND other.visitor_id = this.visitor_id
          WHERE this.workspace_id = $1::uuid AND this.watcher = $3::uuid
        ), wanted AS (
          SELECT once FROM message WHERE NOT once OR NOT EXISTS (
            SELECT FROM proactive_showings s JOIN own ON own.watcher = s.watcher
            WHERE s.workspace_id = $1::uuid AND s.message_id = $2::uuid)
        ), known AS (
          INSERT INTO watchers (workspace_id, watcher)
          SELECT $1::uuid, $3::uuid FROM wanted WHERE once ON CONFLICT DO NOTHING
        ), noted AS (
          INSERT INTO proactive_showings (workspace_id, message_id, watcher)
          SELECT $1::uuid, $2::uuid, $3::uuid FROM wanted WHERE once
          ON CONFLICT DO NOTHING RETURNING 1
        )
        SELECT EXISTS (SELECT FROM noted) OR EXISTS (SELECT FROM wanted WHERE NOT once)
        """, [.uuid(workspace), .uuid(id), .uuid(watcher)])
    ) { $0.bool(0, 0) ?? false }
  }

  /// How long a message that must be shown once is not shown again.
  private static let showingTime: SQL = "interval '1 year'"
  private static let forgottenMax: Int64 = 1_000

  /// Forgets old showings, and with their last one the browsers of which nothing else is known.
  public static let prune = Statement<Void>(
    Query(
      """
      WITH old AS (
        DELETE FROM proactive_showings WHERE (workspace_id, message_id, watcher) IN (
          SELECT workspace_id, message_id, watcher FROM proactive_showings
          WHERE shown_at < now() - \(showingTime) ORDER BY shown_at LIMIT $1::bigint)
        RETURNING workspace_id, watcher
      )
      DELETE FROM watchers w USING old
      WHERE w.workspace_id = old.workspace_id AND w.watcher = old.watcher
        AND w.visitor_id IS NULL AND NOT EXISTS (
          SELECT FROM proactive_showings s
          WHERE s.workspace_id = w.workspace_id AND s.watcher = w.watcher
            AND s.shown_at >= now() - \(showingTime))
      """, [.int(forgottenMax)]))

  /// Adds to the counts of messages in one statement.
  ///
  /// - Parameter counts: a JSON array of objects with workspace, id, shown and answered.
  public static func count(_ counts: [UInt8]) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE proactive_messages p SET shown = p.shown + g.shown,
          answered = p.answered + g.answered
        FROM jsonb_to_recordset($1::jsonb)
          AS g (workspace uuid, id uuid, shown bigint, answered bigint)
        WHERE p.workspace_id = g.workspace AND p.id = g.id
        """, [.json(counts)]))
  }
}
