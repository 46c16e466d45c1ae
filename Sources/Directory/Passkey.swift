public import Postgres
public import Primitives

/// A passkey of an operator (`passkeys`): a key pair in an authenticator, of which the database has
/// the public key (WebAuthn §1.2).
public struct Passkey: Sendable {
  /// Passkeys of one account.
  public static let countMax: Int64 = 20

  public var id: Identifier
  public var account: Identifier
  /// SubjectPublicKeyInfo in DER.
  public var publicKey: [UInt8]
  /// Of COSE.
  public var algorithm: Int64
}

extension Passkey {
  /// A passkey as the browser describes it to others.
  public struct Descriptor: Sendable {
    public var credentialID: [UInt8]
    public var transports: [String]
  }

  /// A new passkey.
  public struct New: Sendable {
    public var relyingParty: String
    public var credentialID: [UInt8]
    public var publicKey: [UInt8]
    public var algorithm: Int64
    public var signCount: Int64
    public var isSynced: Bool
    public var transports: [String]
    public var name: String

    public init(
      relyingParty: String, credentialID: [UInt8], publicKey: [UInt8], algorithm: Int64,
      signCount: Int64, isSynced: Bool, transports: [String], name: String
    ) {
      self.relyingParty = relyingParty
      self.credentialID = credentialID
      self.publicKey = publicKey
      self.algorithm = algorithm
      self.signCount = signCount
      self.isSynced = isSynced
      self.transports = transports
      self.name = name
    }
  }

  /// The passkeys of an account, oldest first. Columns: id, name, host name, whether it is synced,
  /// creation, last use.
  public static func list(of account: Identifier) -> Query {
    Query(
      """
      SELECT id, name, relying_party, is_synced, created_at, last_used_at FROM passkeys
      WHERE operator_id = $1::uuid ORDER BY created_at, id LIMIT $2::bigint
      """, [.uuid(account), .int(countMax)])
  }

