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
}
