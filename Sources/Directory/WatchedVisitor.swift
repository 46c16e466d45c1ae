public import Postgres
public import Primitives
import SharedSQL

/// The browsers that have a page of a site open now (`watched_visitors`). Each gateway writes those
/// whose beacons it receives, in one statement every few seconds, and only what has changed: a
/// heartbeat writes nothing. The rows of a gateway that has ended count no more.
public enum WatchedVisitor {
  /// A browser that came, left, or opened another page.
  public struct Change: Sendable {
    public var workspace: Identifier
    public var watcher: Identifier
    public var secretHash: [UInt8]
    /// `here` or `away`; nil: it has left.
    public var state: String?
    /// A JSON object; nil: as before.
    public var visit: [UInt8]?

    public init(
      workspace: Identifier, watcher: Identifier, secretHash: [UInt8], state: String?,
      visit: [UInt8]?
    ) {
      self.workspace = workspace
      self.watcher = watcher
      self.secretHash = secretHash
      self.state = state
      self.visit = visit
    }
  }

  /// Stores changes in one statement. Returns the number of rows that the gateway has then: fewer
  /// than it has stored means that PostgreSQL has emptied the table after a crash.
  ///
  /// - Parameter changes: a JSON array, see `json(of:)`.
  public static func store(_ changes: [UInt8], gateway: Identifier) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH given AS (
          SELECT * FROM jsonb_to_recordset($2::jsonb)
            AS g (workspace uuid, watcher uuid, hash text, state text, visit jsonb)
        ), gone AS (
          DELETE FROM watched_visitors w USING given g
          WHERE w.workspace_id = g.workspace AND w.watcher = g.watcher
            AND w.gateway_id = $1::uuid AND g.state IS NULL
          RETURNING 1
        ), moved AS (
          UPDATE watched_visitors w SET state = g.state, changed_at = now() FROM given g
          WHERE w.workspace_id = g.workspace AND w.watcher = g.watcher
            AND w.gateway_id = $1::uuid AND g.state IS NOT NULL AND g.visit IS NULL
        ), stored AS (
          INSERT INTO watched_visitors
            (workspace_id, watcher, gateway_id, secret_hash, state, visit)
          SELECT g.workspace, g.watcher, $1::uuid, decode(g.hash, 'hex'), g.state, g.visit
          FROM given g WHERE g.state IS NOT NULL AND g.visit IS NOT NULL
          ON CONFLICT (workspace_id, watcher, gateway_id) DO UPDATE
            SET state = excluded.state, visit = excluded.visit, changed_at = now()
          RETURNING xmax = 0 AS is_new
        )
        SELECT (SELECT count(*) FROM watched_visitors WHERE gateway_id = $1::uuid)
          - (SELECT count(*) FROM gone) + (SELECT count(*) FROM stored WHERE is_new)
        """, [.uuid(gateway), .json(changes)])
    ) { $0.int(0, 0) ?? 0 }
  }

  public static func removeAll(of gateway: Identifier) -> Statement<Void> {
    Statement(
      Query("DELETE FROM watched_visitors WHERE gateway_id = $1::uuid", [.uuid(gateway)]))
  }

  /// Removes the rows of gateways that have ended, and old invitations.
  public static func prune(except gateway: Identifier) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH old AS (
          DELETE FROM visitor_invitations WHERE created_at < now() - \(invitationTime)
        )
        DELETE FROM watched_visitors w WHERE w.gateway_id <> $1::uuid
          AND NOT EXISTS (SELECT FROM gateways g WHERE g.id = w.gateway_id)
        """, [.uuid(gateway)]))
  }

  /// A browser without a connection learns of a conversation if its next beacon comes within this.
  private static let invitationTime: SQL = "interval '10 minutes'"

  // MARK: For operators

  /// A browser that two gateways know is on the page that it opened last: they store in any order.
  static let current: SQL = """
    current AS (
      SELECT DISTINCT ON (w.watcher) w.watcher, w.state, w.visit, w.secret_hash
      FROM watched_visitors w JOIN gateways g ON g.id = w.gateway_id
      WHERE w.workspace_id = $1::uuid AND g.\(GatewayProcess.isFresh) AND g.stopped_at IS NULL
      ORDER BY w.watcher, (w.visit ->> 'page_at')::timestamptz DESC, w.changed_at DESC
    )
    """

  static let people: SQL = """
    current c
      LEFT JOIN watchers l ON l.workspace_id = $1::uuid AND l.watcher = c.watcher
      LEFT JOIN visitors b ON b.id = l.visitor_id AND b.workspace_id = $1::uuid
      LEFT JOIN visitors v ON v.id = coalesce(b.merged_into, b.id)
      LEFT JOIN LATERAL (
        SELECT s.id, s.status, s.assigned_operator_id, s.operator_name,
          s.\(ConversationQueue.entryTime)
        FROM chat_sessions s
        WHERE s.user_id = v.id AND s.workspace_id = $1::uuid AND s.deleted_at IS NULL
          AND s.merged_from IS NOT DISTINCT FROM CASE WHEN b.id <> v.id THEN b.id END
          AND s.status <> 'closed' AND s.message_count > 0
        ORDER BY s.created_at DESC, s.id DESC LIMIT 1) s ON true
    """

  static let columns: SQL = """
    c.watcher, v.id, coalesce(v.name, ''), c.state, c.visit ->> 'page', c.visit ->> 'title',
      (c.visit ->> 'page_at')::timestamptz, (c.visit ->> 'began_at')::timestamptz,
      (c.visit ->> 'pages')::bigint, (c.visit ->> 'visits')::bigint,
      coalesce(c.visit ->> 'referrer', ''), coalesce(c.visit ->> 'campaign', ''),
      c.visit ->> 'country', coalesce(c.visit ->> 'language', ''),
      coalesce(c.visit ->> 'user_agent', ''),
      coalesce(c.visit ->> 'path', c.visit ->> 'page', ''), coalesce(c.visit ->> 'source', ''),
      s.id, s.status, s.assigned_operator_id, coalesce(s.operator_name, ''),
      CASE WHEN s.status = 'waiting' THEN s.\(ConversationQueue.entryTime) END
    """

  /// One visitor. Columns as those of `list`, then the trail.
  public static func find(_ watcher: Identifier, of workspace: Identifier) -> Query {
    Query(
      """
      WITH \(current)
      SELECT \(columns), coalesce(c.visit -> 'trail', '[]')::text
      FROM \(people) WHERE c.watcher = $2::uuid
      """, [.uuid(workspace), .uuid(watcher)])
  }

  /// A browser with which an operator begins a conversation.
  public struct Target: Sendable {
    public var secretHash: [UInt8]
    /// As whom the browser goes on: the visitor, or one who was merged into the visitor.
    public var visitor: Identifier?
    /// The visitor's open conversation, and its operator.
    public var session: Identifier?
    public var operatorID: Identifier?
    public var operatorName: String
    /// A JSON object for the context of a conversation.
    public var context: [UInt8]
  }

  public static func target(
    _ watcher: Identifier, of workspace: Identifier
  ) -> Statement<Target?> {
    Statement(
      Query(
        """
        WITH \(current)
        SELECT c.secret_hash, b.id, s.id, jsonb_strip_nulls(jsonb_build_object(
            'page', c.visit -> 'page', 'title', c.visit -> 'title',
            'referrer', c.visit -> 'referrer', 'locale', c.visit -> 'language',
            'user_agent', c.visit -> 'user_agent'))::text,
          s.assigned_operator_id, coalesce(s.operator_name, '')
        FROM \(people) WHERE c.watcher = $2::uuid
        """, [.uuid(workspace), .uuid(watcher)])
    ) { rows in
      guard !rows.isEmpty, let hash = rows.bytes(0, 0) else { return nil }
      return Target(
        secretHash: hash, visitor: rows.uuid(0, 1), session: rows.uuid(0, 2),
        operatorID: rows.uuid(0, 4), operatorName: rows.text(0, 5) ?? "",
        context: rows.bytes(0, 3) ?? Array("{}".utf8))
    }
  }

  /// Notes which visitor a browser belongs to; the request has proved both.
  public static func link(
    _ watcher: Identifier, to visitor: Identifier, in workspace: Identifier
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO watchers (workspace_id, watcher, visitor_id)
        VALUES ($1::uuid, $2::uuid, $3::uuid)
        ON CONFLICT (workspace_id, watcher) DO UPDATE SET visitor_id = excluded.visitor_id
        """, [.uuid(workspace), .uuid(watcher), .uuid(visitor)]))
  }

  // MARK: Invitations

  /// A conversation that an operator has begun, for the browser's next beacon.
  public struct Invitation: Sendable, Equatable {
    public var session: Identifier
    public var senderName: String
    public var body: String

    public init(session: Identifier, senderName: String, body: String) {
      self.session = session
      self.senderName = senderName
      self.body = body
    }
  }

  public static func invite(
    _ watcher: Identifier, to invitation: Invitation, in workspace: Identifier
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO visitor_invitations (workspace_id, watcher, session_id, sender_name, body)
        VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text)
        ON CONFLICT (workspace_id, watcher) DO UPDATE SET session_id = excluded.session_id,
          sender_name = excluded.sender_name, body = excluded.body, created_at = now()
        """,
        [
          .uuid(workspace), .uuid(watcher), .uuid(invitation.session),
          .text(invitation.senderName), .text(invitation.body),
        ]))
  }

  /// The newest invitations of all workspaces: any gateway may get the browser's next beacon.
  public static func invitations(
    limit: Int
  ) -> Statement<[(workspace: Identifier, watcher: Identifier, invitation: Invitation)]> {
    Statement(
      Query(
        """
        SELECT workspace_id, watcher, session_id, sender_name, body FROM visitor_invitations
        WHERE created_at > now() - \(invitationTime) ORDER BY created_at DESC LIMIT $1::bigint
        """, [.int(Int64(limit))])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let workspace = rows.uuid(row, 0), let watcher = rows.uuid(row, 1),
          let session = rows.uuid(row, 2)
        else { return nil }
        return (
          workspace, watcher,
          Invitation(
            session: session, senderName: rows.text(row, 3) ?? "", body: rows.text(row, 4) ?? "")
        )
      }
    }
  }
}
