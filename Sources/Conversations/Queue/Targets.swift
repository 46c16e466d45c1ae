public import Directory
import Postgres
public import Primitives
import SharedSQL

/// The targets (SLA) of a workspace and its teams: by when a conversation gets its first response
/// and is closed, in business hours. `chat_targets` has them for each conversation.
///
/// They are computed once, when a conversation has entered the queue, and again when its team or
/// the minutes of the target change; a change of the hours is for later conversations. A target
/// that is missed stays missed. A conversation that is reopened starts again.
public enum Targets: String, CaseIterable, Sendable {
  case firstResponse = "first_response"
  case resolution

  /// Conversations of one statement.
  public static let computedMax: Int64 = 200

  /// The workspaces after this one that have targets, or conversations with targets.
  public static func workspaces(
    after last: Identifier, limit: Int64
  ) -> Statement<[Identifier]> {
    Statement(Query(workspacesSQL, [.uuid(last), .int(limit)])) { rows in
      (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }
  }

  private static let workspacesSQL: SQL = """
    SELECT id FROM (
      (SELECT workspace_id AS id FROM system_settings WHERE key = 'queue'
        AND value ~ '"(first_response|resolution)_minutes" *: *[1-9]'
        AND workspace_id > $1::uuid ORDER BY workspace_id LIMIT $2::bigint)
      UNION
      (SELECT DISTINCT workspace_id FROM chat_teams
        WHERE (first_response_minutes > 0 OR resolution_minutes > 0) AND workspace_id > $1::uuid
        ORDER BY workspace_id LIMIT $2::bigint)
      UNION
      (SELECT DISTINCT workspace_id FROM chat_targets
        WHERE NOT is_settled AND workspace_id > $1::uuid ORDER BY workspace_id LIMIT $2::bigint)
    ) AS found ORDER BY id LIMIT $2::bigint
    """

  /// Computes the targets of at most `computedMax` open conversations that have none, or those of
  /// another team or of former minutes. Returns them.
  public static func compute(in workspace: Identifier) -> Statement<[Identifier]> {
    Statement(Query(computeSQL, [.uuid(workspace), .int(computedMax)])) { rows in
      (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }
  }

  private static let computeSQL: SQL = """
    WITH own AS MATERIALIZED (
      SELECT chirrup_target_minutes(q, 'first_response_minutes') AS first,
        chirrup_target_minutes(q, 'resolution_minutes') AS resolution,
        chirrup_setting_value($1::uuid, 'hours') AS hours
      FROM (SELECT chirrup_setting_value($1::uuid, 'queue') AS q OFFSET 0) AS setting
    ), rules AS MATERIALIZED (
      SELECT NULL::uuid AS team, first, resolution, hours FROM own
      UNION ALL
      SELECT t.id, coalesce(t.first_response_minutes, own.first),
        coalesce(t.resolution_minutes, own.resolution), coalesce(t.hours, own.hours)
      FROM chat_teams t, own WHERE t.workspace_id = $1::uuid
    ), due AS MATERIALIZED (
      SELECT s.id, s.team_id, r.first, r.resolution, r.hours,
        CASE WHEN t.is_settled IS NOT FALSE THEN \(ConversationQueue.targetTime("s"))
          ELSE t.started_at END AS started_at
      FROM \(ConversationQueue.open(of: "$1::uuid")) AS s
      JOIN rules r ON r.team IS NOT DISTINCT FROM s.team_id
      LEFT JOIN chat_targets t ON t.workspace_id = $1::uuid AND t.session_id = s.id
      WHERE \(ConversationQueue.hasBegun("s"))
        AND CASE WHEN t.session_id IS NULL THEN r.first > 0 OR r.resolution > 0
          ELSE t.is_settled OR t.team_id IS DISTINCT FROM s.team_id
            OR t.first_response_minutes <> r.first OR t.resolution_minutes <> r.resolution END
      ORDER BY s.id LIMIT $2::bigint
    )
    INSERT INTO chat_targets AS t (workspace_id, session_id, started_at, team_id,
      first_response_minutes, resolution_minutes, first_response_due_at, resolution_due_at)
    SELECT $1::uuid, id, started_at, team_id, first, resolution,
      CASE WHEN first > 0 THEN chirrup_due(hours, started_at, first) END,
      CASE WHEN resolution > 0 THEN chirrup_due(hours, started_at, resolution) END
    FROM due
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET started_at = excluded.started_at,
      team_id = excluded.team_id, first_response_minutes = excluded.first_response_minutes,
      resolution_minutes = excluded.resolution_minutes,
      first_response_due_at = excluded.first_response_due_at,
      resolution_due_at = excluded.resolution_due_at, is_settled = false
    RETURNING session_id
    """

  /// Records which targets were missed, and which conversations have ended. Returns those that have
  /// changed. It reads the conversations that are open or ended since.
  public static func settle(in workspace: Identifier) -> Statement<[Identifier]> {
    Statement(Query(settleSQL, [.uuid(workspace), .int(computedMax)])) { rows in
      (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }
  }

  private static let settleSQL: SQL = """
    WITH news AS MATERIALIZED (
      SELECT t.session_id, e.has_ended,
        CASE WHEN t.first_response_due_at < coalesce(s.first_response_at, e.until)
          THEN t.first_response_due_at END AS first_missed,
        CASE WHEN t.resolution_due_at < e.until THEN t.resolution_due_at END AS resolution_missed
      FROM chat_targets t
      JOIN chat_sessions s ON s.workspace_id = $1::uuid AND s.id = t.session_id
      CROSS JOIN LATERAL (SELECT s.status = 'closed' OR s.deleted_at IS NOT NULL AS has_ended,
        coalesce(CASE WHEN s.status = 'closed' THEN s.closed_at END, s.deleted_at, now()) AS until
        OFFSET 0) AS e
      WHERE t.workspace_id = $1::uuid AND NOT t.is_settled
    ), due AS (
      SELECT t.session_id FROM news n JOIN chat_targets t
        ON t.workspace_id = $1::uuid AND t.session_id = n.session_id
      WHERE NOT t.is_settled AND (n.has_ended
        OR t.first_response_missed_at IS NULL AND n.first_missed IS NOT NULL
        OR t.resolution_missed_at IS NULL AND n.resolution_missed IS NOT NULL)
      ORDER BY t.session_id LIMIT $2::bigint FOR UPDATE OF t SKIP LOCKED
    )
    UPDATE chat_targets t SET is_settled = n.has_ended,
      first_response_missed_at = coalesce(t.first_response_missed_at, n.first_missed),
      resolution_missed_at = coalesce(t.resolution_missed_at, n.resolution_missed)
    FROM due d JOIN news n ON n.session_id = d.session_id
    WHERE t.workspace_id = $1::uuid AND t.session_id = d.session_id
    RETURNING t.session_id
    """

  /// The next time that a target of the conversation `s` is due, of its row `t` in `chat_targets`;
  /// NULL: none is. What is due first is the first response, if its time is not later.
  static func nextDue(_ s: SQL, _ t: SQL) -> SQL {
    """
    CASE WHEN \(s).status <> 'closed' AND NOT \(t).is_settled THEN
      least(CASE WHEN \(s).first_response_at IS NULL THEN \(t).first_response_due_at END,
        \(t).resolution_due_at) END
    """
  }
}
