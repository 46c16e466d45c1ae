import Directory
import Postgres
import Primitives

/// The queue of webhook deliveries (transactional outbox), shared by all nodes.
///
/// Deliveries to one webhook keep the order of their session: only the first unfinished delivery of
/// a session is sent. Sessions do not wait for each other. A node that takes a delivery holds a
/// lease on it until `next_attempt_at`; after that, for example if the node crashed, any node may
/// take it again.
///
/// A new delivery is due at once. A node that finds an earlier one of the same session postpones it
/// until that one is due; the node that finishes the earlier one makes it due at once. No wake-up
/// is lost: `take` checks for earlier deliveries only after it has locked the rows, and `wake` is a
/// statement after `finish`, so that it sees the rows committed meanwhile.
enum DeliveryQueue {
  /// The most concurrent deliveries of a node to one webhook: normally, and to a failing one.
  static let perWebhook = 16
  static let perFailing = 1
  /// After this many consecutive failures a webhook counts as failing.
  static let failuresOfFailing = 20
  /// The most deliveries that one turn examines: per webhook, and in total.
  static let examinedMax = 64
  static let examinedInTotalMax = 512

  /// Returns whether any webhook is enabled, and whether any delivery is due.
  static let peek: StaticString = """
    SELECT EXISTS (SELECT FROM webhooks WHERE is_enabled),
      EXISTS (SELECT FROM webhooks w WHERE w.is_enabled AND EXISTS (
        SELECT FROM webhook_deliveries d
        WHERE d.workspace_id = w.workspace_id AND d.webhook_id = w.id AND d.status = 'pending'
          AND d.next_attempt_at <= now()))
    """

  /// Locks due deliveries. `busy` lists the webhooks at their limit on this node, which are
  /// skipped. The others come in random order, so that none starves.
  static func lock(busy: [Identifier]) -> Query {
    Query(
      """
      SELECT d.workspace_id, d.id
      FROM (SELECT workspace_id, id FROM webhooks
        WHERE is_enabled AND id <> ALL ($1::uuid[]) ORDER BY random()) AS w
      CROSS JOIN LATERAL (
        SELECT workspace_id, id FROM webhook_deliveries
        WHERE workspace_id = w.workspace_id AND webhook_id = w.id AND status = 'pending'
          AND next_attempt_at <= now()
        ORDER BY next_attempt_at, seq LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS d
      LIMIT $3::bigint
      """, [.uuids(busy), .int(Int64(examinedMax)), .int(Int64(examinedInTotalMax))])
  }

  /// Postpones the locked deliveries that have an earlier one in their session, and takes at most
  /// `room` of the others. `busy` contains a webhook once for each of its deliveries in flight.
  static func take(
    _ locked: [(workspace: Identifier, id: Identifier)], lease: Identifier,
    leaseMilliseconds: Int64, room: Int, busy: [Identifier]
  ) -> Query {
    Query(
      takeSQL,
      [
        .uuids(locked.map(\.workspace)), .uuids(locked.map(\.id)), .uuid(lease),
        .int(leaseMilliseconds), .int(Int64(room)), .uuids(busy), .int(Int64(perWebhook)),
        .int(Int64(perFailing)), .int(Int64(failuresOfFailing)),
      ])
  }

  private static let takeSQL: StaticString = """
    WITH looked AS MATERIALIZED (
      SELECT d.workspace_id, d.id, d.webhook_id, d.seq, d.next_attempt_at, (
        SELECT b.next_attempt_at FROM webhook_deliveries b
        WHERE b.workspace_id = d.workspace_id AND b.webhook_id = d.webhook_id
          AND b.session_id = d.session_id AND b.status = 'pending' AND b.seq < d.seq
        ORDER BY b.seq LIMIT 1) AS behind
      FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
      JOIN webhook_deliveries d ON d.workspace_id = t.workspace_id AND d.id = t.id
    ), put_off AS (
      UPDATE webhook_deliveries d
      SET lease = NULL, next_attempt_at = greatest(l.behind, now() + interval '20 seconds')
      FROM looked l
      WHERE l.behind IS NOT NULL AND d.workspace_id = l.workspace_id AND d.id = l.id
    ), chosen AS (
      SELECT l.workspace_id, l.id, w.url, w.secret_ciphertext, w.secret_key_id
      FROM (SELECT *, row_number() OVER (
          PARTITION BY workspace_id, webhook_id ORDER BY next_attempt_at, seq) AS place
        FROM looked WHERE behind IS NULL) AS l
      JOIN webhooks w ON w.workspace_id = l.workspace_id AND w.id = l.webhook_id
      WHERE w.is_enabled AND l.place + (SELECT count(*) FROM unnest($6::uuid[]) AS b (id)
          WHERE b.id = w.id)
        <= CASE WHEN w.failures >= $9::bigint THEN $8::bigint ELSE $7::bigint END
      ORDER BY l.place LIMIT $5::bigint
    )
    UPDATE webhook_deliveries d SET lease = $3::uuid, attempts = d.attempts + 1,
      next_attempt_at = now() + $4::bigint * interval '1 millisecond'
    FROM chosen c WHERE d.workspace_id = c.workspace_id AND d.id = c.id
    RETURNING d.workspace_id, d.id, d.webhook_id, c.url, d.event, d.payload::text,
      c.secret_ciphertext, c.secret_key_id, d.attempts
    """

