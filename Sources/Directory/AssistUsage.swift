import Postgres
public import Primitives

/// The tokens that the drafts of a workspace have cost (`assist_usage`), by day and month in UTC.
///
/// A request reserves the most that it can cost before it is sent, and is settled afterwards. So
/// simultaneous requests, also of several gateways, cannot exceed a limit, and what a crashed
/// gateway had reserved counts as spent.
public enum AssistUsage {
  /// Days after which counts are deleted.
  static let daysKept: Int64 = 400

  /// The tokens of today and of this month.
  public struct Spent: Sendable, Equatable {
    public var today: Int64
    public var month: Int64
  }

  public static func spent(in workspace: Identifier) -> Statement<Spent> {
    Statement(
      Query(
        """
        WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day)
        SELECT coalesce(sum(tokens) FILTER (WHERE u.day = t.day), 0)::bigint,
          coalesce(sum(tokens), 0)::bigint
        FROM assist_usage u, today t
        WHERE workspace_id = $1::uuid AND u.day >= date_trunc('month', t.day)::date
          AND u.day <= t.day
        """, [.uuid(workspace)])
    ) { Spent(today: $0.int(0, 0) ?? 0, month: $0.int(0, 1) ?? 0) }
  }

  /// Reserves tokens, and counts a request.
  ///
  /// - Returns: the day on which they count; nil if they exceed a limit.
  public static func reserve(
    _ tokens: Int64, perDay: Int64, perMonth: Int64, in workspace: Identifier
  ) -> Statement<String?> {
    Statement(
      Query(
        """
        WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day), earlier AS (
          SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM assist_usage u, today t
          WHERE workspace_id = $1::uuid AND u.day >= date_trunc('month', t.day)::date
            AND u.day < t.day
        ), gone AS (
          DELETE FROM assist_usage u USING today t
          WHERE workspace_id = $1::uuid AND u.day < t.day - $5::bigint::integer
        )
        INSERT INTO assist_usage AS u (workspace_id, day, requests, tokens)
        SELECT $1::uuid, t.day, 1, $2::bigint FROM today t, earlier e
        WHERE $2::bigint <= $3::bigint AND e.tokens + $2::bigint <= $4::bigint
        ON CONFLICT (workspace_id, day) DO UPDATE
          SET requests = u.requests + 1, tokens = u.tokens + $2::bigint
          WHERE u.tokens + $2::bigint <= $3::bigint
            AND (SELECT tokens FROM earlier) + u.tokens + $2::bigint <= $4::bigint
        RETURNING u.day::text
        """,
        [.uuid(workspace), .int(tokens), .int(perDay), .int(perMonth), .int(daysKept)])
    ) { $0.isEmpty ? nil : $0.text(0, 0) }
  }

  /// Replaces reserved tokens by those that were spent.
  public static func settle(
    reserved: Int64, spent: Int64, day: String, in workspace: Identifier
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE assist_usage SET tokens = greatest(0, tokens + $3::bigint)
        WHERE workspace_id = $1::uuid AND day = $2::text::date
        """, [.uuid(workspace), .text(day), .int(spent - reserved)]))
  }
}
