/// The number of conversations by status. Only open ones are counted row by row; triggers maintain
/// the number of closed ones (`closed_counts`), so the cost does not grow with the history.
public import Directory
import Postgres
public import Primitives
import SharedSQL

public struct ConversationCounts: Sendable {
  public var waiting: Int64
  public var active: Int64
  public var closed: Int64
  /// Open conversations of the calling operator.
  public var mine: Int64

  public static func of(_ workspace: Identifier, me: Identifier) -> Statement<ConversationCounts> {
    Statement(
      Query(
        """
        SELECT
          count(*) FILTER (WHERE s.status = 'waiting'),
          count(*) FILTER (WHERE s.status = 'active'),
          (SELECT coalesce(sum(c.closed), 0)::bigint FROM closed_counts c
            WHERE c.workspace_id = $1::uuid),
          count(*) FILTER (WHERE s.assigned_operator_id = $2::uuid)
        FROM \(ConversationQueue.open(of: "$1::uuid")) AS s
        """, [.uuid(workspace), .uuid(me)])
    ) { rows in
      ConversationCounts(
        waiting: rows.int(0, 0) ?? 0, active: rows.int(0, 1) ?? 0, closed: rows.int(0, 2) ?? 0,
        mine: rows.int(0, 3) ?? 0)
    }
  }
}

extension ConversationList {
  /// The length of this list, if it follows from the workspace's counts; nil: see `countMatches`.
  public func total(_ counts: ConversationCounts) -> Int64? {
    guard assignee == nil, !isUnassigned, search == nil, tag == nil, visitor == nil,
      team == nil, !isWithoutTeam,
      ofOpen.isEmpty
    else { return nil }
    return switch status {
    case "waiting": counts.waiting
    case "active": counts.active
    case "open": counts.waiting + counts.active
    case "closed": counts.closed
    default: counts.waiting + counts.active + counts.closed
    }
  }

  /// Counts the conversations that match the filters.
  public func countMatches(in workspace: Identifier) -> Statement<Int64> {
    let parameters: [Parameter] = [
      .uuid(workspace), .text(statuses), .uuid(assignee), .bool(isUnassigned), .text(pattern),
      .uuid(visitor), .uuid(team), .bool(isWithoutTeam),
    ]
    let query =
      if status == "waiting" || status == "active" || status == "open" {
        Query(ConversationList.countOfOpen, parameters + [.text(tag)] + ofOpen.parameters)
      } else if let tag {
        Query(ConversationList.countOfTag, parameters + [.text(tag)])
      } else {
        Query(ConversationList.count, parameters)
      }
    return Statement(query.plannedAnew()) { $0.int(0, 0) ?? 0 }
  }

  private static let count: SQL = """
    SELECT count(*) FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($6::uuid IS NULL OR s.user_id = $6::uuid)
      AND \(isOfTeam("$7", isWithout: "$8"))
      AND \(isFound)
    """

  /// See `ConversationList.tagged`.
  private static let countOfTag: SQL = """
    WITH tagged AS MATERIALIZED (
      SELECT t.session_id FROM session_tags t
      WHERE t.workspace_id = $1::uuid AND t.tag = $9::text
    )
    SELECT count(*) FROM tagged t JOIN chat_sessions s ON s.id = t.session_id
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($6::uuid IS NULL OR s.user_id = $6::uuid)
      AND \(isOfTeam("$7", isWithout: "$8"))
      AND \(isFound)
    """

  private static let matchesCounted = OpenFilters.matches(
    language: "$10", minutes: "$11", name: "$12", value: "$13", due: "$14",
    channel: "$15")

  /// See `ConversationList.open`.
  private static let countOfOpen: SQL = """
    SELECT count(*) FROM \(ConversationQueue.open(of: "$1::uuid")) AS s
    WHERE s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($6::uuid IS NULL OR s.user_id = $6::uuid)
      AND \(isOfTeam("$7", isWithout: "$8"))
      AND \(isFoundOfFew)
      AND ($9::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $9::text))
      AND \(matchesCounted)
    """
}
