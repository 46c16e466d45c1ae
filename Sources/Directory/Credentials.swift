public import Postgres
public import Primitives

/// Encrypted secrets of other services (`credentials`), by service and name. Never returned.
///
/// Channels read those of their name (target `Channels`): service `line`, names
/// `channel_access_token` and `channel_secret`, opened by `SecretBox` with `place`.
public enum Credentials {
  /// The most credentials of one workspace.
  public static let countMax: Int64 = 200

  /// One page in the order of service and name. Columns: service, name, time of the last change;
  /// then service and name.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, after last: (provider: String, name: String)?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT provider, name, updated_at, provider, name FROM credentials
      WHERE workspace_id = $1::uuid
        AND ($2::text IS NULL OR (provider, name) > ($2::text, $3::text))
      ORDER BY provider, name LIMIT $4::bigint
      """, [.uuid(workspace), .text(last?.provider), .text(last?.name), .int(Int64(limit))])
  }

  public static func exists(
    _ provider: String, _ name: String, in workspace: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        SELECT name FROM credentials
        WHERE workspace_id = $1::uuid AND provider = $2::text AND name = $3::text
        """, [.uuid(workspace), .text(provider), .text(name)])
    ) { !$0.isEmpty }
  }

  /// The place to which `SecretBox` binds a credential's secret.
  public static func place(
    _ provider: String, _ name: String, in workspace: Identifier
  ) -> String {
    "credential:\(workspace):\(provider):\(name)"
  }

  /// Creates or replaces a credential. Columns: service, name, time of the change. No row if the
  /// workspace already has `countMax` credentials.
  ///
  /// - Parameter isCreateOnly: an existing credential stays as it is, and there is no row.
  public static func put(
    _ provider: String, _ name: String, secret: SecretBox.Sealed, isCreateOnly: Bool,
    by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO credentials (workspace_id, provider, name, key_id, ciphertext)
        SELECT $1::uuid, $4::text, $5::text, $6::text, $7::bytea
        WHERE EXISTS (SELECT FROM credentials WHERE workspace_id = $1::uuid
            AND provider = $4::text AND name = $5::text)
          OR (SELECT count(*) FROM credentials WHERE workspace_id = $1::uuid) < $8::bigint
        ON CONFLICT (workspace_id, provider, name) DO UPDATE
          SET key_id = excluded.key_id, ciphertext = excluded.ciphertext
          WHERE NOT $9::boolean
        RETURNING provider, name, updated_at
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'credential.changed',
          jsonb_build_object('provider', provider, 'name', name)
        FROM made
      )
      SELECT * FROM made
      """,
      actor.parameters + [
        .text(provider), .text(name), .text(secret.keyID), .bytes(secret.bytes), .int(countMax),
        .bool(isCreateOnly),
      ])
  }

  /// False if it does not exist.
  public static func delete(
    _ provider: String, _ name: String, by actor: AuditActor
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM credentials
          WHERE workspace_id = $1::uuid AND provider = $4::text AND name = $5::text
          RETURNING provider, name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'credential.deleted',
          jsonb_build_object('provider', provider, 'name', name)
        FROM gone RETURNING id
        """, actor.parameters + [.text(provider), .text(name)])
    ) { !$0.isEmpty }
  }
}
