import Postgres
public import Primitives

/// A login in a browser: the cookie's secret is known to the database only by its hash.
public enum OperatorSession {
  /// For an account that still has this password hash and is not disabled: answers false when the
  /// password was changed while it was checked. A change that commits later makes the login
  /// worthless, because it carries the credential of its password.
  public static func create(
    tokenHash: [UInt8], operator id: Identifier, workspace: Identifier, passwordHash: String,
    expiresAt: WallTime
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        INSERT INTO operator_sessions
          (token_hash, operator_id, workspace_id, expires_at, credential)
        SELECT $1::bytea, m.operator_id, m.workspace_id, $4::timestamptz,
          left(encode(sha256(convert_to(o.password_hash, 'UTF8')), 'hex'), 16)
        FROM memberships m JOIN operators o ON o.id = m.operator_id
        WHERE m.operator_id = $2::uuid AND m.workspace_id = $3::uuid AND o.disabled_at IS NULL
          AND o.password_hash = $5::text
        RETURNING true
        """,
        [
          .bytes(tokenHash), .uuid(id), .uuid(workspace), .time(expiresAt), .text(passwordHash),
        ])
    ) { !$0.isEmpty }
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
          AND (s.credential IS NULL OR s.credential
            = left(encode(sha256(convert_to(coalesce(o.password_hash, ''), 'UTF8')), 'hex'), 16))
        """, [.bytes(tokenHash), .time(now)])
    ) { Operator($0) }
  }

  /// Ends this login, and forgets those of the same operator that ended by themselves. Answers
  /// whose it was.
  public static func end(tokenHash: [UInt8], now: WallTime) -> Statement<Identifier?> {
    Statement(
      Query(
        """
        WITH ended AS (
          DELETE FROM operator_sessions WHERE token_hash = $1::bytea RETURNING operator_id
        ), forgotten AS (
          DELETE FROM operator_sessions s USING ended
          WHERE s.operator_id = ended.operator_id AND s.expires_at <= $2::timestamptz
            AND s.token_hash <> $1::bytea
        )
        SELECT operator_id FROM ended
        """, [.bytes(tokenHash), .time(now)])
    ) { $0.isEmpty ? nil : $0.uuid(0, 0) }
  }
}
