public import Directory
public import Postgres
public import Primitives
import SharedSQL

/// Automatic assignment, if the workspace's setting `assign` is `least_busy`: the next conversation
/// of the queue goes to the available operator with the fewest open ones, below the capacity.
///
/// A conversation of a team goes to its members only, by the team's own `assign` and capacity if
/// it has them: with `round_robin` to the one whose last conversation from the team is the longest
/// ago. While no member is available, those that have waited for `overflow_after_minutes` go to
/// anybody.
///
/// Conversations of an absent operator return to their positions in the queue, with and without
/// automatic assignment.
///
/// It takes the same locks as `Claim`, so that concurrent claims and other gateways neither assign
/// a conversation twice nor exceed the capacity.
public enum Assignment {
  /// An assigned conversation.
  public struct Assigned: Sendable, Equatable {
    public var session: Identifier
    public var operatorName: String
  }

  /// The result of one attempt to assign a conversation.
  public enum Attempt: Sendable, Equatable {
    case assigned(Assigned)
    /// An operator claimed it while this attempt waited for the lock.
    case lost
    /// The queue is empty, no operator is free, or automatic assignment is off.
    case nothing
  }

  /// Whether the setting is on and a conversation waits; without a lock.
  public static func isDue(in workspace: Identifier) -> Query {
    Query(
      isDueSQL, [.uuid(workspace)])
  }

  /// Assigns one conversation. The operator who returned a conversation to the queue is not chosen
  /// for it again; then a later conversation of the queue is taken. Decoded by `decodeAttempt`.
  public static func assignNext(in workspace: Identifier) -> Query {
    Query(assignSQL, [.uuid(workspace)]).after(.queue(of: workspace), .present(in: workspace))
  }

  public static func decodeAttempt(_ rows: Rows) -> Attempt {
    guard !rows.isEmpty else { return .nothing }
    guard let session = rows.uuid(0, 0) else { return .lost }
    return .assigned(Assigned(session: session, operatorName: rows.text(0, 1) ?? ""))
  }

  /// Returns conversations of absent operators to the queue, after the setting
  /// `reassign_after_seconds`. Decoded by `decodeIdentifiers`.
  ///
  /// - Parameters:
  ///   - steadySeconds: how long this gateway has written presence without interruption. A longer
  ///     absence does not count: after a restart or an outage of the database all operators seem
  ///     absent.
  ///   - limit: conversations of one transaction.
  public static func release(
    in workspace: Identifier, steadySeconds: Int64, limit: Int64
  ) -> Query {
    Query(releaseSQL, [.uuid(workspace), .int(steadySeconds), .int(limit)])
  }

  public static func decodeIdentifiers(_ rows: Rows) -> [Identifier] {
    (0..<rows.count).compactMap { rows.uuid($0, 0) }
  }

  /// The workspaces after `last`, in the order of their ids, in which automatic assignment is on
  /// and a conversation waits. Decoded by `decodeIdentifiers`.
  public static func workspaces(after last: Identifier, limit: Int64) -> Query {
    Query(
      workspacesSQL, [.uuid(last), .int(limit)])
  }

  /// An operator who has open conversations. Another application may have opened some without one:
  /// `member` is then nil.
  public struct Holder: Sendable, Equatable {
    public var workspace: Identifier
    public var member: Identifier?
    public var isAbsent = false

    public init(workspace: Identifier, member: Identifier?) {
      self.workspace = workspace
      self.member = member
    }

    public static let start = Holder(workspace: .zero, member: .zero)
  }

  /// The operators with open conversations after `last`, in the order of workspaces and ids. An
  /// operator who never had a console open, as behind an API, is not absent.
  public static func holders(after last: Holder, limit: Int64) -> Statement<[Holder]> {
    Statement(Query(holdersSQL, [.uuid(last.workspace), .uuid(last.member), .int(limit)])) { rows in
      (0..<rows.count).compactMap { row in
        guard let workspace = rows.uuid(row, 0) else { return nil }
        var holder = Holder(workspace: workspace, member: rows.uuid(row, 1))
        holder.isAbsent = rows.bool(row, 2) ?? false
        return holder
      }
    }
  }

  private static let isDueSQL: SQL = """
    SELECT (q.is_automatic OR EXISTS (SELECT FROM chat_teams t
        WHERE t.workspace_id = $1::uuid AND t.assign <> 'off'))
      AND EXISTS (SELECT FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s")))
    FROM chirrup_queue($1::uuid) AS q
    """

  private static let workspacesSQL: SQL = """
    SELECT w.workspace_id FROM (
      SELECT workspace_id FROM system_settings WHERE key = 'queue' AND value LIKE '%least_busy%'
      UNION SELECT workspace_id FROM chat_teams WHERE assign <> 'off') AS w
    WHERE w.workspace_id > $1::uuid
      AND EXISTS (SELECT FROM chat_sessions s
        WHERE s.workspace_id = w.workspace_id
          AND \(ConversationQueue.contains("s")))
    ORDER BY w.workspace_id LIMIT $2::bigint
    """

