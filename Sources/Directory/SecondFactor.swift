import Postgres
public import Primitives

/// The second factor of an account: an app for one-time codes (`second_factors`, its secret
/// sealed), or passkeys (`Passkey`); and recovery codes (`recovery_codes`), as digests, which
/// belong to the account and not to one of them.
///
/// Statements that depend on which factors and logins an account has take `Lock.account` first.
public enum SecondFactor {
  /// Recovery codes of one account.
  public static let recoveryCodes = 10
  /// How long a new secret waits for its first code.
  private static let pendingMinutes = 15

  public struct State: Sendable {
    /// Nil: the account has no second factor.
    public var secret: SecretBox.Sealed?
    /// A new secret that waits for its first code.
    public var pending: SecretBox.Sealed?
    /// The digests of the recovery codes that are left.
    public var recoveryDigests: [[UInt8]]
  }

  /// The SQL condition that the account has an app.
  static func hasApp(_ account: SQL) -> SQL {
    """
    EXISTS (SELECT FROM second_factors f WHERE f.operator_id = \(account) AND f.secret IS NOT NULL)
    """
  }

  /// The SQL condition that the account has a passkey.
  static func hasPasskey(_ account: SQL) -> SQL {
    "EXISTS (SELECT FROM passkeys k WHERE k.operator_id = \(account))"
  }

  /// The SQL condition that the account has a second factor: a password alone is not enough.
  static func exists(_ account: SQL) -> SQL {
    "(\(hasApp(account)) OR \(hasPasskey(account)))"
  }

  /// The SQL condition that a workspace of the account requires a second factor: the text of the
  /// setting `security`, as `WorkspaceSettings` writes it.
  static func isRequired(_ account: SQL) -> SQL {
    """
    EXISTS (SELECT FROM memberships m JOIN system_settings s
      ON s.workspace_id = m.workspace_id AND s.key = 'security'
        AND s.value ~ '"require_second_factor" *: *true'
      WHERE m.operator_id = \(account))
    """
  }

  /// Where a secret is stored, for `SecretBox`.
  public static func place(of operator: Identifier) -> String { "totp:\(`operator`)" }

  /// The text of which the digest of a recovery code is made.
  public static func recoveryText(_ code: String, of operator: Identifier) -> [UInt8] {
    Array("recovery:\(`operator`):\(code)".utf8)
  }

  public static func state(of operator: Identifier, now: WallTime) -> Statement<State> {
    Statement(
      Query(
        """
        SELECT f.key_id, f.secret,
          CASE WHEN f.pending_at > $2::timestamptz - make_interval(mins => $3::bigint::int)
            THEN f.pending_key_id END,
          f.pending_secret,
          (SELECT string_agg(encode(c.digest, 'hex'), ' ') FROM recovery_codes c
            WHERE c.operator_id = f.operator_id AND c.used_at IS NULL)
        FROM second_factors f WHERE f.operator_id = $1::uuid
        """, [.uuid(`operator`), .time(now), .int(Int64(pendingMinutes))])
    ) { rows in
      guard !rows.isEmpty else { return State(recoveryDigests: []) }
      func sealed(_ column: Int) -> SecretBox.Sealed? {
        guard let key = rows.text(0, column), let bytes = rows.bytes(0, column + 1) else {
          return nil
        }
        return SecretBox.Sealed(keyID: key, bytes: bytes)
      }
      let digests = (rows.text(0, 4) ?? "").split(separator: " ")
      return State(
        secret: sealed(0), pending: sealed(2),
        recoveryDigests: digests.compactMap { [UInt8](hexadecimal: String($0)) })
    }
  }