  public static func descriptors(
    of account: Identifier, relyingParty: String
  ) -> Statement<[Descriptor]> {
    Statement(
      Query(
        """
        SELECT credential_id, transports FROM passkeys
        WHERE operator_id = $1::uuid AND relying_party = $2::text
        ORDER BY created_at, id LIMIT $3::bigint
        """, [.uuid(account), .text(relyingParty), .int(countMax)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        rows.bytes(row, 0).map { id in
          Descriptor(
            credentialID: id,
            transports: (rows.text(row, 1) ?? "").split(separator: " ").map { String($0) })
        }
      }
    }
  }

  public static func find(
    credentialID: [UInt8], relyingParty: String
  ) -> Statement<Passkey?> {
    Statement(
      Query(
        """
        SELECT id, operator_id, public_key, algorithm::bigint FROM passkeys
        WHERE credential_id = $1::bytea AND relying_party = $2::text
        """, [.bytes(credentialID), .text(relyingParty)])
    ) { rows in
      guard !rows.isEmpty, let id = rows.uuid(0, 0), let account = rows.uuid(0, 1),
        let key = rows.bytes(0, 2), let algorithm = rows.int(0, 3)
      else { return nil }
      return Passkey(id: id, account: account, publicKey: key, algorithm: algorithm)
    }
  }

  public enum Addition: Sendable, Equatable {
    /// The account's first factor: it has the new recovery codes, and its other logins have ended.
    case first(Identifier)
    case further(Identifier)
    /// The account has `countMax`, or the passkey is known already.
    case refused
  }

  /// Adds a passkey to the account of the operator who is the actor.
  ///
  /// - Parameters:
  ///   - recoveryDigests: stored if it is the account's first factor.
  ///   - kept: the hash of the cookie's secret of the login that stays.
  public static func add(
    _ new: New, recoveryDigests: [[UInt8]], keptLogin kept: [UInt8]?, now: WallTime,
    by actor: AuditActor
  ) -> Statement<Addition> {
    Statement(
      Query(
        """
        WITH state AS (
          SELECT NOT \(SecondFactor.exists("$2::uuid")) AS is_first,
            (SELECT count(*) FROM passkeys WHERE operator_id = $2::uuid) AS number
        ), made AS (
          INSERT INTO passkeys (operator_id, relying_party, credential_id, public_key, algorithm,
            sign_count, is_synced, transports, name, created_at)
          SELECT $2::uuid, $4::text, $5::bytea, $6::bytea, $7::bigint, $8::bigint, $9::boolean,
            $10::text, $11::text, $12::timestamptz
          FROM state WHERE number < $13::bigint
          ON CONFLICT DO NOTHING RETURNING id, operator_id
        ), holder AS (
          INSERT INTO second_factors (operator_id) SELECT operator_id FROM made
          ON CONFLICT DO NOTHING
        ), codes AS (
          INSERT INTO recovery_codes (operator_id, digest)
          SELECT m.operator_id, decode(d.digest, 'hex')
          FROM made m, state s, string_to_table($14::text, ' ') AS d (digest) WHERE s.is_first
        ), ended AS (
          DELETE FROM operator_sessions o USING made m, state s
          WHERE s.is_first AND o.operator_id = m.operator_id
            AND o.token_hash IS DISTINCT FROM $15::bytea
        ), enrolled AS (
          UPDATE operator_sessions o SET must_enrol = false FROM made m
          WHERE o.operator_id = m.operator_id AND o.token_hash = $15::bytea
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'passkey.added', id,
            jsonb_build_object('name', $11::text)
          FROM made
        )
        SELECT m.id, s.is_first FROM made m, state s
        """,
        actor.parameters + [
          .text(new.relyingParty), .bytes(new.credentialID), .bytes(new.publicKey),
          .int(new.algorithm), .int(new.signCount), .bool(new.isSynced),
          .text(new.transports.joined(separator: " ")), .text(new.name), .time(now),
          .int(countMax), .text(SecondFactor.text(recoveryDigests)),
          kept.map { .bytes($0) } ?? .null,
        ]
      ).after(.account(actor.id))
    ) { rows in
      guard !rows.isEmpty, let id = rows.uuid(0, 0) else { return .refused }
      return rows.bool(0, 1) == true ? .first(id) : .further(id)
    }
  }

  /// Removes a passkey of the operator who is the actor. With the last factor the recovery codes
  /// go.
  public static func remove(
    _ id: Identifier, by actor: AuditActor
  ) -> Statement<SecondFactor.Removal> {
    Statement(
      Query(
        """
        WITH target AS (
          SELECT id, operator_id, name, NOT EXISTS (SELECT FROM passkeys x
            WHERE x.operator_id = $2::uuid AND x.id <> $4::uuid)
            AND NOT \(SecondFactor.hasApp("$2::uuid")) AS is_last
          FROM passkeys WHERE id = $4::uuid AND operator_id = $2::uuid
        ), removed AS (
          DELETE FROM passkeys k USING target t
          WHERE k.id = t.id AND NOT (t.is_last AND \(SecondFactor.isRequired("$2::uuid")))
          RETURNING k.id
        ), emptied AS (
          DELETE FROM second_factors f USING target t, removed r
          WHERE f.operator_id = t.operator_id AND t.is_last
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'passkey.removed', t.id,
            jsonb_build_object('name', t.name)
          FROM target t, removed r
        )
        SELECT CASE WHEN EXISTS (SELECT FROM removed) THEN 'done'
          WHEN EXISTS (SELECT FROM target) THEN 'last' ELSE 'none' END
        """, actor.parameters + [.uuid(id)]
      ).after(.factorRules(for: actor.id), .account(actor.id))
    ) { $0.text(0, 0).flatMap { SecondFactor.Removal(rawValue: $0) } ?? .none }
  }

  public enum Use: String, Sendable {
    case done
    /// A login with this challenge has succeeded before.
    case replayed
    /// The authenticator's counter has not grown: there may be a copy of it (WebAuthn §6.1.1).
    case counter
  }

  /// Uses up a challenge and notes the counter of a valid signature.
  ///
  /// - Parameters:
  ///   - challenge: its digest.
  ///   - expiry: after it the challenge is refused without this record.
  public func use(
    challenge: [UInt8], expiry: WallTime, signCount: Int64, isSynced: Bool, now: WallTime
  ) -> Statement<Use> {
    Statement(
      Query(
        """
        WITH fresh AS (
          INSERT INTO used_challenges (digest, expires_at) VALUES ($2::bytea, $3::timestamptz)
          ON CONFLICT DO NOTHING RETURNING digest
        ), forgotten AS (
          DELETE FROM used_challenges WHERE digest IN (
            SELECT digest FROM used_challenges WHERE expires_at <= $4::timestamptz
            LIMIT 100 FOR UPDATE SKIP LOCKED)
        ), used AS (
          UPDATE passkeys SET sign_count = $5::bigint, is_synced = $6::boolean,
            last_used_at = $4::timestamptz
          WHERE id = $1::uuid AND EXISTS (SELECT FROM fresh)
            AND ($5::bigint > sign_count OR $5::bigint = 0 AND sign_count = 0)
          RETURNING id
        )
        SELECT CASE WHEN NOT EXISTS (SELECT FROM fresh) THEN 'replayed'
          WHEN EXISTS (SELECT FROM used) THEN 'done' ELSE 'counter' END
        """,
        [
          .uuid(id), .bytes(challenge), .time(expiry), .time(now), .int(signCount),
          .bool(isSynced),
        ])
    ) { rows in
      rows.isEmpty ? .replayed : rows.text(0, 0).flatMap { Use(rawValue: $0) } ?? .replayed
    }
  }
}
