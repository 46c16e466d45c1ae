import Postgres
public import Primitives

/// A key of the REST API for another server. The database has only its hash.
public struct APIKey: Sendable, Equatable {
  public var id: Identifier
  public var workspace: Identifier
  public var name: String
  public var scopes: [String]

  public init(id: Identifier, workspace: Identifier, name: String, scopes: [String]) {
    self.id = id
    self.workspace = workspace
    self.name = name
    self.scopes = scopes
  }
}

extension APIKey {
  /// The key with this hash; nil if it was revoked or has expired. Updates the time of the last use
  /// at most once a minute, so that a busy key does not mean a busy row.
  public static func find(tokenHash: [UInt8], now: WallTime) -> Statement<APIKey?> {
    Statement(
      Query(
        """
        WITH found AS (
          SELECT workspace_id, id, name, scopes, last_used_at FROM api_keys
          WHERE token_hash = $1::bytea AND revoked_at IS NULL
            AND (expires_at IS NULL OR expires_at > $2::timestamptz)
        ), noted AS (
          UPDATE api_keys k SET last_used_at = $2::timestamptz FROM found f
          WHERE k.workspace_id = f.workspace_id AND k.id = f.id
            AND (k.last_used_at IS NULL OR k.last_used_at < $2::timestamptz - interval '1 minute')
        )
        SELECT id, workspace_id, name, array_to_string(scopes, ' ') FROM found
        """, [.bytes(tokenHash), .time(now)])
    ) { rows in
      guard !rows.isEmpty, let id = rows.uuid(0, 0), let workspace = rows.uuid(0, 1),
        let name = rows.text(0, 2)
      else { return nil }
      let scopes = (rows.text(0, 3) ?? "").split(separator: " ").map { String($0) }
      return APIKey(id: id, workspace: workspace, name: name, scopes: scopes)
    }
  }
}
