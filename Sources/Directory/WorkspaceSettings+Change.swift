public import JSON
public import Postgres

/// Changes of a workspace's settings by an administrator.
extension WorkspaceSettings {
  /// Stores settings that the caller has checked, and the origins of the widget's pages.
  ///
  /// - Parameters:
  ///   - values: the new value of each setting; nil restores the default.
  ///   - origins: the allowed origins; nil: those of the gateway's configuration.
  ///   - changesOrigins: whether `origins` is stored.
  public static func change(
    _ values: [(key: Key, value: JSONValue?)], origins: [String]?, changesOrigins: Bool,
    by actor: AuditActor
  ) -> Statement<Void> {
    let rows = values.map { key, value in
      JSONValue.object([
        "key": .string(key.rawValue),
        "value": value.map { .string(String(decoding: $0.text, as: UTF8.self)) } ?? .null,
      ])
    }
    return Statement(
      Query(
        """
        WITH given AS (
          SELECT key, value FROM jsonb_to_recordset($4::jsonb) AS g (key text, value text)
        ), cleared AS (
          DELETE FROM system_settings s USING given g
          WHERE s.workspace_id = $1::uuid AND s.key = g.key AND g.value IS NULL
        ), stored AS (
          INSERT INTO system_settings (workspace_id, key, value)
          SELECT $1::uuid, key, value FROM given WHERE value IS NOT NULL
          ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value
        ), origins AS (
          UPDATE workspaces SET allowed_origins = string_to_array($5::text, E'\\n')
          WHERE id = $1::uuid AND $6::boolean
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'settings.changed', jsonb_build_object(
          'keys', coalesce((SELECT jsonb_agg(key ORDER BY key) FROM given), '[]'),
          'allowed_origins', $6::boolean)
        """,
        actor.parameters + [
          .json(JSONValue.array(rows).text), .text(origins?.joined(separator: "\n")),
          .bool(changesOrigins),
        ]
      ).after(.factorRule(of: actor.workspace)))
  }

  /// A statement that PostgreSQL refuses if it does not know the time zone.
  public static func checkTimeZone(_ name: String) -> Query {
    Query("SELECT now() AT TIME ZONE $1::text", [.text(name)])
  }
}
