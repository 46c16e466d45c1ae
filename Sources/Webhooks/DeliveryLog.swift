public import Directory
import Postgres
public import Primitives

/// A delivery in a webhook's log, for administrators.
public struct DeliveryRecord: Sendable, Equatable {
  public var id: Identifier
  public var event: String
  public var session: Identifier?
  public var status: String
  public var attempts: Int64
  public var nextAttemptAt: WallTime?
  public var lastError: String?
  public var createdAt: WallTime
  public var deliveredAt: WallTime?
}

extension DeliveryRecord {
  /// One page of the log, newest first.
  ///
  /// - Parameters:
  ///   - status: only deliveries of this status; nil: all.
  ///   - last: the last delivery of the previous page; nil: the first page.
  public static func page(
    of webhook: Identifier, workspace: Identifier, status: String?,
    after last: ListPosition?, limit: Int
  ) -> Statement<[DeliveryRecord]> {
    Statement(
      Query(
        """
        SELECT id, event, session_id, status, attempts, next_attempt_at, last_error, created_at,
          delivered_at
        FROM webhook_deliveries
        WHERE workspace_id = $1::uuid AND webhook_id = $2::uuid
          AND ($3::text IS NULL OR status = $3::text)
          AND ($4::timestamptz IS NULL OR (created_at, id) < ($4::timestamptz, $5::uuid))
        ORDER BY created_at DESC, id DESC LIMIT $6::bigint
        """,
        [
          .uuid(workspace), .uuid(webhook), .text(status), .time(last?.at), .uuid(last?.id),
          .int(Int64(limit)),
        ])
    ) { rows in (0..<rows.count).compactMap { DeliveryRecord(rows, $0) } }
  }

  /// Enqueues a test event; nil if the webhook does not exist or is disabled.
  public static func test(
    _ id: Identifier, of webhook: Identifier, workspace: Identifier
  ) -> Statement<DeliveryRecord?> {
    Statement(
      Query(
        """
        INSERT INTO webhook_deliveries (workspace_id, id, webhook_id, event, payload)
        SELECT w.workspace_id, $3::uuid, w.id, $4::text,
          jsonb_build_object('workspace', w.workspace_id,
            'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
        FROM webhooks w WHERE w.workspace_id = $1::uuid AND w.id = $2::uuid AND w.is_enabled
        RETURNING id, event, session_id, status, attempts, next_attempt_at, last_error,
          created_at, delivered_at
        """,
        [.uuid(workspace), .uuid(webhook), .uuid(id), .text(WebhookEvent.test)])
    ) { DeliveryRecord($0, 0) }
  }

  /// Delivers again, from the first attempt and with the same id. A pending delivery is tried at
  /// once, unless an attempt is in flight. Nil if it does not exist or the webhook is disabled.
  public static func repeated(
    _ id: Identifier, of webhook: Identifier, workspace: Identifier
  ) -> Statement<DeliveryRecord?> {
    Statement(
      Query(
        """
        UPDATE webhook_deliveries d SET status = 'pending', delivered_at = NULL,
          attempts = CASE WHEN d.lease IS NULL THEN 0 ELSE d.attempts END,
          next_attempt_at = CASE WHEN d.lease IS NULL THEN now() ELSE d.next_attempt_at END
        FROM webhooks w
        WHERE w.workspace_id = $1::uuid AND w.id = $2::uuid AND w.is_enabled
          AND d.workspace_id = $1::uuid AND d.webhook_id = $2::uuid AND d.id = $3::uuid
        RETURNING d.id, d.event, d.session_id, d.status, d.attempts, d.next_attempt_at,
          d.last_error, d.created_at, d.delivered_at
        """, [.uuid(workspace), .uuid(webhook), .uuid(id)])
    ) { DeliveryRecord($0, 0) }
  }

  private init?(_ rows: Rows, _ row: Int) {
    guard row < rows.count, let id = rows.uuid(row, 0), let event = rows.text(row, 1),
      let status = rows.text(row, 3), let createdAt = rows.time(row, 7)
    else { return nil }
    self.init(
      id: id, event: event, session: rows.uuid(row, 2), status: status,
      attempts: rows.int(row, 4) ?? 0, nextAttemptAt: rows.time(row, 5),
      lastError: rows.text(row, 6), createdAt: createdAt, deliveredAt: rows.time(row, 8))
  }
}
