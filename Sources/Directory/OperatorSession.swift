import Postgres
public import Primitives

/// A login in a browser: the cookie's secret is known to the database only by its hash.
public enum OperatorSession {
  public static func create(
    tokenHash: [UInt8], operator id: Identifier, workspace: Identifier, expiresAt: WallTime
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO operator_sessions (token_hash, operator_id, workspace_id, expires_at)
        VALUES ($1::bytea, $2::uuid, $3::uuid, $4::timestamptz)
        """, [.bytes(tokenHash), .uuid(id), .uuid(workspace), .time(expiresAt)]))
  }

  /// The member who logged in, unless the login ended, or the account was disabled or left since.
  public static func find(tokenHash: [UInt8], now: WallTime) -> Statement<Operator?> {
    Statement(
      Query(
        """
        SELECT o.id, o.email, o.name, m.role, m.workspace_id,
          left(encode(sha256(convert_to(coalesce(o.password_hash, ''), 'UTF8')), 'hex'), 16),
          o.must_change_password
        FROM operator_sessions s
        JOIN operators o ON o.id = s.operator_id
        JOIN memberships m ON m.operator_id = s.operator_id AND m.workspace_id = s.workspace_id
        WHERE s.token_hash = $1::bytea AND s.expires_at > $2::timestamptz AND o.disabled_at IS NULL
        """, [.bytes(tokenHash), .time(now)])
    ) { Operator($0) }
  }

  /// Ends this login, and forgets those of the same operator that ended by themselves.
  public static func end(tokenHash: [UInt8], now: WallTime) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH ended AS (
          DELETE FROM operator_sessions WHERE token_hash = $1::bytea RETURNING operator_id
        )
        DELETE FROM operator_sessions s USING ended
        WHERE s.operator_id = ended.operator_id AND s.expires_at <= $2::timestamptz
          AND s.token_hash <> $1::bytea
        """, [.bytes(tokenHash), .time(now)]))
  }
}