  static func deliveries(_ rows: Rows) -> [Delivery] {
    (0..<rows.count).compactMap { row in
      guard let workspace = rows.uuid(row, 0), let id = rows.uuid(row, 1),
        let webhook = rows.uuid(row, 2), let url = rows.text(row, 3),
        let event = rows.text(row, 4), let payload = rows.bytes(row, 5),
        let ciphertext = rows.bytes(row, 6), let key = rows.text(row, 7)
      else { return nil }
      return Delivery(
        workspace: workspace, id: id, webhook: webhook, url: url, event: event, payload: payload,
        secret: SecretBox.Sealed(keyID: key, bytes: ciphertext),
        attempt: Int(rows.int(row, 8) ?? 1))
    }
  }

  /// Records the outcome of an attempt, unless its lease has passed to another node.
  ///
  /// - Parameters:
  ///   - failure: the error of the attempt; nil if it succeeded.
  ///   - pause: the milliseconds until the next attempt; nil if it was the last.
  /// - Returns: one row with the new status, or none if the lease was lost.
  static func finish(
    _ delivery: Delivery, lease: Identifier, failure: String?, pause: Int64?
  ) -> Query {
    Query(
      finishSQL,
      [
        .uuid(delivery.workspace), .uuid(delivery.id), .uuid(lease), .bool(failure == nil),
        .text(failure), pause.map { .int($0) } ?? .null, .uuid(delivery.webhook),
      ])
  }

  private static let finishSQL: StaticString = """
    WITH done AS (
      UPDATE webhook_deliveries SET lease = NULL,
        status = CASE WHEN $4::boolean THEN 'delivered'
          WHEN $6::bigint IS NULL THEN 'failed' ELSE 'pending' END,
        delivered_at = CASE WHEN $4::boolean THEN now() END,
        next_attempt_at = CASE WHEN NOT $4::boolean
          THEN now() + $6::bigint * interval '1 millisecond' END,
        last_error = coalesce($5::text, last_error)
      WHERE workspace_id = $1::uuid AND id = $2::uuid AND lease = $3::uuid AND status = 'pending'
      RETURNING workspace_id, webhook_id, session_id, seq, status
    ), next AS (
      UPDATE webhook_deliveries n SET next_attempt_at = now()
      FROM done CROSS JOIN LATERAL (
        SELECT f.id FROM webhook_deliveries f
        WHERE f.workspace_id = done.workspace_id AND f.webhook_id = done.webhook_id
          AND f.session_id = done.session_id AND f.status = 'pending' AND f.seq > done.seq
        ORDER BY f.seq LIMIT 1) AS f
      WHERE done.status <> 'pending' AND n.workspace_id = done.workspace_id AND n.id = f.id
        AND n.attempts = 0 AND n.lease IS NULL
    ), healed AS (
      UPDATE webhooks SET failures = 0, failing_since = NULL
      WHERE $4::boolean AND workspace_id = $1::uuid AND id = $7::uuid AND failures > 0
    ), worse AS (
      UPDATE webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, now())
      WHERE NOT $4::boolean AND workspace_id = $1::uuid AND id = $7::uuid
    )
    SELECT status FROM done
    """

  /// Makes the next delivery of the same session due. It runs after `finish`, in its own statement,
  /// so that it sees deliveries that were committed or postponed while `finish` ran.
  static func wake(behind delivery: Delivery) -> Query {
    Query(
      """
      UPDATE webhook_deliveries n SET next_attempt_at = now()
      FROM webhook_deliveries d CROSS JOIN LATERAL (
        SELECT f.id FROM webhook_deliveries f
        WHERE f.workspace_id = d.workspace_id AND f.webhook_id = d.webhook_id
          AND f.session_id = d.session_id AND f.status = 'pending'
        ORDER BY f.seq LIMIT 1) AS f
      WHERE d.workspace_id = $1::uuid AND d.id = $2::uuid AND d.status <> 'pending'
        AND n.workspace_id = d.workspace_id AND n.id = f.id
        AND n.attempts = 0 AND n.lease IS NULL AND n.next_attempt_at > now()
      """, [.uuid(delivery.workspace), .uuid(delivery.id)])
  }

  /// Releases the unfinished deliveries of a node that stops.
  static func release(lease: Identifier, _ deliveries: [Delivery]) -> Query {
    Query(
      """
      UPDATE webhook_deliveries d SET lease = NULL, next_attempt_at = now()
      FROM unnest($2::uuid[], $3::uuid[]) AS t (workspace_id, id)
      WHERE d.workspace_id = t.workspace_id AND d.id = t.id AND d.lease = $1::uuid
      """,
      [.uuid(lease), .uuids(deliveries.map(\.workspace)), .uuids(deliveries.map(\.id))])
  }
}
