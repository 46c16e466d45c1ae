import Postgres
public import Primitives
import SharedSQL

/// The profile of a visitor.
public struct VisitorProfile: Sendable, Equatable {
  public var id: Identifier
  public var name: String
  public var email: String?
  /// A JSON object as text.
  public var attributes: [UInt8]
  /// The host site's id, from a signed identity.
  public var externalID: String?

  /// The maximum number of attributes of a visitor.
  public static let attributesMax = 32
}

/// The identity of a visitor, signed by the host site.
public struct SignedIdentity: Sendable, Equatable {
  public var externalID: String
  public var name: String?
  public var email: String?

  public init(externalID: String, name: String?, email: String?) {
    self.externalID = externalID
    self.name = name
    self.email = email
  }
}

extension VisitorProfile {
  /// Updates a profile by the visitor's own data. Name and e-mail address of a signed identity do
  /// not change. Attributes are merged, unless there would be more than `attributesMax`.
  ///
  /// A merged visitor's browser changes the surviving visitor and its own row. It gets its own row:
  /// the rest of the survivor's data came from elsewhere.
  ///
  /// - Returns: nil if the workspace has no such visitor, or if they are blocked.
  public static func update(
    _ id: Identifier, workspace: Identifier, name: String?, email: String?, attributes: [UInt8]?
  ) -> Statement<VisitorProfile?> {
    Statement(
      Query(
        """
        WITH \(locked), changed AS (
          UPDATE visitors v SET
            name = CASE WHEN v.external_id IS NULL THEN coalesce($3::text, v.name) ELSE v.name END,
            email = CASE WHEN v.external_id IS NULL
              THEN nullif(coalesce($4::text, v.email), '') ELSE v.email END,
            attributes = CASE
              WHEN (SELECT count(*) FROM jsonb_object_keys(
                v.attributes || coalesce($5::jsonb, '{}'))) <= $6::bigint
              THEN v.attributes || coalesce($5::jsonb, '{}') ELSE v.attributes END
          FROM locked b WHERE b.id = $1::uuid AND v.id IN (b.id, b.merged_into)
            AND v.banned_at IS NULL
          RETURNING v.id, v.name, v.email, v.attributes::text, v.external_id
        )
        SELECT * FROM changed WHERE id = $1::uuid
        """,
        [
          .uuid(id), .uuid(workspace), .text(name), .text(email),
          attributes.map { .json($0) } ?? .null, .int(Int64(attributesMax)),
        ])
    ) { VisitorProfile($0) }
  }

  /// The visitor `$1` of the workspace `$2` and the surviving one, in the order of a merge's locks.
  private static let locked: SQL = """
    locked AS (
      SELECT v.id, v.merged_into FROM visitors v WHERE v.workspace_id = $2::uuid
        AND v.id IN ($1::uuid, \(Visitor.surviving("$1::uuid", in: "$2::uuid")))
      ORDER BY v.id FOR UPDATE OF v
    )
    """

  /// Attaches a signed identity to an anonymous visitor, or updates the visitor who has it. Nil if
  /// the visitor has another identity, or if another visitor has this one. The identity of a merged
  /// visitor is the survivor's; its browser keeps its own id.
  public static func adopt(
    _ id: Identifier, _ identity: SignedIdentity, workspace: Identifier
  ) -> Statement<VisitorProfile?> {
    Statement(
      Query(
        """
        WITH \(locked)
        UPDATE visitors v SET external_id = $3::text, name = coalesce($4::text, v.name),
          email = coalesce($5::text, v.email)
        FROM locked b WHERE b.id = $1::uuid AND v.id = coalesce(b.merged_into, b.id)
          AND v.banned_at IS NULL
          AND (v.external_id = $3::text OR v.external_id IS NULL AND NOT EXISTS (
            SELECT FROM visitors o WHERE o.workspace_id = $2::uuid AND o.external_id = $3::text))
        RETURNING b.id, v.name, v.email, v.attributes::text, v.external_id
        """,
        [
          .uuid(id), .uuid(workspace), .text(identity.externalID), .text(identity.name),
          .text(identity.email),
        ])
    ) { VisitorProfile($0) }
  }

  /// Columns: id, name, e-mail address, attributes, external id.
  init?(_ rows: Rows) {
    guard !rows.isEmpty, let id = rows.uuid(0, 0) else { return nil }
    self.init(
      id: id, name: rows.text(0, 1) ?? "", email: rows.text(0, 2),
      attributes: rows.bytes(0, 3) ?? Array("{}".utf8), externalID: rows.text(0, 4))
  }
}

