public import JSON
import Postgres
public import Primitives

extension WorkspaceSettings {
  /// Loads the settings of a workspace. Without a setting `widget`, the column
  /// `workspaces.settings` counts.
  public static func load(_ workspace: Identifier) -> Statement<WorkspaceSettings> {
    Statement(
      Query(
        """
        SELECT 'widget', settings::text, 0 FROM workspaces WHERE id = $1::uuid
        UNION ALL
        SELECT key, value, 1 FROM system_settings
        WHERE workspace_id = $1::uuid AND length(value) <= $2::bigint AND key IN (
          'widget', 'hours', 'greeting_message', 'away_message', 'prechat', 'offline', 'queue',
          'rating', 'retention', 'security', 'routing', 'watching', 'attachments', 'mail')
        ORDER BY 3
        """, [.uuid(workspace), .int(Int64(SettingLimits.valueBytes))])
    ) { rows in
      var settings = WorkspaceSettings()
      for row in 0..<rows.count {
        guard let key = rows.text(row, 0).flatMap({ Key(rawValue: $0) }),
          let value = rows.bytes(row, 1).flatMap({ JSONValue($0) })
        else { continue }
        settings.read(key, value)
      }
      return settings
    }
  }

  /// Replaces one setting. The caller has checked it (`check`).
  public static func store(
    _ key: Key, _ value: JSONValue, workspace: Identifier
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO system_settings (workspace_id, key, value)
        VALUES ($1::uuid, $2::text, $3::text)
        ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value
        """, [.uuid(workspace), .text(key.rawValue), .utf8(value.text)]))
  }
}