  /// Stores a new secret. A confirmed one stays valid until the new one is confirmed.
  public static func begin(
    _ secret: SecretBox.Sealed, of operator: Identifier, now: WallTime
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO second_factors (operator_id, pending_key_id, pending_secret, pending_at)
        VALUES ($1::uuid, $2::text, $3::bytea, $4::timestamptz)
        ON CONFLICT (operator_id) DO UPDATE SET pending_key_id = excluded.pending_key_id,
          pending_secret = excluded.pending_secret, pending_at = excluded.pending_at
        """, [.uuid(`operator`), .text(secret.keyID), .bytes(secret.bytes), .time(now)]))
  }

  /// Puts the new secret into use after its first code, replaces the recovery codes, and ends the
  /// account's other logins, which were made without it. False if another request has replaced the
  /// new secret.
  ///
  /// - Parameters:
  ///   - step: that of the code, which is used up.
  ///   - kept: the hash of the cookie's secret of the login that stays.
  public static func confirm(
    _ secret: SecretBox.Sealed, step: Int64, recoveryDigests: [[UInt8]], keptLogin kept: [UInt8]?,
    now: WallTime, by actor: AuditActor
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH confirmed AS (
          UPDATE second_factors SET key_id = pending_key_id, secret = pending_secret,
            last_step = $5::bigint, confirmed_at = $8::timestamptz, pending_key_id = NULL,
            pending_secret = NULL, pending_at = NULL
          WHERE operator_id = $2::uuid AND pending_secret = $4::bytea
          RETURNING operator_id
        ), replaced AS (
          DELETE FROM recovery_codes r USING confirmed c WHERE r.operator_id = c.operator_id
        ), codes AS (
          INSERT INTO recovery_codes (operator_id, digest)
          SELECT c.operator_id, decode(d.digest, 'hex')
          FROM confirmed c, string_to_table($6::text, ' ') AS d (digest)
        ), ended AS (
          DELETE FROM operator_sessions s USING confirmed c
          WHERE s.operator_id = c.operator_id AND s.token_hash IS DISTINCT FROM $7::bytea
        ), enrolled AS (
          UPDATE operator_sessions s SET must_enrol = false FROM confirmed c
          WHERE s.operator_id = c.operator_id AND s.token_hash = $7::bytea
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'second_factor.added', operator_id FROM confirmed
        RETURNING true
        """,
        actor.parameters + [
          .bytes(secret.bytes), .int(step), .text(text(recoveryDigests)),
          kept.map { .bytes($0) } ?? .null, .time(now),
        ]
      ).after(.account(actor.id))
    ) { !$0.isEmpty }
  }

  /// Uses up a code of the app. False if this code or a later one was used before.
  public static func use(step: Int64, of operator: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        """
        UPDATE second_factors SET last_step = $2::bigint
        WHERE operator_id = $1::uuid AND last_step < $2::bigint AND secret IS NOT NULL
        RETURNING true
        """, [.uuid(`operator`), .int(step)])
    ) { !$0.isEmpty }
  }

  /// Uses up a recovery code. False if it was used before.
  public static func useRecoveryCode(
    _ digest: [UInt8], of operator: Identifier, workspace: Identifier, now: WallTime
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH used AS (
          UPDATE recovery_codes SET used_at = $4::timestamptz
          WHERE operator_id = $1::uuid AND digest = $3::bytea AND used_at IS NULL
          RETURNING operator_id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $2::uuid, operator_id, 'operator', 'recovery_code.used', jsonb_build_object('left',
          (SELECT count(*) - 1 FROM recovery_codes r
            WHERE r.operator_id = $1::uuid AND r.used_at IS NULL))
        FROM used RETURNING true
        """, [.uuid(`operator`), .uuid(workspace), .bytes(digest), .time(now)])
    ) { !$0.isEmpty }
  }

  /// Replaces the recovery codes; false if the account has no second factor.
  public static func replaceRecoveryCodes(
    _ digests: [[UInt8]], by actor: AuditActor
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH factor AS (
          SELECT operator_id FROM second_factors
          WHERE operator_id = $2::uuid AND \(exists("$2::uuid"))
        ), replaced AS (
          DELETE FROM recovery_codes r USING factor f WHERE r.operator_id = f.operator_id
        ), codes AS (
          INSERT INTO recovery_codes (operator_id, digest)
          SELECT f.operator_id, decode(d.digest, 'hex')
          FROM factor f, string_to_table($4::text, ' ') AS d (digest)
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'recovery_codes.replaced', operator_id FROM factor
        RETURNING true
        """, actor.parameters + [.text(text(digests))]
      ).after(.account(actor.id))
    ) { !$0.isEmpty }
  }

  public enum Removal: String, Sendable {
    case done
    /// It is the account's last factor, and a workspace of the account requires one.
    case last
    case none
  }

  /// Removes the app of the operator who is the actor. With the last factor the recovery codes go.
  public static func removeApp(by actor: AuditActor) -> Statement<Removal> {
    Statement(
      Query(
        """
        WITH cleared AS (
          UPDATE second_factors SET key_id = NULL, secret = NULL, confirmed_at = NULL
          WHERE operator_id = $2::uuid AND secret IS NOT NULL AND \(hasPasskey("$2::uuid"))
          RETURNING operator_id
        ), removed AS (
          DELETE FROM second_factors
          WHERE operator_id = $2::uuid AND secret IS NOT NULL AND NOT \(hasPasskey("$2::uuid"))
            AND NOT \(isRequired("$2::uuid"))
          RETURNING operator_id
        ), gone AS (
          SELECT operator_id FROM cleared UNION ALL SELECT operator_id FROM removed
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text, 'second_factor.removed', operator_id FROM gone
        )
        SELECT CASE WHEN EXISTS (SELECT FROM gone) THEN 'done'
          WHEN \(hasApp("$2::uuid")) THEN 'last' ELSE 'none' END
        """, actor.parameters
      ).after(.factorRules(for: actor.id), .account(actor.id))
    ) { $0.text(0, 0).flatMap { Removal(rawValue: $0) } ?? .none }
  }

  public enum Reset: String, Sendable {
    /// App and passkeys are removed, and the member's logins have ended.
    case done
    /// The member has none.
    case none
    /// The account is also a member of other workspaces, whose protection it is as well.
    case shared
  }

  /// Removes the second factor of a member who has lost it, and ends the member's logins. Nil if
  /// the workspace has no such member.
  public static func reset(_ member: Identifier, by actor: AuditActor) -> Statement<Reset?> {
    Statement(
      Query(
        """
        WITH verdict AS (
          SELECT m.operator_id AS id, CASE
            WHEN EXISTS (SELECT FROM memberships x WHERE x.operator_id = m.operator_id
              AND x.workspace_id <> $1::uuid) THEN 'shared'
            WHEN NOT \(exists("m.operator_id")) THEN 'none'
            ELSE 'done' END AS word
          FROM memberships m WHERE m.workspace_id = $1::uuid AND m.operator_id = $4::uuid
        ), removed AS (
          DELETE FROM second_factors f USING verdict v
          WHERE v.word = 'done' AND f.operator_id = v.id
        ), passkeys_removed AS (
          DELETE FROM passkeys k USING verdict v
          WHERE v.word = 'done' AND k.operator_id = v.id
        ), ended AS (
          DELETE FROM operator_sessions s USING verdict v
          WHERE v.word = 'done' AND s.operator_id = v.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text, 'second_factor.reset', id FROM verdict
          WHERE word = 'done'
        )
        SELECT word FROM verdict
        """, actor.parameters + [.uuid(member)]
      ).after(.account(member))
    ) { $0.isEmpty ? nil : $0.text(0, 0).flatMap { Reset(rawValue: $0) } }
  }

  /// The same by the command line, in all workspaces of the account; false if there is none.
  public static func reset(_ account: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH target AS (
          SELECT id FROM operators WHERE id = $1::uuid AND \(exists("$1::uuid"))
        ), removed AS (
          DELETE FROM second_factors f USING target t WHERE f.operator_id = t.id
        ), passkeys_removed AS (
          DELETE FROM passkeys k USING target t WHERE k.operator_id = t.id
        ), ended AS (
          DELETE FROM operator_sessions s USING target t WHERE s.operator_id = t.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor, action, target_id)
          SELECT m.workspace_id, 'command', 'second_factor.reset', m.operator_id
          FROM memberships m JOIN target t ON t.id = m.operator_id
        )
        SELECT count(*) FROM target
        """, [.uuid(account)]
      ).after(.account(account))
    ) { ($0.int(0, 0) ?? 0) > 0 }
  }

  static func text(_ digests: [[UInt8]]) -> String {
    digests.map(\.hexadecimal).joined(separator: " ")
  }
}