extension Visit {
  /// A visit with a signed identity on a new device: finds or creates the visitor and the newest
  /// conversation, and issues the first secret of a new family.
  public static func identified(
    _ identity: SignedIdentity, visitor: Identifier, workspace: Identifier, isNewWanted: Bool,
    opening: Opening, refresh: Refresh, family: Identifier, now: WallTime
  ) -> Statement<Resumption> {
    Statement(
      Query(
        identifiedSQL,
        [
          .uuid(visitor), .uuid(workspace), .text(identity.externalID), .text(identity.name),
          .text(identity.email), .bool(isNewWanted), .uuid(opening.id), .json(opening.context),
          .bytes(refresh.hash), .uuid(family), .time(now), .time(refresh.expiresAt),
          .int(opening.openMax),
        ])
    ) { rows in
      guard !rows.isEmpty else { return .refused }
      return Resumption(rows, from: 0)
    }
  }

  /// ON CONFLICT makes a concurrent visit wait for the first one and find its visitor. The `xmax`
  /// of an inserted row is 0, that of an updated row is not.
  private static let identifiedSQL: SQL = """
    WITH before AS (
      SELECT id, last_seen_at FROM visitors
      WHERE workspace_id = $2::uuid AND external_id = $3::text
    ), visitor AS (
      INSERT INTO visitors AS v (id, workspace_id, external_id, name, email, last_seen_at)
      VALUES ($1::uuid, $2::uuid, $3::text, coalesce($4::text, ''), $5::text, $11::timestamptz)
      ON CONFLICT (workspace_id, external_id) DO UPDATE SET
        name = coalesce($4::text, v.name), email = coalesce($5::text, v.email),
        last_seen_at = CASE WHEN v.banned_at IS NULL
          THEN greatest(v.last_seen_at, $11::timestamptz) ELSE v.last_seen_at END
      RETURNING v.id, v.name, v.banned_at, v.xmax = 0 AS is_new
    ), welcome AS (
      SELECT id, name, is_new FROM visitor WHERE banned_at IS NULL
    ), recorded AS (
      INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
      SELECT $2::uuid, w.id, \(Visitor.channel),
        CASE WHEN w.is_new THEN 'follow' ELSE 'refollow' END, $11::timestamptz
      FROM welcome w LEFT JOIN before b ON b.id = w.id
      WHERE w.is_new OR b.id IS NOT NULL AND NOT EXISTS (SELECT FROM friend_events e
        WHERE e.workspace_id = $2::uuid AND e.visitor_id = w.id AND e.channel = \(Visitor.channel)
          AND e.event IN ('follow', 'refollow'))
      OR b.last_seen_at <= $11::timestamptz - interval '30 days' OR 'unblock' = (
        SELECT e.event FROM friend_events e
        WHERE e.workspace_id = $2::uuid AND e.visitor_id = w.id
        ORDER BY e.created_at DESC LIMIT 1)
    ), found AS (
      SELECT s.id, s.status FROM chat_sessions s JOIN welcome w ON s.user_id = w.id
        AND s.merged_from IS NULL
      WHERE s.workspace_id = $2::uuid AND s.deleted_at IS NULL AND NOT $6::boolean
      ORDER BY s.created_at DESC, s.id DESC LIMIT 1
    ), opened AS (
      INSERT INTO chat_sessions (id, workspace_id, user_id, context, \(ConversationQueue.entryTime))
      SELECT $7::uuid, $2::uuid, w.id, $8::jsonb, \(ConversationQueue.outside) FROM welcome w
      WHERE NOT EXISTS (SELECT FROM found) AND \(hasRoom(visitor: "w.id", openMax: "$13::bigint"))
      RETURNING id, status
    ), session AS (
      SELECT id, status, false AS is_news FROM found
      UNION ALL SELECT id, status, true FROM opened
    ), issued AS (
      INSERT INTO refresh_tokens
        (token_hash, family, visitor_id, workspace_id, session_id, created_at, expires_at)
      SELECT $9::bytea, $10::uuid, w.id, $2::uuid, s.id, $11::timestamptz, $12::timestamptz
      FROM welcome w, session s
    )
    SELECT w.id, w.name, s.id, s.status, s.is_news
    FROM visitor v LEFT JOIN welcome w ON true LEFT JOIN session s ON true
    """
}
