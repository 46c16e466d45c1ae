/// The comments of ratings, newest first.
public import Postgres
public import Primitives

public enum RatingComments {
  /// Ratings read for one page. Most have no comment, and no index finds those that have one: a
  /// page may be short or empty although another one follows.
  public static let scannedMax = 2_000

  /// Columns: session, rating, comment, names of visitor and operator, time; then the position
  /// after which the next page begins, as microseconds and id.
  ///
  /// - Parameters:
  ///   - from, to: days as `2026-11-22`, both included, in the workspace's time zone.
  ///   - after: time and session at the end of the previous page; null for the first page.
  public static func query(
    in workspace: Identifier, from: String, to: String, after: [Parameter], limit: Int
  ) -> Query {
    Query(
      sql,
      [.uuid(workspace), .text(from), .text(to)] + after + [
        .int(Int64(limit)), .int(Int64(scannedMax)),
      ])
  }

  /// A subquery looks up the conversation of each comment; for a join, the planner may read all of
  /// the workspace. If `scannedMax` was reached, the last rating read follows as a row without
  /// values.
  private static let sql: StaticString = """
    WITH scanned AS MATERIALIZED (
      SELECT r.session_id, r.rating, r.comment, r.visitor_id, r.operator_id, r.created_at
      FROM csat_responses r
      WHERE r.workspace_id = $1::uuid
        AND r.created_at >= $2::text::timestamp AT TIME ZONE chirrup_time_zone($1::uuid)
        AND r.created_at
          < ($3::text::date + 1)::timestamp AT TIME ZONE chirrup_time_zone($1::uuid)
        AND ($4::timestamptz IS NULL
          OR (r.created_at, r.session_id) < ($4::timestamptz, $5::uuid))
      ORDER BY r.created_at DESC, r.session_id DESC LIMIT $7::bigint
    ), found AS (
      SELECT c.session_id, c.rating, c.comment,
        (SELECT v.name FROM visitors v WHERE v.workspace_id = $1::uuid AND v.id = c.visitor_id)
          AS visitor,
        (SELECT o.name FROM operators o WHERE o.id = c.operator_id) AS operator,
        c.created_at AS at, c.session_id AS place
      FROM scanned c
      WHERE c.comment <> '' AND (SELECT s.deleted_at IS NULL FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND s.id = c.session_id)
      ORDER BY c.created_at DESC, c.session_id DESC LIMIT $6::bigint
    ), whole AS (
      SELECT * FROM found
      UNION ALL
      SELECT NULL, NULL, NULL, NULL, NULL, last.created_at, last.session_id FROM (
        SELECT created_at, session_id FROM scanned
        WHERE (SELECT count(*) FROM scanned) = $7::bigint
        ORDER BY created_at, session_id LIMIT 1) AS last
    )
    SELECT w.session_id, w.rating, w.comment, w.visitor, w.operator, w.at,
      (extract(epoch FROM w.at) * 1000000)::bigint::text, w.place::text
    FROM whole w ORDER BY w.at DESC, w.place DESC, w.session_id NULLS LAST
    """
}
