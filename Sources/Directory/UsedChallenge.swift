import Postgres
public import Primitives

/// Challenges that were answered (`used_challenges`): none is accepted twice.
public enum UsedChallenge {
  /// Notes a challenge, and forgets some that have expired. False if it was noted before.
  ///
  /// - Parameters:
  ///   - digest: its digest.
  ///   - expiry: after it the challenge is refused without this record.
  public static func note(
    _ digest: [UInt8], until expiry: WallTime, now: WallTime
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH fresh AS (
          INSERT INTO used_challenges (digest, expires_at) VALUES ($1::bytea, $2::timestamptz)
          ON CONFLICT DO NOTHING RETURNING digest
        ), forgotten AS (
          DELETE FROM used_challenges WHERE digest IN (
            SELECT digest FROM used_challenges WHERE expires_at <= $3::timestamptz
            LIMIT 100 FOR UPDATE SKIP LOCKED)
        )
        SELECT EXISTS (SELECT FROM fresh)
        """, [.bytes(digest), .time(expiry), .time(now)])
    ) { !$0.isEmpty && $0.bool(0, 0) == true }
  }
}
