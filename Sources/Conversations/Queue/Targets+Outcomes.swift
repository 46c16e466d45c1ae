public import Directory
import Postgres
public import Primitives

/// How many targets were due, and how many of these were missed: by day, operator, team, channel or
/// tag.
extension Targets {
  /// Of the first response and of the resolution.
  public struct Outcome: Sendable, Equatable {
    public var missed: [Int64] = [0, 0]
    public var due: [Int64] = [0, 0]

    public init() {}

    public static func += (sum: inout Outcome, other: Outcome) {
      for at in sum.due.indices {
        sum.missed[at] += other.missed[at]
        sum.due[at] += other.due[at]
      }
    }
  }

  /// Those that were due on these days of the workspace's time zone, until now, by the key of the
  /// group or by day as `2026-11-22`.
  public static func outcomes(
    by grouping: Analytics.Grouping?, of scope: Analytics.Scope = .all, in workspace: Identifier,
    from: String, to: String, zone: String
  ) -> Statement<[String: Outcome]> {
    let (response, resolution, more): (SQL, SQL, SQL) =
      switch grouping {
      case nil:
        (
          "(t.response_at AT TIME ZONE $5::text)::date",
          "(t.resolution_at AT TIME ZONE $5::text)::date", ""
        )
      case .operators: ("f.operator_id", "f.operator_id", "")
      case .teams: ("f.team_id", "f.team_id", "")
      case .channels:
        (
          "s.channel", "s.channel",
          "JOIN chat_sessions s ON s.workspace_id = f.workspace_id AND s.id = f.session_id"
        )
      case .tags: ("g.tag", "g.tag", "CROSS JOIN LATERAL unnest(f.tags) AS g (tag)")
      }
    let parameters: [Parameter] = [
      .uuid(workspace), .text(from), .text(to), scope.key, .text(zone),
    ]
    return Statement(
      Query(
        outcomesSQL(by: response, resolution, with: more, where: scope.condition), parameters
      ).plannedAnew()
    ) { rows in
      var outcomes: [String: Outcome] = [:]
      for row in 0..<rows.count {
        guard let key = rows.text(row, 0) else { continue }
        var outcome = Outcome()
        outcome.missed = [rows.int(row, 1) ?? 0, rows.int(row, 2) ?? 0]
        outcome.due = [rows.int(row, 3) ?? 0, rows.int(row, 4) ?? 0]
        outcomes[key] = outcome
      }
      return outcomes
    }
  }

  /// A conversation belongs to the operator, team, channel and tags that the other figures have for
  /// it. It is read once for both targets, which may be due on two days.
  ///
  /// - Parameters:
  ///   - response, resolution: the keys by which the two targets are counted.
  ///   - condition: those of the scope; `$4` is its key, also if no condition uses it.
  private static func outcomesSQL(
    by response: SQL, _ resolution: SQL, with more: SQL, where condition: SQL
  ) -> SQL {
    """
    WITH span AS MATERIALIZED (
      SELECT $2::text::date::timestamp AT TIME ZONE $5::text AS first,
        least(now(), ($3::text::date + 1)::timestamp AT TIME ZONE $5::text) AS behind
    ), targets AS (
      SELECT session_id, first_response_missed_at, resolution_missed_at,
        coalesce(first_response_missed_at, first_response_due_at) AS response_at,
        coalesce(resolution_missed_at, resolution_due_at) AS resolution_at
      FROM chat_targets WHERE workspace_id = $1::uuid AND $4::text IS NOT NULL
    ), counts AS (
      SELECT \(response) AS response_key, \(resolution) AS resolution_key,
        count(t.first_response_missed_at) FILTER (WHERE \(isInSpan("t.response_at"))) AS late,
        count(t.resolution_missed_at) FILTER (WHERE \(isInSpan("t.resolution_at"))) AS overdue,
        count(*) FILTER (WHERE \(isInSpan("t.response_at"))) AS responses,
        count(*) FILTER (WHERE \(isInSpan("t.resolution_at"))) AS resolutions
      FROM targets t LEFT JOIN chat_analytics_sessions f
        ON f.workspace_id = $1::uuid AND f.session_id = t.session_id
      \(more)
      WHERE true \(condition)
      GROUP BY 1, 2
    )
    SELECT key::text, sum(late)::bigint, sum(overdue)::bigint, sum(responses)::bigint,
      sum(resolutions)::bigint
    FROM (
      SELECT response_key AS key, late, 0 AS overdue, responses, 0 AS resolutions FROM counts
      UNION ALL SELECT resolution_key, 0, overdue, 0, resolutions FROM counts
    ) AS sides
    GROUP BY key HAVING sum(responses) + sum(resolutions) > 0
    """
  }

  private static func isInSpan(_ time: SQL) -> SQL {
    "\(time) >= (SELECT first FROM span) AND \(time) < (SELECT behind FROM span)"
  }
}
