import Postgres
public import Primitives

/// The analytics of a workspace (`chat_analytics`) by day in its time zone. The migrations
/// 20261124_count_analytics and 20270120_count_by_sets explain how they are maintained without a
/// scan.
public enum Analytics {
  /// The figures of a day, of an operator, or of a whole range.
  public struct Figures: Sendable, Equatable {
    public var sessions: Int64
    /// Those of the sessions that are closed.
    public var closed: Int64
    /// Of the closed sessions: an open one is counted when it closes.
    public var messages: Int64
    public var ratings: Int64
    /// The sum of ratings from 1 to 5.
    public var rated: Int64
    /// P50 and P90 of waiting, first response and resolution, in milliseconds; nil without data.
    public var times: [Int64?]

    static let timeColumns = 6
  }

  /// Whether a conversation has changed that is not counted yet.
  public static let isPending = Statement(
    Query("SELECT EXISTS (SELECT FROM chat_analytics_pending)")
  ) { $0.isEmpty ? false : $0.bool(0, 0) ?? false }

  /// Counts at most `limit` pending changes, the oldest first. Returns their number: fewer than the
  /// limit are the last ones. Nil if another gateway counts for longer than `patience` ms.
  public static func count(limit: Int64, patience: Int64 = 0) -> Statement<Int64?> {
    Statement(
      Query(
        "SELECT chirrup_count($1::bigint::integer, $2::bigint::integer)",
        [.int(limit), .int(patience)])
    ) { $0.isEmpty ? nil : $0.int(0, 0) }
  }