  /// Each step of the recursion takes the next operator from the index `idx_chat_sessions_load`, so
  /// the statement reads one conversation of each.
  private static let holdersSQL: SQL = """
    WITH RECURSIVE holders AS (
      (SELECT s.workspace_id, s.assigned_operator_id AS operator_id FROM chat_sessions s
        WHERE s.status = 'active' AND s.deleted_at IS NULL
          AND (s.workspace_id, s.assigned_operator_id) > ($1::uuid, $2::uuid)
        ORDER BY s.workspace_id, s.assigned_operator_id LIMIT 1)
      UNION ALL
      SELECT n.* FROM holders h CROSS JOIN LATERAL (
        SELECT s.workspace_id, s.assigned_operator_id FROM chat_sessions s
        WHERE s.status = 'active' AND s.deleted_at IS NULL
          AND (s.workspace_id, s.assigned_operator_id) > (h.workspace_id, h.operator_id)
        ORDER BY s.workspace_id, s.assigned_operator_id LIMIT 1) AS n
    ), page AS MATERIALIZED (
      SELECT workspace_id, operator_id FROM holders LIMIT $3::bigint
    )
    SELECT h.workspace_id, h.operator_id, EXISTS (SELECT FROM operator_presence p
      WHERE p.workspace_id = h.workspace_id AND p.operator_id = h.operator_id
        AND NOT chirrup_is_present(p.seen_at))
    FROM page h
    """

  private static let assignSQL: SQL = """
    WITH present AS MATERIALIZED (
      SELECT o.id, o.name, l.load, p.given_at
      FROM operator_presence p JOIN operators o ON o.id = p.operator_id
      CROSS JOIN LATERAL (SELECT count(*) AS load FROM chat_sessions a
        WHERE a.workspace_id = $1::uuid AND a.assigned_operator_id = p.operator_id
          AND a.status = 'active' AND a.deleted_at IS NULL) AS l
      WHERE p.workspace_id = $1::uuid AND p.is_available AND chirrup_is_present(p.seen_at)
        AND o.disabled_at IS NULL
    ), serving AS MATERIALIZED (
      SELECT $1::uuid AS line, p.id, p.name, p.load, p.given_at, NULL::timestamptz AS overflow
      FROM chirrup_queue($1::uuid) AS q JOIN present p ON q.is_automatic AND p.load < q.capacity
      UNION ALL
      SELECT t.id, p.id, p.name, CASE WHEN t.assign = 'round_robin' THEN 0 ELSE p.load END,
        CASE WHEN t.assign = 'round_robin' THEN m.given_at ELSE p.given_at END,
        CASE WHEN m.operator_id IS NULL
          THEN now() - make_interval(mins => t.overflow_after_minutes) END
      FROM chirrup_queue($1::uuid) AS q JOIN chat_teams t ON t.workspace_id = $1::uuid
      CROSS JOIN present p
      LEFT JOIN chat_team_members m
        ON m.workspace_id = $1::uuid AND m.team_id = t.id AND m.operator_id = p.id
      WHERE coalesce(t.assign <> 'off', q.is_automatic)
        AND p.load < CASE WHEN m.operator_id IS NULL THEN q.capacity
          ELSE coalesce(t.capacity, q.capacity) END
        AND (m.operator_id IS NOT NULL OR t.overflow_after_minutes IS NOT NULL
          AND NOT EXISTS (SELECT FROM present h JOIN chat_team_members n ON n.operator_id = h.id
            WHERE n.workspace_id = $1::uuid AND n.team_id = t.id))
    ), front AS MATERIALIZED (
      SELECT l.line, s.*
      FROM (SELECT DISTINCT line, overflow FROM serving) AS l
      CROSS JOIN LATERAL (
        SELECT s.id, s.\(ConversationQueue.entryTime), s.returned_by
        FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s"))
          AND \(ConversationQueue.line("s")) = l.line AND s.assigned_operator_id IS NULL
          AND (l.overflow IS NULL OR \(ConversationQueue.waitsForTeamSince("s")) <= l.overflow)
        ORDER BY \(ConversationQueue.order("s")) LIMIT 100) AS s
    ), choice AS MATERIALIZED (
      SELECT f.id AS session, f.line, c.id AS receiver, c.name
      FROM front f CROSS JOIN LATERAL (SELECT v.id, v.name FROM serving v
        WHERE v.line = f.line AND v.id IS DISTINCT FROM f.returned_by
        ORDER BY v.load, v.given_at NULLS FIRST, v.id LIMIT 1) AS c
      ORDER BY \(ConversationQueue.order("f")) LIMIT 1
    ), target AS (
      SELECT s.id, c.line, c.receiver, c.name
      FROM choice c JOIN chat_sessions s ON s.id = c.session
      WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.line("s")) = c.line
        AND \(ConversationQueue.isUnclaimed("s"))
      FOR UPDATE OF s
    ), noted AS (
      UPDATE operator_presence p SET given_at = clock_timestamp()
      FROM target t WHERE p.workspace_id = $1::uuid AND p.operator_id = t.receiver
    ), turned AS (
      UPDATE chat_team_members m SET given_at = clock_timestamp() FROM target t
      WHERE m.workspace_id = $1::uuid AND m.team_id = t.line AND m.operator_id = t.receiver
    )
    SELECT t.id, t.name, CASE WHEN t.id IS NOT NULL THEN chirrup_change(
      $1::uuid, t.id, 'assigned', t.receiver, t.name, NULL, NULL, gen_random_uuid(),
      t.name || ' joined', jsonb_build_object('event', 'assigned',
        'operator', jsonb_build_object('id', t.receiver, 'name', t.name))) END
    FROM choice c LEFT JOIN target t ON true
    """

  /// Locks the rows in the order of their ids, as a batch of messages does.
  private static let releaseSQL: SQL = """
    WITH gone AS MATERIALIZED (
      SELECT p.operator_id, o.name, now() - q.reassign_after AS since
      FROM chirrup_queue($1::uuid) AS q
      JOIN operator_presence p ON p.workspace_id = $1::uuid
      JOIN operators o ON o.id = p.operator_id
      WHERE q.reassign_after <= make_interval(secs => $2::bigint)
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
