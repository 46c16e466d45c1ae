public import Postgres
public import Primitives
import SharedSQL

/// A visitor with one of their conversations: the content of a visitor's token.
public struct Visit: Sendable, Equatable {
  /// The browsers of a merged visitor go on as that one (`VisitorMerge`).
  public var visitor: Visitor
  public var session: VisitorSession
  /// The conversation is new, or its context changed: operators are notified.
  public var isNews: Bool

  public init(visitor: Visitor, session: VisitorSession, isNews: Bool) {
    self.visitor = visitor
    self.session = session
    self.isNews = isNews
  }
}

/// The result of presenting a refresh secret.
public enum Resumption: Sendable, Equatable {
  case resumed(Visit)
  case banned
  /// The visitor has as many open conversations as allowed.
  case full
  /// Unknown, expired, revoked, or replayed.
  case refused
}

extension Visit {
  /// A new refresh secret: its hash and its expiry.
  public struct Refresh: Sendable {
    public var hash: [UInt8]
    public var expiresAt: WallTime

    public init(hash: [UInt8], expiresAt: WallTime) {
      self.hash = hash
      self.expiresAt = expiresAt
    }
  }

  /// The conversation to open if the visitor has none or wants a new one.
  public struct Opening: Sendable {
    public var id: Identifier
    /// A JSON object: the visitor's page, the referrer, the locale, …
    public var context: [UInt8]
    /// A visitor with so many conversations that are not closed gets no other one.
    public var openMax: Int64

    public init(id: Identifier, context: [UInt8], openMax: Int64 = .max) {
      self.id = id
      self.context = context
      self.openMax = openMax
    }
  }

  /// Creates a visitor with a first conversation and the first secret of a new family.
  public static func begin(
    visitor: Visitor, workspace: Identifier, opening: Opening, refresh: Refresh, now: WallTime
  ) -> Statement<Visit?> {
    Statement(
      Query(
        beginSQL,
        [
          .uuid(visitor.id), .uuid(workspace), .text(visitor.name), .uuid(opening.id),
          .json(opening.context), .bytes(refresh.hash), .time(now), .time(refresh.expiresAt),
        ])
    ) { Visit($0, from: 0) }
  }

  /// Exchanges a refresh secret for the next one of its family, and finds or opens the
  /// conversation.
  ///
  /// An exchanged secret may be used again for 60 seconds (two tabs, a lost response). Later use is
  /// a replay and revokes the family: one revoked row is enough, so secrets that a concurrent
  /// transaction issues are revoked too. Exchanged secrets are kept for a week, revoked ones longer
  /// than any secret of their family is valid.
  ///
  /// - Parameters:
  ///   - wanted: a conversation of this visitor; the newest one is used if it is not theirs.
  ///   - isNewWanted: opens a new conversation in any case.
  public static func resume(
    presented hash: [UInt8], workspace: Identifier, wanted: Identifier?, isNewWanted: Bool,
    opening: Opening, refresh: Refresh, now: WallTime
  ) -> Statement<Resumption> {
    Statement(
      Query(
        resumeSQL,
        [
          .bytes(hash), .uuid(workspace), .time(now), .time(refresh.expiresAt), .uuid(wanted),
          .bool(isNewWanted), .uuid(opening.id), .json(opening.context), .bytes(refresh.hash),
          .int(opening.openMax),
        ])
    ) { rows in
      guard rows.text(0, orNil: 0) == "good" else { return .refused }
      return Resumption(rows, from: 1)
    }
  }

  private static let beginSQL: SQL = """
    WITH visitor AS (
      INSERT INTO visitors (id, workspace_id, name, last_seen_at)
      VALUES ($1::uuid, $2::uuid, $3::text, $7::timestamptz)
      RETURNING id, name
    ), followed AS (
      INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
      SELECT $2::uuid, id, \(Visitor.channel), 'follow', $7::timestamptz FROM visitor
    ), opened AS (
      INSERT INTO chat_sessions
        (id, workspace_id, user_id, context, \(ConversationQueue.entryTime))
      SELECT $4::uuid, $2::uuid, id, $5::jsonb, \(ConversationQueue.outside) FROM visitor
      RETURNING id, status
    ), issued AS (
      INSERT INTO refresh_tokens
        (token_hash, family, visitor_id, workspace_id, session_id, created_at, expires_at)
      SELECT $6::bytea, visitor.id, visitor.id, $2::uuid, opened.id, $7::timestamptz,
             $8::timestamptz
      FROM visitor, opened
    )
    SELECT visitor.id, visitor.name, opened.id, opened.status, true FROM visitor, opened
    """

