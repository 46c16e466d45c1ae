public import Directory
import Postgres
public import Primitives

/// An HTTP endpoint of another system that receives events of one workspace.
public struct Webhook: Sendable, Equatable {
  public var id: Identifier
  public var url: String
  /// The events to deliver; empty: all.
  public var events: [String]
  public var isEnabled: Bool
  public var createdAt: WallTime
  /// The number of failed attempts since the last success, and the time of the first of them.
  public var failures: Int64
  public var failingSince: WallTime?
}

extension Webhook {
  /// The most webhooks of one workspace.
  public static let countMax = 32

  public static func list(of workspace: Identifier) -> Statement<[Webhook]> {
    Statement(
      Query(
        """
        SELECT id, url, array_to_string(events, ' '), is_enabled, created_at, failures,
          failing_since
        FROM webhooks WHERE workspace_id = $1::uuid ORDER BY created_at, id
        """, [.uuid(workspace)])
    ) { rows in (0..<rows.count).compactMap { Webhook(rows, $0) } }
  }

  public static func find(_ id: Identifier, of workspace: Identifier) -> Statement<Webhook?> {
    Statement(
      Query(
        """
        SELECT id, url, array_to_string(events, ' '), is_enabled, created_at, failures,
          failing_since
        FROM webhooks WHERE workspace_id = $1::uuid AND id = $2::uuid
        """, [.uuid(workspace), .uuid(id)])
    ) { Webhook($0, 0) }
  }

  /// Nil if the workspace already has `countMax` webhooks.
  public static func create(
    _ id: Identifier, url: String, events: [String], isEnabled: Bool, secret: SecretBox.Sealed,
    by actor: AuditActor
  ) -> Statement<Webhook?> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO webhooks
            (workspace_id, id, url, events, is_enabled, secret_ciphertext, secret_key_id)
          SELECT $1::uuid, $2::uuid, $3::text, string_to_array($4::text, ' '), $5::boolean,
            $6::bytea, $7::text
          WHERE (SELECT count(*) FROM webhooks WHERE workspace_id = $1::uuid) < $8::bigint
          RETURNING *
        ), audited AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $9::uuid, $10::text, 'webhook.created', id,
            jsonb_build_object('host', substring(url FROM '^[^/]*//([^/?]*)'), 'events', events,
          'is_enabled', is_enabled) FROM made
        )
        SELECT id, url, array_to_string(events, ' '), is_enabled, created_at, failures,
          failing_since FROM made
        """,
        [
          .uuid(actor.workspace), .uuid(id), .text(url), .text(events.joined(separator: " ")),
          .bool(isEnabled), .bytes(secret.bytes), .text(secret.keyID), .int(Int64(countMax)),
          .uuid(actor.id), .text(actor.kind),
        ])
    ) { Webhook($0, 0) }
  }

  /// Changes the arguments that are not nil. Enabling a webhook resets its failures; disabling it
  /// fails its pending deliveries.
  public static func change(
    _ id: Identifier, url: String?, events: [String]?, isEnabled: Bool?, by actor: AuditActor
  ) -> Statement<Webhook?> {
    Statement(
      Query(
        changeSQL,
        [
          .uuid(actor.workspace), .uuid(id), .text(url), .text(events?.joined(separator: " ")),
          isEnabled.map { .bool($0) } ?? .null, .uuid(actor.id), .text(actor.kind),
        ])
    ) { Webhook($0, 0) }
  }

  private static let changeSQL: StaticString = """
    WITH changed AS (
      UPDATE webhooks SET url = coalesce($3::text, url),
        events = coalesce(string_to_array($4::text, ' '), events),
        is_enabled = coalesce($5::boolean, is_enabled),
        failures = CASE WHEN $5::boolean AND NOT is_enabled THEN 0 ELSE failures END,
        failing_since = CASE WHEN $5::boolean AND NOT is_enabled THEN NULL
          ELSE failing_since END
      WHERE workspace_id = $1::uuid AND id = $2::uuid
      RETURNING *
    ), given_up AS (
      UPDATE webhook_deliveries d SET status = 'failed', lease = NULL, next_attempt_at = NULL,
        last_error = 'the webhook is disabled'
      FROM changed c WHERE NOT c.is_enabled AND d.workspace_id = c.workspace_id
        AND d.webhook_id = c.id AND d.status = 'pending'
    ), audited AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $6::uuid, $7::text, 'webhook.changed', id,
        jsonb_build_object('host', substring(url FROM '^[^/]*//([^/?]*)'), 'events', events,
          'is_enabled', is_enabled) FROM changed
    )
    SELECT id, url, array_to_string(events, ' '), is_enabled, created_at, failures, failing_since
    FROM changed
    """

  /// Deletes a webhook and its deliveries; false if it does not exist.
  public static func delete(
    _ id: Identifier, by actor: AuditActor
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM webhooks WHERE workspace_id = $1::uuid AND id = $2::uuid RETURNING id, url
        ), dropped AS (
          DELETE FROM webhook_deliveries d USING gone
          WHERE d.workspace_id = $1::uuid AND d.webhook_id = gone.id
        ), audited AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $3::uuid, $4::text, 'webhook.deleted', id,
            jsonb_build_object('host', substring(url FROM '^[^/]*//([^/?]*)')) FROM gone
        )
        SELECT id FROM gone
        """, [.uuid(actor.workspace), .uuid(id), .uuid(actor.id), .text(actor.kind)])
    ) { !$0.isEmpty }
  }

  private init?(_ rows: Rows, _ row: Int) {
    guard row < rows.count, let id = rows.uuid(row, 0), let url = rows.text(row, 1),
      let createdAt = rows.time(row, 4)
    else { return nil }
    self.init(
      id: id, url: url,
      events: (rows.text(row, 2) ?? "").split(separator: " ").map { String($0) },
      isEnabled: rows.bool(row, 3) ?? false, createdAt: createdAt,
      failures: rows.int(row, 5) ?? 0, failingSince: rows.time(row, 6))
  }
}
