import Postgres
public import Primitives

/// A login in a browser. The database has only the hash of the cookie's secret.
public enum OperatorSession {
  /// Creates a login, if the account still has this password hash and is not disabled; otherwise
  /// returns false. If the password changes later, `find` refuses the login by its credential.
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
          \(Operator.credential(of: "o.password_hash"))
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

  /// The member of a login; nil if it has expired, or if the account was disabled, left the
  /// workspace or changed its password.
  public static func find(tokenHash: [UInt8], now: WallTime) -> Statement<Operator?> {
    Statement(
      Query(
        """
        SELECT o.id, o.email, o.name, m.role, m.workspace_id,
          \(Operator.credential(of: "o.password_hash")),
          o.must_change_password
        FROM operator_sessions s
        JOIN operators o ON o.id = s.operator_id
        JOIN memberships m ON m.operator_id = s.operator_id AND m.workspace_id = s.workspace_id
        WHERE s.token_hash = $1::bytea AND s.expires_at > $2::timestamptz AND o.disabled_at IS NULL
          AND (s.credential IS NULL OR s.credential
            = \(Operator.credential(of: "o.password_hash")))
        """, [.bytes(tokenHash), .time(now)])
    ) { Operator($0) }
  }

  /// Ends a login and deletes expired ones of the same operator. Returns the operator; nil if there
  /// is no such login.
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
