import Postgres
public import Primitives

/// Visitors' refresh secrets outside a visit. `Visit` issues and exchanges them.
public enum RefreshToken {
  /// Issues the first secret of a new family.
  public static func issue(
    _ refresh: Visit.Refresh, family: Identifier, visitor: Identifier, workspace: Identifier,
    session: Identifier, now: WallTime
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO refresh_tokens
          (token_hash, family, visitor_id, workspace_id, session_id, created_at, expires_at)
        VALUES ($1::bytea, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::timestamptz, $7::timestamptz)
        """,
        [
          .bytes(refresh.hash), .uuid(family), .uuid(visitor), .uuid(workspace), .uuid(session),
          .time(now), .time(refresh.expiresAt),
        ]))
  }

  /// Deletes up to `limit` expired secrets; returns their number.
  public static func forgetExpired(now: WallTime, limit: Int) -> Statement<Int> {
    Statement(
      Query(
        """
        WITH expired AS (
          SELECT token_hash FROM refresh_tokens WHERE expires_at <= $1::timestamptz
          ORDER BY expires_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED
        ), gone AS (
          DELETE FROM refresh_tokens t USING expired e WHERE t.token_hash = e.token_hash
          RETURNING t.token_hash
        )
        SELECT count(*) FROM gone
        """, [.time(now), .int(Int64(limit))])
    ) { Int($0.int(0, 0) ?? 0) }
  }
}
