public import Directory
import Postgres
public import Primitives

/// How many targets were due, and how many of these were missed: by day, operator, team or tag.
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
    let (key, more): (SQL, SQL) =
      switch grouping {
      case nil: ("(d.at AT TIME ZONE $5::text)::date::text", "")
      case .operators: ("f.operator_id::text", "")
      case .teams: ("f.team_id::text", "")
      case .tags: ("g.tag", "CROSS JOIN LATERAL unnest(f.tags) AS g (tag)")
      }
    let parameters: [Parameter] = [
      .uuid(workspace), .text(from), .text(to), scope.key, .text(zone),
    ]
    return Statement(
      Query(outcomesSQL(by: key, with: more, where: scope.condition), parameters)
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

  /// A conversation belongs to the operator, team and tags that the other figures have for it.
  private static func outcomesSQL(by key: SQL, with more: SQL, where condition: SQL) -> SQL {
    """
    WITH span AS (SELECT $2::text::date::timestamp AT TIME ZONE $5::text AS first,
      least(now(), ($3::text::date + 1)::timestamp AT TIME ZONE $5::text) AS behind)
    SELECT \(key), count(*) FILTER (WHERE d.is_missed AND d.is_response),
      count(*) FILTER (WHERE d.is_missed AND NOT d.is_response),
      count(*) FILTER (WHERE d.is_response), count(*) FILTER (WHERE NOT d.is_response)
    FROM chat_targets t CROSS JOIN span
    CROSS JOIN LATERAL (VALUES
      (true, coalesce(t.first_response_missed_at, t.first_response_due_at),
        t.first_response_missed_at IS NOT NULL),
      (false, coalesce(t.resolution_missed_at, t.resolution_due_at),
        t.resolution_missed_at IS NOT NULL)) AS d (is_response, at, is_missed)
    LEFT JOIN chat_analytics_sessions f
      ON f.workspace_id = $1::uuid AND f.session_id = t.session_id
    \(more)
    WHERE t.workspace_id = $1::uuid AND d.at >= span.first AND d.at < span.behind
      AND $4::text IS NOT NULL \(condition)
    GROUP BY 1
    """
  }
}
