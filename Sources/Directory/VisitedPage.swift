import Postgres
public import Primitives

/// The page that a visitor has open while a conversation goes on, and the trail of pages before it.
/// Both are part of the conversation's context, so that whatever exports, erases, moves or deletes
/// the conversation does so with them.
public enum VisitedPage {
  /// Pages of a trail; the oldest leave first.
  public static let trailMax: Int64 = 20

  /// Notes the page for the visitor's conversations that are not closed, and returns those whose
  /// context has changed. Another title of the same page replaces its title: a router may set it
  /// after the address.
  ///
  /// A trail begins with what is known: the visit of a site that watches its visitors, else the
  /// page on which the conversation began. A beacon tells whose visit it is, some seconds after the
  /// conversation has begun; a trail of one page then takes the visit.
  ///
  /// - Parameters:
  ///   - visitor: whose conversations these are.
  ///   - browser: the visitor of the token: the same one, or one who was merged into `visitor`.
  public static func note(
    _ page: String, title: String, for sessions: [Identifier], of visitor: Identifier,
    browser: Identifier, in workspace: Identifier, now: WallTime
  ) -> Statement<[Identifier]> {
    Statement(
      Query(
        noteSQL,
        [
          .uuid(workspace), .uuids(sessions), .uuid(visitor), .uuid(browser), .text(page),
          .text(title), .time(now), .int(trailMax),
        ])
    ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }
  }

  /// A time as the REST API writes it.
  private static func time(_ value: SQL) -> SQL {
    "to_char(\(value) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
  }

  private static let noteSQL: SQL = """
    WITH target AS MATERIALIZED (
      SELECT s.id, s.context, s.created_at FROM chat_sessions s
      WHERE s.workspace_id = $1::uuid AND s.id = ANY ($2::uuid[]) AND s.user_id = $3::uuid
        AND s.deleted_at IS NULL AND s.status <> 'closed'
      ORDER BY s.id FOR UPDATE
    ), known AS (
      SELECT t.id, coalesce(t.context -> 'opened_on', t.context -> 'page', 'null') AS first,
        coalesce(CASE WHEN jsonb_array_length(t.context -> 'trail') > 1
          THEN t.context -> 'trail' END, (
          SELECT w.visit -> 'trail' FROM watchers l
          JOIN watched_visitors w ON w.workspace_id = l.workspace_id AND w.watcher = l.watcher
          WHERE l.workspace_id = $1::uuid AND l.visitor_id = $4::uuid
          ORDER BY w.changed_at DESC LIMIT 1), t.context -> 'trail',
        CASE WHEN t.context ? 'page' THEN jsonb_build_array(jsonb_build_object(
          'page', t.context -> 'page', 'title', coalesce(t.context -> 'title', '""'),
          'at', \(time("t.created_at")))) END, '[]') AS trail
      FROM target t
    ), moved AS (
      SELECT k.id, k.first, CASE WHEN k.trail -> -1 ->> 'page' = $5::text
          THEN (k.trail - (-1)) || jsonb_build_array(
            (k.trail -> -1) || jsonb_build_object('title', $6::text))
          ELSE k.trail || jsonb_build_array(jsonb_build_object(
            'page', $5::text, 'title', $6::text, 'at', \(time("$7::timestamptz")))) END AS trail
      FROM known k
    )
    UPDATE chat_sessions s SET context = s.context || n.news
    FROM (
      SELECT m.id, jsonb_strip_nulls(jsonb_build_object(
        'page', $5::text, 'title', $6::text, 'opened_on', m.first, 'trail',
        CASE WHEN jsonb_array_length(m.trail) > $8::bigint THEN m.trail - 0 ELSE m.trail END
      )) AS news FROM moved m) AS n
    WHERE s.workspace_id = $1::uuid AND s.id = n.id
      AND s.context IS DISTINCT FROM s.context || n.news
    RETURNING s.id
    """

  /// The trail of a conversation as a JSON array, the oldest page first.
  public static func trail(
    of session: Identifier, in workspace: Identifier
  ) -> Statement<[UInt8]> {
    Statement(
      Query(
        """
        SELECT coalesce(context -> 'trail', '[]')::text FROM chat_sessions
        WHERE workspace_id = $1::uuid AND id = $2::uuid
        """, [.uuid(workspace), .uuid(session)])
    ) { rows in rows.isEmpty ? Array("[]".utf8) : rows.bytes(0, 0) ?? Array("[]".utf8) }
  }
}
