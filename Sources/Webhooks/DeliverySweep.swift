import Postgres

/// The maintenance of webhooks, once a minute: disables webhooks that only fail, fails the pending
/// deliveries of disabled ones, and deletes old deliveries. Every node runs it and skips the rows
/// that another node has locked.
enum DeliverySweep {
  static let intervalMilliseconds: Int64 = 60_000
  /// A webhook without a success for this many days of failures is disabled.
  static let failingDays: Int64 = 3
  /// Finished deliveries are kept for this many days.
  static let keptDays: Int64 = 14
  /// The most rows per statement, and the most executions of a statement per sweep.
  static let rows: Int64 = 5_000
  static let rounds = 20
  /// The most pending deliveries that are counted.
  static let counted: Int64 = 100_000

  /// Disables webhooks that only fail. Returns a row with the id of each.
  static var disableFailing: Query {
    Query(
      """
      WITH hopeless AS (
        UPDATE webhooks SET is_enabled = false
        WHERE is_enabled AND failures >= $1::bigint
          AND failing_since < now() - $2::bigint * interval '1 day'
        RETURNING workspace_id, id, failures, failing_since
      )
      INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
      SELECT workspace_id, 'rule', 'webhook.disabled', id, jsonb_build_object(
        'failures', failures, 'failing_since', failing_since) FROM hopeless
      RETURNING target_id
      """, [.int(Int64(DeliveryQueue.failuresOfFailing)), .int(failingDays)])
  }

  /// Fails the pending deliveries of disabled webhooks.
  static var failPending: Query {
    Query(
      """
      UPDATE webhook_deliveries d SET status = 'failed', lease = NULL, next_attempt_at = NULL,
        last_error = 'the webhook is disabled'
      FROM (
        SELECT p.workspace_id, p.id FROM webhooks w CROSS JOIN LATERAL (
          SELECT workspace_id, id FROM webhook_deliveries
          WHERE workspace_id = w.workspace_id AND webhook_id = w.id AND status = 'pending'
          LIMIT $1::bigint FOR UPDATE SKIP LOCKED) AS p
        WHERE NOT w.is_enabled LIMIT $1::bigint) AS given_up
      WHERE d.workspace_id = given_up.workspace_id AND d.id = given_up.id
      """, [.int(rows)])
  }

  /// Deletes finished deliveries after `keptDays`.
  static var deleteOld: Query {
    Query(
      """
      DELETE FROM webhook_deliveries d USING (
        SELECT o.workspace_id, o.id FROM webhooks w CROSS JOIN LATERAL (
          SELECT workspace_id, id FROM webhook_deliveries
          WHERE workspace_id = w.workspace_id AND webhook_id = w.id AND status <> 'pending'
            AND created_at < now() - $1::bigint * interval '1 day'
          ORDER BY created_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS o
        LIMIT $2::bigint) AS old
      WHERE d.workspace_id = old.workspace_id AND d.id = old.id
      """, [.int(keptDays), .int(rows)])
  }

  /// Deletes the deliveries of deleted webhooks. The recursive query jumps from webhook to webhook
  /// in the index (a loose index scan) instead of reading all deliveries.
  static var deleteOrphans: Query {
    Query(
      """
      WITH RECURSIVE heads AS (
        (SELECT workspace_id, webhook_id FROM webhook_deliveries
          ORDER BY workspace_id, webhook_id LIMIT 1)
        UNION ALL
        SELECT n.workspace_id, n.webhook_id FROM heads h CROSS JOIN LATERAL (
          SELECT workspace_id, webhook_id FROM webhook_deliveries
          WHERE (workspace_id, webhook_id) > (h.workspace_id, h.webhook_id)
          ORDER BY workspace_id, webhook_id LIMIT 1) AS n
      )
      DELETE FROM webhook_deliveries d USING (
        SELECT o.workspace_id, o.id FROM heads h CROSS JOIN LATERAL (
          SELECT workspace_id, id FROM webhook_deliveries
          WHERE workspace_id = h.workspace_id AND webhook_id = h.webhook_id
          LIMIT $1::bigint FOR UPDATE SKIP LOCKED) AS o
        WHERE NOT EXISTS (SELECT FROM webhooks w
          WHERE w.workspace_id = h.workspace_id AND w.id = h.webhook_id)
        LIMIT $1::bigint) AS gone
      WHERE d.workspace_id = gone.workspace_id AND d.id = gone.id
      """, [.int(rows)])
  }

  /// Returns the number of pending deliveries, up to `counted`, and the age of the oldest of them
  /// in seconds.
  static var countPending: Query {
    Query(
      """
      SELECT count(*), coalesce(ceil(extract(epoch FROM now() - min(created_at))), 0)::bigint
      FROM (SELECT created_at FROM webhook_deliveries WHERE status = 'pending'
        LIMIT $1::bigint) AS pending
      """, [.int(counted)])
  }
}
