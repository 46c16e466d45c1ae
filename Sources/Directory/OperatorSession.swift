public import Postgres
public import Primitives

/// A login in a browser. The database has only the hash of the cookie's secret.
public enum OperatorSession {
  /// The logins of one account; a further one ends the one that was used longest ago.
  public static let countMax: Int64 = 50

  /// The device and address of a login.
  public struct Client: Sendable, Equatable {
    /// Browser and system in words.
    public var device: String
    /// The address; of IPv6 the /64 prefix.
    public var address: String

    public init(device: String, address: String) {
      self.device = device
      self.address = address
    }
  }

  /// How a login was made.
  public struct Proof: Sendable {
    /// The kind of the second factor; nil: the password alone.
    public var factor: String?
    /// The workspace requires a second factor and the account has none yet.
    public var mustEnrol: Bool

    public init(factor: String? = nil, mustEnrol: Bool = false) {
      self.factor = factor
      self.mustEnrol = mustEnrol
    }
  }

  /// Creates a login, if the account still has this password hash (nil: none), has no second factor
  /// that was not checked, and is not disabled; otherwise returns false. If the password changes
  /// later, `find` refuses the login by its credential. Deletes the account's expired logins, and
  /// those beyond `countMax`.
  public static func create(
    tokenHash: [UInt8], operator id: Identifier, workspace: Identifier, passwordHash: String?,
    by proof: Proof = Proof(), from client: Client, now: WallTime, expiresAt: WallTime
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO operator_sessions (token_hash, operator_id, workspace_id, expires_at,
            credential, device, address, created_at, last_seen_at, must_enrol)
          SELECT $1::bytea, m.operator_id, m.workspace_id, $4::timestamptz,
            \(Operator.credential(of: "o.password_hash")), $6::text, $7::text, $8::timestamptz,
            $8::timestamptz, $11::boolean
          FROM memberships m JOIN operators o ON o.id = m.operator_id
          WHERE m.operator_id = $2::uuid AND m.workspace_id = $3::uuid AND o.disabled_at IS NULL
            AND o.password_hash IS NOT DISTINCT FROM $5::text
            AND ($10::text IS NOT NULL OR NOT \(SecondFactor.exists("o.id")))
          RETURNING workspace_id, operator_id
        ), superseded AS (
          DELETE FROM operator_sessions s USING made
          WHERE s.operator_id = made.operator_id AND (s.expires_at <= $8::timestamptz
            OR s.token_hash IN (
              SELECT token_hash FROM operator_sessions WHERE operator_id = $2::uuid
              ORDER BY last_seen_at DESC, token_hash OFFSET $9::bigint - 1))
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT workspace_id, operator_id, 'operator', 'login.succeeded',
          jsonb_strip_nulls(jsonb_build_object('device', $6::text, 'address', $7::text,
            'second_factor', $10::text))
        FROM made RETURNING true
        """,
        [
          .bytes(tokenHash), .uuid(id), .uuid(workspace), .time(expiresAt), .text(passwordHash),
          .text(client.device), .text(client.address), .time(now), .int(countMax),
          .text(proof.factor), .bool(proof.mustEnrol),
        ]
      ).after(.account(id))
    ) { !$0.isEmpty }
  }

  /// Condition: a login is in force. It has not expired, and the account is not disabled and has
  /// the password of that time. That the account is still a member is the statement's own join.
  ///
  /// - Parameters:
  ///   - s: the alias of a row of `operator_sessions`.
  ///   - o: that of its operator.
  public static func isValid(_ s: SQL, of o: SQL, at now: SQL) -> SQL {
    """
    \(s).expires_at > \(now) AND \(o).disabled_at IS NULL AND (\(s).credential IS NULL
      OR \(s).credential = \(Operator.credential(of: "\(o).password_hash")))
    """
  }

  /// The member of a login; nil if it has expired, or if the account was disabled, left the
  /// workspace or changed its password.
  public static func find(tokenHash: [UInt8], now: WallTime) -> Statement<Operator?> {
    Statement(
      Query(
        """
        SELECT o.id, o.email, o.name, m.role, m.workspace_id,
          \(Operator.credential(of: "o.password_hash")),
          o.must_change_password, s.must_enrol
        FROM operator_sessions s
        JOIN operators o ON o.id = s.operator_id
        JOIN memberships m ON m.operator_id = s.operator_id AND m.workspace_id = s.workspace_id
        WHERE s.token_hash = $1::bytea
          AND \(OperatorSession.isValid("s", of: "o", at: "$2::timestamptz"))
        """, [.bytes(tokenHash), .time(now)])
    ) { Operator($0) }
  }

  /// Whether the login began at this time or later.
  public static func began(
    tokenHash: [UInt8], since time: WallTime
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        SELECT EXISTS (SELECT FROM operator_sessions
          WHERE token_hash = $1::bytea AND created_at >= $2::timestamptz)
        """, [.bytes(tokenHash), .time(time)])
    ) { !$0.isEmpty && $0.bool(0, 0) == true }
  }

  /// Notes the time and the address of a request.
  public static func seen(
    tokenHash: [UInt8], address: String, now: WallTime
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE operator_sessions SET last_seen_at = $3::timestamptz, address = $2::text
        WHERE token_hash = $1::bytea AND last_seen_at < $3::timestamptz
        """, [.bytes(tokenHash), .text(address), .time(now)]))
  }

  /// Ends a login and deletes expired ones of the same operator. Returns the operator; nil if there
  /// is no such login.
  public static func end(tokenHash: [UInt8], now: WallTime) -> Statement<Identifier?> {
    Statement(
      Query(
        """
        WITH ended AS (
          DELETE FROM operator_sessions WHERE token_hash = $1::bytea
          RETURNING id, workspace_id, operator_id, device
        ), forgotten AS (
          DELETE FROM operator_sessions s USING ended
          WHERE s.operator_id = ended.operator_id AND s.expires_at <= $2::timestamptz
            AND s.token_hash <> $1::bytea
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT workspace_id, operator_id, 'operator', 'login.ended', id,
            jsonb_build_object('device', device, 'reason', 'logout')
          FROM ended
        )
        SELECT operator_id FROM ended
        """, [.bytes(tokenHash), .time(now)])
    ) { $0.isEmpty ? nil : $0.uuid(0, 0) }
  }
}

/// The logins of one account, as its owner sees and ends them.
extension OperatorSession {
  /// All logins of an account, this one first, then as they were last seen. Columns: id, whether it
  /// is this one, device, address, workspace, time of the login, last seen, expiry.
  ///
  /// - Parameter current: the hash of the cookie's secret of the caller's login; nil: none.
  public static func list(
    of id: Identifier, current: [UInt8]?, now: WallTime
  ) -> Query {
    Query(
      """
      SELECT s.id, s.token_hash IS NOT DISTINCT FROM $2::bytea AS is_current, s.device, s.address,
        w.name, s.created_at, s.last_seen_at, s.expires_at
      FROM operator_sessions s
      JOIN operators o ON o.id = s.operator_id
      JOIN workspaces w ON w.id = s.workspace_id
      WHERE s.operator_id = $1::uuid AND s.expires_at > $3::timestamptz
        AND (s.credential IS NULL OR s.credential
          = \(Operator.credential(of: "o.password_hash")))
      ORDER BY is_current DESC, s.last_seen_at DESC, s.id LIMIT $4::bigint
      """,
      [.uuid(id), current.map { .bytes($0) } ?? .null, .time(now), .int(2 * countMax)])
  }

  /// Ends one login of the operator who is the actor; false if there is none with this id.
  public static func end(_ session: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH ended AS (
          DELETE FROM operator_sessions WHERE id = $4::uuid AND operator_id = $2::uuid
          RETURNING id, device
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'login.ended', id,
          jsonb_build_object('device', device, 'reason', 'ended')
        FROM ended RETURNING true
        """, actor.parameters + [.uuid(session)])
    ) { !$0.isEmpty }
  }

  /// Ends all logins of the operator who is the actor, except one; returns their number.
  ///
  /// - Parameter kept: the hash of the cookie's secret of the login that stays; nil: all end.
  public static func endOthers(than kept: [UInt8]?, by actor: AuditActor) -> Statement<Int> {
    Statement(
      Query(
        """
        WITH ended AS (
          DELETE FROM operator_sessions
          WHERE operator_id = $2::uuid AND token_hash IS DISTINCT FROM $4::bytea
          RETURNING id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'login.others_ended',
            jsonb_build_object('logins', count(*))
          FROM ended HAVING count(*) > 0
        )
        SELECT count(*) FROM ended
        """, actor.parameters + [kept.map { .bytes($0) } ?? .null])
    ) { Int($0.int(0, 0) ?? 0) }
  }
}
