public import Postgres
public import Primitives

/// The API keys of a workspace (`api_keys`). The database holds only their hashes; a key can be
/// added and revoked, not changed.
public enum APIKeys {
  /// The most keys of one workspace that are not revoked.
  public static let countMax: Int64 = 200

  /// One page of the keys that are not revoked, newest first. Columns: id, name, scopes (joined by
  /// line feeds), the creator's id, creation time, time of the last use, expiry; then creation time
  /// (µs) and id as text.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT k.id, k.name, array_to_string(k.scopes, E'\\n'), k.created_by, k.created_at,
        k.last_used_at, k.expires_at,
        (extract(epoch FROM k.created_at) * 1000000)::bigint::text, k.id::text
      FROM api_keys k WHERE k.workspace_id = $1::uuid AND k.revoked_at IS NULL
        AND ($2::timestamptz IS NULL OR (k.created_at, k.id) < ($2::timestamptz, $3::uuid))
      ORDER BY k.created_at DESC, k.id DESC LIMIT $4::bigint
      """, [.uuid(workspace), .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }

  /// Adds a key. Columns as those of `page`, without the last two. No row if the workspace already
  /// has `countMax` keys.
  ///
  /// - Parameters:
  ///   - tokenHash: the SHA-256 of the key.
  ///   - expiresAt: a time as RFC 3339 text; nil: never.
  public static func add(
    _ id: Identifier, name: String, tokenHash: [UInt8], scopes: [String], expiresAt: String?,
    by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH made AS (
        INSERT INTO api_keys
          (workspace_id, id, name, token_hash, scopes, created_by, expires_at)
        SELECT $1::uuid, $4::uuid, $5::text, $6::bytea,
          coalesce(string_to_array(nullif($7::text, ''), ' '), '{}'),
          $2::uuid, $8::text::timestamptz
        WHERE (SELECT count(*) FROM api_keys
          WHERE workspace_id = $1::uuid AND revoked_at IS NULL) < $9::bigint
        RETURNING id, name, array_to_string(scopes, E'\\n'), created_by, created_at,
          last_used_at, expires_at
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'api_key.added', id,
          jsonb_build_object('scopes', to_jsonb(string_to_array($7::text, ' ')))
        FROM made
      )
      SELECT * FROM made
      """,
      actor.parameters + [
        .uuid(id), .text(name), .bytes(tokenHash), .text(scopes.joined(separator: " ")),
        .text(expiresAt), .int(countMax),
      ])
  }

  /// Revokes a key; false if there is none with this id. The row stays, so that the ids in the
  /// audit log keep their meaning.
  public static func revoke(_ id: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          UPDATE api_keys SET revoked_at = now()
          WHERE workspace_id = $1::uuid AND id = $4::uuid AND revoked_at IS NULL RETURNING id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'api_key.revoked', id FROM gone RETURNING id
        """, actor.parameters + [.uuid(id)])
    ) { !$0.isEmpty }
  }
}
