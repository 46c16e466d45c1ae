public import Postgres
public import Primitives
import SharedSQL

/// Conversations that are given to operators without anybody asking, where the workspace wants it
/// (`assign` = `least_busy`): the longest waiting one to the available operator with the fewest,
/// below what one may have. And those of an operator who is gone go back to their places in line.
///
/// Under the same locks as `Claim`, so that neither a claim at the same moment nor another gateway
/// gives one twice, or too many to one.
public enum Assignment {
  /// A conversation that has changed hands.
  public struct Given: Sendable, Equatable {
    public var session: Identifier
    public var operatorName: String
  }

  /// What one attempt to give a conversation came to.
  public enum Attempt: Sendable, Equatable {
    case given(Given)
    /// Somebody else took it while this waited.
    case lost
    /// Nobody waits, nobody is free, or the workspace does not want it.
    case nothing
  }

  /// Whether there may be something to give: without a lock.
  public static func isDue(in workspace: Identifier) -> Query {
    Query(
      """
      SELECT q.is_automatic AND EXISTS (SELECT FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid
          AND \(ConversationQueue.contains("s")))
      FROM chirrup_queue($1::uuid) AS q
      """, [.uuid(workspace)])
  }

  /// Gives one conversation. Whoever gave one back to the queue does not get it again by itself;
  /// those behind it go on.
  public static func giveNext(in workspace: Identifier) -> Query {
    Query(giveSQL, [.uuid(workspace)]).after(.line(of: workspace), .present(in: workspace))
  }

  public static func decodeAttempt(_ rows: Rows) -> Attempt {
    guard !rows.isEmpty else { return .nothing }
    guard let session = rows.uuid(0, 0) else { return .lost }
    return .given(Given(session: session, operatorName: rows.text(0, 1) ?? ""))
  }

  /// Takes conversations from operators who were not seen for as long as the workspace waits.
  ///
  /// - Parameters:
  ///   - steadySeconds: for how long this gateway could write who is there. Nobody is gone for
  ///     longer than that: after an outage of the database, or a restart, all were unseen.
  ///   - limit: conversations of one transaction.
  public static func takeBack(
    in workspace: Identifier, steadySeconds: Int64, limit: Int64
  ) -> Query {
    Query(takeBackSQL, [.uuid(workspace), .int(steadySeconds), .int(limit)])
  }

  public static func decodeTaken(_ rows: Rows) -> [Identifier] {
    (0..<rows.count).compactMap { rows.uuid($0, 0) }
  }

  /// Workspaces that want automatic assignment and in which there may be something to do, behind
  /// `last` in the order of their ids.
  public static func workspaces(after last: Identifier, limit: Int64) -> Query {
    Query(
      """
      SELECT w.workspace_id FROM system_settings w
      WHERE w.key = 'queue' AND w.value LIKE '%least_busy%' AND w.workspace_id > $1::uuid
        AND (EXISTS (SELECT FROM chat_sessions s
            WHERE s.workspace_id = w.workspace_id
              AND \(ConversationQueue.contains("s")))
          OR EXISTS (SELECT FROM operator_presence p JOIN chat_sessions s
            ON s.workspace_id = p.workspace_id AND s.assigned_operator_id = p.operator_id
              AND s.status = 'active' AND s.deleted_at IS NULL
            WHERE p.workspace_id = w.workspace_id
              AND NOT chirrup_is_present(p.seen_at)))
      ORDER BY w.workspace_id LIMIT $2::bigint
      """, [.uuid(last), .int(limit)])
  }

  private static let giveSQL: SQL = """
    WITH free AS MATERIALIZED (
      SELECT o.id, o.name, l.load, p.given_at
      FROM chirrup_queue($1::uuid) AS q
      JOIN operator_presence p ON p.workspace_id = $1::uuid
      JOIN operators o ON o.id = p.operator_id
      CROSS JOIN LATERAL (SELECT count(*) AS load FROM chat_sessions a
        WHERE a.workspace_id = $1::uuid AND a.assigned_operator_id = p.operator_id
          AND a.status = 'active' AND a.deleted_at IS NULL) AS l
      WHERE q.is_automatic AND p.is_available AND chirrup_is_present(p.seen_at)
        AND o.disabled_at IS NULL AND l.load < q.capacity
    ), front AS MATERIALIZED (
      SELECT s.id, s.\(ConversationQueue.entryTime), s.returned_by
      FROM chat_sessions s
      WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s"))
        AND s.assigned_operator_id IS NULL
      ORDER BY \(ConversationQueue.order("s")) LIMIT 100
    ), choice AS MATERIALIZED (
      SELECT f.id AS session, c.id AS receiver, c.name
      FROM front f CROSS JOIN LATERAL (SELECT free.id, free.name FROM free
        WHERE free.id IS DISTINCT FROM f.returned_by
        ORDER BY free.load, free.given_at NULLS FIRST, free.id LIMIT 1) AS c
      ORDER BY \(ConversationQueue.order("f")) LIMIT 1
    ), target AS (
      SELECT s.id, c.receiver, c.name
      FROM choice c JOIN chat_sessions s ON s.id = c.session
      WHERE s.workspace_id = $1::uuid
        AND \(ConversationQueue.isUnclaimed("s"))
      FOR UPDATE OF s
    ), noted AS (
      UPDATE operator_presence p SET given_at = clock_timestamp()
      FROM target t WHERE p.workspace_id = $1::uuid AND p.operator_id = t.receiver
    )
    SELECT t.id, t.name, CASE WHEN t.id IS NOT NULL THEN chirrup_change(
      $1::uuid, t.id, 'assigned', t.receiver, t.name, NULL, NULL, gen_random_uuid(),
      t.name || ' joined', jsonb_build_object('event', 'assigned',
        'operator', jsonb_build_object('id', t.receiver, 'name', t.name))) END
    FROM choice c LEFT JOIN target t ON true
    """

  /// In the order of the ids, as a batch of messages locks them.
  private static let takeBackSQL: SQL = """
    WITH gone AS MATERIALIZED (
      SELECT p.operator_id, o.name, now() - q.reassign_after AS since
      FROM chirrup_queue($1::uuid) AS q
      JOIN operator_presence p ON p.workspace_id = $1::uuid
      JOIN operators o ON o.id = p.operator_id
      WHERE q.is_automatic AND q.reassign_after <= make_interval(secs => $2::bigint)
        AND p.seen_at < now() - q.reassign_after
    ), target AS (
      SELECT s.id, g.operator_id, g.name
      FROM gone g JOIN chat_sessions s ON s.assigned_operator_id = g.operator_id
      WHERE s.workspace_id = $1::uuid AND s.status = 'active' AND s.deleted_at IS NULL
        AND (s.claimed_at IS NULL OR s.claimed_at < g.since)
      ORDER BY s.id LIMIT $3::bigint
      FOR UPDATE OF s
    )
    SELECT t.id, chirrup_change(
      $1::uuid, t.id, 'unassigned', NULL, NULL, NULL, NULL, gen_random_uuid(),
      t.name || ' is away; the conversation waits for the next operator',
      jsonb_build_object('event', 'unassigned', 'reason', 'operator_gone',
        'from', jsonb_build_object('id', t.operator_id, 'name', t.name)))
    FROM target t
    """
}
