public import Postgres
public import Primitives

/// The secrets with which host sites sign their visitors' identities (`identity_secrets`):
/// encrypted, shown once, and several of a workspace at once, so that they are rotated with an
/// overlap.
public enum IdentitySecrets {
  /// The most secrets of one workspace that are accepted.
  public static let acceptedMax: Int64 = 8
  /// Hours for which the others are accepted after a new one was made.
  public static let overlapHours: Int64 = 24
  public static let overlapHoursMax: Int64 = 720
  public static let prefix = "is_"

  /// A secret as it is stored.
  public struct Stored: Sendable, Equatable {
    public var id: Identifier
    /// Nil: in clear, from before they were encrypted.
    var keyID: String?
    var bytes: [UInt8]

    /// Nil if the key that encrypted it is not configured any longer.
    public func open(by box: SecretBox, in workspace: Identifier) -> [UInt8]? {
      guard let keyID else { return bytes }
      return box.open(
        SecretBox.Sealed(keyID: keyID, bytes: bytes),
        place: IdentitySecrets.place(id, in: workspace))
    }
  }

  /// The place to which `SecretBox` binds a secret.
  public static func place(_ id: Identifier, in workspace: Identifier) -> String {
    "identity:\(workspace):\(id)"
  }

  /// The secrets of a workspace that are accepted now.
  public static func accepted(in workspace: Identifier) -> Statement<[Stored]> {
    Statement(
      Query(
        """
        SELECT id, key_id, ciphertext FROM identity_secrets
        WHERE workspace_id = $1::uuid AND (ends_at IS NULL OR ends_at > now())
        UNION ALL
        SELECT id, NULL, convert_to(identity_secret, 'UTF8') FROM workspaces
        WHERE id = $1::uuid AND identity_secret <> ''
        """, [.uuid(workspace)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let id = rows.uuid(row, 0), let bytes = rows.bytes(row, 2) else { return nil }
        return Stored(id: id, keyID: rows.text(row, 1), bytes: bytes)
      }
    }
  }

  /// One page of the accepted secrets, newest first. Columns: id, creation time, end; then creation
  /// time (µs) and id as text.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT id, created_at, ends_at, (extract(epoch FROM created_at) * 1000000)::bigint::text,
        id::text
      FROM identity_secrets s
      WHERE workspace_id = $1::uuid AND (ends_at IS NULL OR ends_at > now())
        AND ($2::timestamptz IS NULL OR (created_at, id) < ($2::timestamptz, $3::uuid))
      ORDER BY s.created_at DESC, s.id DESC LIMIT $4::bigint
      """, [.uuid(workspace), .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }

  /// Adds a secret, and ends the others after the overlap; with an overlap of 0 hours now. Columns
  /// as those of `page`, without the last two. No row if `acceptedMax` are accepted and there is an
  /// overlap.
  public static func add(
    _ id: Identifier, _ secret: SecretBox.Sealed, overlapHours: Int64, by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO identity_secrets (workspace_id, id, key_id, ciphertext)
        SELECT $1::uuid, $4::uuid, $5::text, $6::bytea
        WHERE $7::bigint = 0 OR (SELECT count(*) FROM identity_secrets
          WHERE workspace_id = $1::uuid AND (ends_at IS NULL OR ends_at > now())) < $8::bigint
        RETURNING id, created_at, ends_at
      ), ended AS (
        UPDATE identity_secrets o SET ends_at = now() + $7::bigint * interval '1 hour'
        FROM made WHERE o.workspace_id = $1::uuid
          AND (o.ends_at IS NULL OR o.ends_at > now() + $7::bigint * interval '1 hour')
      ), gone AS (
        DELETE FROM identity_secrets WHERE workspace_id = $1::uuid AND ends_at <= now()
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'identity_secret.added', id,
          jsonb_build_object('overlap_hours', $7::bigint)
        FROM made
      )
      SELECT * FROM made
      """,
      actor.parameters + [
        .uuid(id), .text(secret.keyID), .bytes(secret.bytes), .int(overlapHours),
        .int(acceptedMax),
      ])
  }

  /// Ends a secret now; false if none is accepted with this id.
  public static func end(_ id: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          UPDATE identity_secrets SET ends_at = now()
          WHERE workspace_id = $1::uuid AND id = $4::uuid
            AND (ends_at IS NULL OR ends_at > now())
          RETURNING id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'identity_secret.ended', id FROM gone RETURNING id
        """, actor.parameters + [.uuid(id)])
    ) { !$0.isEmpty }
  }

  // MARK: Secrets from before they were encrypted

  /// Workspaces whose secret is in clear, and the secrets.
  ///
  /// - Parameter workspace: only this one; nil: any.
  public static func inClear(
    in workspace: Identifier? = nil, limit: Int64
  ) -> Statement<[(workspace: Identifier, secret: String)]> {
    Statement(
      Query(
        """
        SELECT id, identity_secret FROM workspaces
        WHERE identity_secret <> '' AND ($1::uuid IS NULL OR id = $1::uuid) LIMIT $2::bigint
        """, [.uuid(workspace), .int(limit)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let id = rows.uuid(row, 0), let secret = rows.text(row, 1) else { return nil }
        return (id, secret)
      }
    }
  }

  /// Replaces the secret in clear by its encrypted form, unless it has changed.
  public static func move(
    _ secret: String, of workspace: Identifier, to id: Identifier, _ sealed: SecretBox.Sealed
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH moved AS (
          UPDATE workspaces SET identity_secret = ''
          WHERE id = $1::uuid AND identity_secret = $2::text RETURNING id
        )
        INSERT INTO identity_secrets (workspace_id, id, key_id, ciphertext)
        SELECT id, $3::uuid, $4::text, $5::bytea FROM moved
        """,
        [.uuid(workspace), .text(secret), .uuid(id), .text(sealed.keyID), .bytes(sealed.bytes)]))
  }
}
