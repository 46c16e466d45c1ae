/// The ratings of conversations that began in a period, the newest days first.
public import Postgres
public import Primitives

public enum RatingList {
  /// Ratings read for one page. A page may be short or empty although another one follows, if few
  /// ratings pass the filter.
  public static let scannedMax = 2_000

  /// Which ratings a list has. Without a value it has those of any.
  public struct Filter: Sendable {
    public var operatorID: Identifier?
    public var team: Identifier?
    public var channel: String?
    public var tag: String?
    public var stars: Int64?
    public var hasComment: Bool

    public init(
      operatorID: Identifier? = nil, team: Identifier? = nil, channel: String? = nil,
      tag: String? = nil, stars: Int64? = nil, hasComment: Bool = false
    ) {
      self.operatorID = operatorID
      self.team = team
      self.channel = channel
      self.tag = tag
      self.stars = stars
      self.hasComment = hasComment
    }
  }

  /// Columns: session, rating, comment, names of visitor, operator and team, tags, the day on which
  /// the conversation began, the time of the rating; then the position after which the next page
  /// begins, as day, microseconds and id.
  ///
  /// - Parameters:
  ///   - from, to: days as `2026-11-22`, both included, in the workspace's time zone.
  ///   - after: day, time and session at the end of the previous page; null for the first page.
  public static func query(
    in workspace: Identifier, from: String, to: String, filter: Filter, after: [Parameter],
    limit: Int
  ) -> Query {
    Query(
      sql,
      [.uuid(workspace), .date(from), .date(to)] + after + [
        .int(Int64(limit)), .int(Int64(scannedMax)), .uuid(filter.operatorID), .uuid(filter.team),
        .text(filter.tag), filter.stars.map { .int($0) } ?? .null, .bool(filter.hasComment),
        .text(filter.channel),
      ])
  }

  /// The ratings are those that analytics have counted, so that both have the same number. A rating
  /// stays after its conversation is deleted, without anything that the visitor wrote or is. If
  /// `scannedMax` was reached, the last rating read follows as a row without values.
  private static let sql: StaticString = """
    WITH scanned AS MATERIALIZED (
      SELECT f.session_id, f.rating, f.operator_id, f.team_id, f.tags, f.day, f.rated_at
      FROM chat_analytics_sessions f
      WHERE f.workspace_id = $1::uuid AND f.rating IS NOT NULL
        AND f.day BETWEEN $2::date AND $3::date
        AND ($4::text IS NULL
          OR (f.day, f.rated_at, f.session_id) < ($4::text::date, $5::timestamptz, $6::uuid))
      ORDER BY f.day DESC, f.rated_at DESC, f.session_id DESC LIMIT $8::bigint
    ), found AS (
      SELECT r.session_id, c.rating, r.comment,
        (SELECT v.name FROM visitors v WHERE v.workspace_id = $1::uuid AND v.id = r.visitor_id)
          AS visitor,
        (SELECT o.name FROM operators o WHERE o.id = c.operator_id) AS operator,
        (SELECT t.name FROM chat_teams t WHERE t.workspace_id = $1::uuid AND t.id = c.team_id)
          AS team, array_to_string(c.tags, E'\\n') AS tags, c.day, c.rated_at,
        c.session_id AS place
      FROM scanned c LEFT JOIN LATERAL (
        SELECT r.session_id, r.visitor_id, nullif(r.comment, '') AS comment
        FROM csat_responses r JOIN chat_sessions s
          ON s.workspace_id = r.workspace_id AND s.id = r.session_id AND s.deleted_at IS NULL
        WHERE r.workspace_id = $1::uuid AND r.session_id = c.session_id OFFSET 0) AS r ON true
      WHERE ($9::uuid IS NULL OR c.operator_id = $9::uuid)
        AND ($10::uuid IS NULL OR c.team_id = $10::uuid)
        AND ($11::text IS NULL OR c.tags @> ARRAY[$11::text])
        AND ($12::bigint IS NULL OR c.rating = $12::bigint)
        AND (NOT $13::boolean OR r.comment IS NOT NULL)
        AND ($14::text IS NULL OR (SELECT s.channel FROM chat_sessions s
          WHERE s.workspace_id = $1::uuid AND s.id = c.session_id) = $14::text)
      ORDER BY c.day DESC, c.rated_at DESC, c.session_id DESC LIMIT $7::bigint
    ), whole AS (
      SELECT * FROM found
      UNION ALL
      SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, last.day, last.rated_at, last.session_id
      FROM (
        SELECT day, rated_at, session_id FROM scanned
        WHERE (SELECT count(*) FROM scanned) = $8::bigint
        ORDER BY day, rated_at, session_id LIMIT 1) AS last
    )
    SELECT w.session_id, w.rating, w.comment, w.visitor, w.operator, w.team, w.tags, w.day::text,
      w.rated_at, w.day::text, (extract(epoch FROM w.rated_at) * 1000000)::bigint::text,
      w.place::text
    FROM whole w ORDER BY w.day DESC, w.rated_at DESC, w.place DESC, w.rating NULLS LAST
    """
}
