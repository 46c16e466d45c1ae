import Postgres
public import Primitives

/// The analytics of a workspace by day in its time zone (`chat_analytics`, its buckets, and those
/// of teams and tags). The migrations 20261124_count_analytics, 20270120_count_by_sets and
/// 20270320_analytics_groups explain how they are maintained without a scan.
///
/// Every figure of a period counts the conversations that began in it, whatever their status: those
/// whose first message is of one of its days. A figure that only some of them have, such as the
/// time to resolution, has the number of these beside it.
public enum Analytics {
  /// The figures of a day, of an operator, a team or a tag, or of a whole period.
  public struct Figures: Sendable, Equatable {
    /// Conversations that began.
    public var sessions: Int64 = 0
    /// Those of them that an operator has claimed, answered and closed.
    public var claimed: Int64 = 0
    public var answered: Int64 = 0
    public var closed: Int64 = 0
    public var messages: Int64 = 0
    /// The number of ratings with 1 to 5 stars.
    public var stars: [Int64] = [0, 0, 0, 0, 0]
    /// P50 and P90 of waiting, first response and resolution, in milliseconds; nil without data.
    public var times: [Int64?] = [nil, nil, nil, nil, nil, nil]

    public init() {}

    public var ratings: Int64 { stars.reduce(0, +) }
    /// The sum of all ratings.
    public var rated: Int64 { zip(1..., stars).reduce(0) { $0 + Int64($1.0) * $1.1 } }
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

  /// Resolves a range of days; without `from` it has `days` days, by default until today.
  /// `countedAt`: every change until then is counted.
  public static func range(
    _ workspace: Identifier, from: String?, to: String?, days: Int64 = 30, now: WallTime
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
          SELECT coalesce($2::text::date, l.last - $5::bigint::integer + 1) AS first, l.last)
          AS r
        """, [.uuid(workspace), .text(from), .text(to), .time(now), .int(days)])
    ) { rows in
      guard !rows.isEmpty, let from = rows.text(0, 0), let to = rows.text(0, 1),
        let days = rows.int(0, 2), let zone = rows.text(0, 3)
      else { return nil }
      return (from, to, days, zone, rows.time(0, 4))
    }
  }

  /// Every day of the range, including days without conversations.
  public static func days(
    _ workspace: Identifier, from: String, to: String
  ) -> Statement<[(day: String, figures: Figures)]> {
    Statement(Query(daysSQL, [.uuid(workspace), .text(from), .text(to)])) { rows in
      (0..<rows.count).map { (rows.text($0, 0) ?? "", Figures(rows, $0, from: 1)) }
    }
  }

  private static let daysSQL: SQL = """
    WITH counts AS MATERIALIZED (
      SELECT b.day, \(numbers(of: "b.sessions"))
      FROM chat_analytics_buckets b
      WHERE b.workspace_id = $1::uuid AND b.day BETWEEN $2::text::date AND $3::text::date
        AND b.operator_id = '00000000-0000-0000-0000-000000000000' AND b.metric <> 'hour'
      GROUP BY b.day
    ), open AS MATERIALIZED (
      \(openMessages(by: "f.day", from: "$2::text::date"))
    )
    SELECT d.day::date::text, coalesce(a.sessions, 0)::bigint, c.claimed, c.answered,
      c.closed, (coalesce(a.messages, 0) + coalesce(o.amount, 0))::bigint,
      c.stars1, c.stars2, c.stars3, c.stars4, c.stars5, a.wait_p50_ms, a.wait_p90_ms,
      a.first_response_p50_ms, a.first_response_p90_ms, a.resolution_p50_ms, a.resolution_p90_ms
    FROM generate_series($2::text::date, $3::text::date, interval '1 day') AS d (day)
    LEFT JOIN chat_analytics a ON a.workspace_id = $1::uuid AND a.day = d.day::date
      AND a.operator_id = '00000000-0000-0000-0000-000000000000'
    LEFT JOIN counts c ON c.day = d.day::date
    LEFT JOIN open o ON o.key = d.day::date
    ORDER BY d.day
    """

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
}