  private static let resumeSQL: SQL = """
    WITH presented AS (
      SELECT token_hash, family, visitor_id, rotated_at, expires_at
      FROM refresh_tokens
      WHERE token_hash = $1::bytea AND workspace_id = $2::uuid
      FOR UPDATE
    ), judged AS (
      SELECT p.*, CASE
        WHEN p.expires_at <= $3::timestamptz OR EXISTS (
          SELECT FROM refresh_tokens f WHERE f.family = p.family AND f.revoked_at IS NOT NULL
        ) THEN 'ended'
        WHEN p.rotated_at <= $3::timestamptz - interval '60 seconds' THEN 'replayed'
        ELSE 'good' END AS verdict
      FROM presented p
    ), revoked AS (
      UPDATE refresh_tokens t
      SET revoked_at = $3::timestamptz, expires_at = greatest(t.expires_at, $4::timestamptz)
      FROM judged j WHERE j.verdict = 'replayed' AND t.family = j.family
    ), known AS (
      SELECT v.id, v.last_seen_at, v.merged_into
      FROM visitors v JOIN judged j ON v.id = j.visitor_id
      WHERE j.verdict = 'good' AND v.workspace_id = $2::uuid AND v.banned_at IS NULL
      FOR UPDATE OF v
    ), visitor AS (
      UPDATE visitors v SET last_seen_at = greatest(v.last_seen_at, $3::timestamptz)
      FROM known k WHERE v.id = k.id
      RETURNING v.id, v.name
    ), refollowed AS (
      INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
      SELECT $2::uuid, k.id, \(Visitor.channel), 'refollow', $3::timestamptz FROM known k
      WHERE k.last_seen_at <= $3::timestamptz - interval '30 days' OR 'unblock' = (
        SELECT e.event FROM friend_events e
        WHERE e.workspace_id = $2::uuid AND e.visitor_id = k.id
        ORDER BY e.created_at DESC LIMIT 1)
    ), found AS (
      -- Those of the visitor, or, after a merge, those that were the visitor's before. A merge that
      -- this statement has waited for is in the locked row, but not in its snapshot.
      SELECT s.id, s.status, s.context
      FROM known k JOIN visitors n ON n.id = k.id
      JOIN chat_sessions s ON s.user_id = ANY (ARRAY[k.id, k.merged_into, n.merged_into])
        AND s.merged_from IS NOT DISTINCT FROM CASE WHEN s.user_id <> k.id THEN k.id END
      WHERE s.workspace_id = $2::uuid AND s.deleted_at IS NULL AND NOT $6::boolean
      ORDER BY s.id = $5::uuid DESC NULLS LAST, s.created_at DESC, s.id DESC LIMIT 1
    ), opened AS (
      INSERT INTO chat_sessions
        (id, workspace_id, user_id, merged_from, context, \(ConversationQueue.entryTime))
      SELECT $7::uuid, $2::uuid, coalesce(k.merged_into, k.id),
        CASE WHEN k.merged_into IS NOT NULL THEN k.id END, $8::jsonb, \(ConversationQueue.outside)
      FROM known k WHERE NOT EXISTS (SELECT FROM found)
        AND \(hasRoom(visitor: "coalesce(k.merged_into, k.id)", openMax: "$10::bigint"))
      RETURNING id, status
    ), moved AS (
      -- A gateway of a release without merges opens a conversation for the merged visitor itself.
      UPDATE chat_sessions s SET
        context = CASE WHEN f.status <> 'closed' THEN s.context || $8::jsonb ELSE s.context END,
        user_id = coalesce(k.merged_into, s.user_id),
        merged_from = CASE WHEN s.user_id = k.id AND k.merged_into IS NOT NULL THEN k.id
          ELSE s.merged_from END
      FROM found f, known k
      WHERE s.id = f.id AND (f.status <> 'closed' AND NOT f.context @> $8::jsonb
        OR s.user_id = k.id AND k.merged_into IS NOT NULL)
      RETURNING s.id
    ), session AS (
      SELECT id, status, EXISTS (SELECT FROM moved) AS is_news FROM found
      UNION ALL SELECT id, status, true FROM opened
    ), exchanged AS (
      -- Not if the visitor has too many conversations, since there is no next secret then.
      UPDATE refresh_tokens t
      SET rotated_at = coalesce(t.rotated_at, $3::timestamptz),
          expires_at = least(t.expires_at, $3::timestamptz + interval '7 days')
      FROM judged j WHERE j.verdict = 'good' AND t.token_hash = j.token_hash
        AND (EXISTS (SELECT FROM session) OR NOT EXISTS (SELECT FROM visitor))
    ), issued AS (
      INSERT INTO refresh_tokens
        (token_hash, family, visitor_id, workspace_id, session_id, created_at, expires_at)
      SELECT $9::bytea, j.family, v.id, $2::uuid, s.id, $3::timestamptz, $4::timestamptz
      FROM judged j, visitor v, session s
    )
    SELECT j.verdict, v.id, v.name, s.id, s.status, s.is_news
    FROM judged j LEFT JOIN visitor v ON true LEFT JOIN session s ON true
    """

  /// Whether a visitor of the workspace `$2` may open a conversation.
  public static func hasRoom(visitor: SQL, openMax: SQL) -> SQL {
    """
    (SELECT count(*) FROM (SELECT FROM chat_sessions o
      WHERE o.workspace_id = $2::uuid AND o.user_id = \(visitor) AND o.deleted_at IS NULL
        AND o.status <> 'closed' LIMIT \(openMax)) AS n) < \(openMax)
    """
  }

  /// Columns: visitor, name, session, status, whether it is news.
  init?(_ rows: Rows, from column: Int) {
    guard !rows.isEmpty, let visitor = rows.uuid(0, column), let session = rows.uuid(0, column + 2),
      let status = rows.text(0, column + 3)
    else { return nil }
    self.init(
      visitor: Visitor(id: visitor, name: rows.text(0, column + 1) ?? ""),
      session: VisitorSession(id: session, status: status),
      isNews: rows.bool(0, column + 4) ?? false)
  }
}

extension Resumption {
  /// Columns as for `Visit`. Without a conversation the visitor has too many; without a visitor the
  /// visitor is blocked.
  init(_ rows: Rows, from column: Int) {
    if let visit = Visit(rows, from: column) {
      self = .resumed(visit)
    } else {
      self = rows.uuid(0, column) == nil ? .banned : .full
    }
  }
}

extension Rows {
  /// The text of a column; nil if there is no such row.
  fileprivate func text(_ row: Int, orNil column: Int) -> String? {
    row < count ? text(row, column) : nil
  }
}