  /// Recomputes all figures of a workspace; returns the number of conversations. Pending changes
  /// are deleted afterwards, under the lock of the counting.
  public static func recompute(_ workspace: Identifier) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH counted AS MATERIALIZED (SELECT chirrup_recompute($1::uuid) AS sessions), gone AS (
          DELETE FROM chat_analytics_pending
          WHERE workspace_id = $1::uuid AND (SELECT sessions FROM counted) IS NOT NULL)
        SELECT sessions FROM counted
        """, [.uuid(workspace)])
    ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }
  }

  public typealias DayRange = (
    from: String, to: String, days: Int64, timeZone: String, countedAt: WallTime?
  )

  /// Resolves a range of days; by default the last 30 days until today. `countedAt`: every change
  /// until then is counted.
  public static func range(
    _ workspace: Identifier, from: String?, to: String?, now: WallTime
  ) -> Statement<DayRange?> {
    Statement(
      Query(
        """
        SELECT r.first::text, r.last::text, (r.last - r.first + 1)::bigint, z.name, coalesce(
          (SELECT noted_at FROM chat_analytics_pending ORDER BY id LIMIT 1), now())
        FROM (SELECT chirrup_time_zone($1::uuid) AS name OFFSET 0) AS z
        CROSS JOIN LATERAL (
          SELECT coalesce($3::text::date, greatest($2::text::date,
            least($2::text::date + 365, ($4::timestamptz AT TIME ZONE z.name)::date))) AS last
          OFFSET 0) AS l
        CROSS JOIN LATERAL (
          SELECT coalesce($2::text::date, l.last - 29) AS first, l.last) AS r
        """, [.uuid(workspace), .text(from), .text(to), .time(now)])
    ) { rows in
      guard !rows.isEmpty, let from = rows.text(0, 0), let to = rows.text(0, 1),
        let days = rows.int(0, 2), let zone = rows.text(0, 3)
      else { return nil }
      return (from, to, days, zone, rows.time(0, 4))
    }
  }

  /// Every day of the range, including days without conversations; the last row (`day` is nil) is
  /// the whole range.
  public static func days(
    _ workspace: Identifier, from: String, to: String
  ) -> Statement<[(day: String?, figures: Figures)]> {
    Statement(
      Query(
        """
        SELECT d.day::date::text, coalesce(a.sessions, 0)::bigint,
          (SELECT coalesce(sum(b.sessions), 0)::bigint FROM chat_analytics_buckets b
            WHERE b.workspace_id = $1::uuid AND b.day = d.day::date
              AND b.operator_id = '00000000-0000-0000-0000-000000000000'
              AND b.metric = 'resolution'),
          coalesce(a.messages, 0)::bigint, coalesce(a.csat_count, 0)::bigint,
          coalesce(a.csat_sum, 0)::bigint, a.wait_p50_ms,
          a.wait_p90_ms, a.first_response_p50_ms, a.first_response_p90_ms, a.resolution_p50_ms,
          a.resolution_p90_ms
        FROM generate_series($2::text::date, $3::text::date, interval '1 day') AS d (day)
        LEFT JOIN chat_analytics a ON a.workspace_id = $1::uuid AND a.day = d.day::date
          AND a.operator_id = '00000000-0000-0000-0000-000000000000'
        UNION ALL
        SELECT NULL, s.*, t[1], t[2], t[3], t[4], t[5], t[6]
        FROM (
          SELECT coalesce(sum(sessions), 0)::bigint,
            (SELECT coalesce(sum(b.sessions), 0)::bigint FROM chat_analytics_buckets b
              WHERE b.workspace_id = $1::uuid AND b.day BETWEEN $2::text::date AND $3::text::date
                AND b.operator_id = '00000000-0000-0000-0000-000000000000'
                AND b.metric = 'resolution'),
            coalesce(sum(messages), 0)::bigint, coalesce(sum(csat_count), 0)::bigint,
            coalesce(sum(csat_sum), 0)::bigint
          FROM chat_analytics WHERE workspace_id = $1::uuid
            AND day BETWEEN $2::text::date AND $3::text::date
            AND operator_id = '00000000-0000-0000-0000-000000000000') AS s,
          chirrup_times($1::uuid, $2::text::date, $3::text::date,
            '00000000-0000-0000-0000-000000000000') AS t
        ORDER BY 1 NULLS LAST
        """, [.uuid(workspace), .text(from), .text(to)])
    ) { rows in (0..<rows.count).map { (rows.text($0, 0), Figures(rows, $0, from: 1)) } }
  }

  /// The number of new conversations by weekday (Monday first) and hour.
  public static func hours(
    _ workspace: Identifier, from: String, to: String
  ) -> Statement<[[Int64]]> {
    Statement(
      Query(
        """
        SELECT extract(isodow FROM day)::integer, bucket, sum(sessions)::bigint
        FROM chat_analytics_buckets
        WHERE workspace_id = $1::uuid AND day BETWEEN $2::text::date AND $3::text::date
          AND operator_id = '00000000-0000-0000-0000-000000000000' AND metric = 'hour'
        GROUP BY 1, 2
        """, [.uuid(workspace), .text(from), .text(to)])
    ) { rows in
      var hours = Array(repeating: [Int64](repeating: 0, count: 24), count: 7)
      for row in 0..<rows.count {
        guard let day = rows.int(row, 0), let hour = rows.int(row, 1),
          let count = rows.int(row, 2), (1...7).contains(day), (0...23).contains(hour)
        else { continue }
        hours[Int(day) - 1][Int(hour)] = count
      }
      return hours
    }
  }

  public typealias OperatorFigures = (id: Identifier, name: String, figures: Figures)

  /// Operators with a conversation in the range, the busiest first.
  public static func operators(
    _ workspace: Identifier, from: String, to: String, limit: Int
  ) -> Statement<[OperatorFigures]> {
    Statement(
      Query(
        """
        WITH s AS (
          SELECT operator_id, sum(sessions)::bigint AS sessions, sum(messages)::bigint AS messages,
            sum(csat_count)::bigint AS ratings, sum(csat_sum)::bigint AS rated
          FROM chat_analytics WHERE workspace_id = $1::uuid
            AND day BETWEEN $2::text::date AND $3::text::date
            AND operator_id <> '00000000-0000-0000-0000-000000000000'
          GROUP BY operator_id ORDER BY 2 DESC, operator_id LIMIT $4::bigint
        ), buckets AS (
          SELECT operator_id, metric, bucket, sum(sessions) AS sessions
          FROM chat_analytics_buckets
          WHERE workspace_id = $1::uuid AND day BETWEEN $2::text::date AND $3::text::date
          GROUP BY operator_id, metric, bucket
        ), sums AS (
          SELECT operator_id, metric, bucket,
            sum(sessions) OVER (PARTITION BY operator_id, metric ORDER BY bucket) AS upto,
            sum(sessions) OVER (PARTITION BY operator_id, metric) AS whole
          FROM buckets
        ), ends AS (
          SELECT operator_id, metric,
            chirrup_bucket_end(min(bucket) FILTER (WHERE upto >= 0.5 * whole)) AS p50,
            chirrup_bucket_end(min(bucket) FILTER (WHERE upto >= 0.9 * whole)) AS p90
          FROM sums GROUP BY operator_id, metric
        )
        SELECT s.operator_id, coalesce(o.name, ''), s.sessions,
          (SELECT coalesce(sum(b.sessions), 0)::bigint FROM buckets b
            WHERE b.operator_id = s.operator_id AND b.metric = 'resolution'),
          s.messages, s.ratings, s.rated,
          w.p50, w.p90, f.p50, f.p90, r.p50, r.p90
        FROM s
        LEFT JOIN ends w ON w.operator_id = s.operator_id AND w.metric = 'wait'
        LEFT JOIN ends f ON f.operator_id = s.operator_id AND f.metric = 'first_response'
        LEFT JOIN ends r ON r.operator_id = s.operator_id AND r.metric = 'resolution'
        LEFT JOIN operators o ON o.id = s.operator_id
        ORDER BY s.sessions DESC, s.operator_id
        """, [.uuid(workspace), .text(from), .text(to), .int(Int64(limit))])
    ) { rows in
      (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).map { ($0, rows.text(row, 1) ?? "", Figures(rows, row, from: 2)) }
      }
    }
  }
}

extension Analytics.Figures {
  /// Columns: sessions, closed sessions, messages, ratings, sum of ratings, the six times.
  init(_ rows: Rows, _ row: Int, from column: Int) {
    sessions = rows.int(row, column) ?? 0
    closed = rows.int(row, column + 1) ?? 0
    messages = rows.int(row, column + 2) ?? 0
    ratings = rows.int(row, column + 3) ?? 0
    rated = rows.int(row, column + 4) ?? 0
    times = (0..<Analytics.Figures.timeColumns).map { rows.int(row, column + 5 + $0) }
  }
}
