/// How many conversations there are. Only open ones are ever counted row by row: how many are
/// closed is kept by triggers (`closed_counts`), so an inbox with 100,000 of them costs the same.
import Directory
import Postgres
import Primitives

struct ConversationCounts: Sendable {
  var waiting: Int64
  var active: Int64
  var closed: Int64
  /// Open ones of the operator who asks.
  var mine: Int64

  static func of(_ workspace: Identifier, me: Identifier) -> Statement<ConversationCounts> {
    Statement(
      Query(
        """
        SELECT
          count(*) FILTER (WHERE s.status = 'waiting'),
          count(*) FILTER (WHERE s.status = 'active'),
          (SELECT coalesce(sum(c.closed), 0)::bigint FROM closed_counts c
            WHERE c.workspace_id = $1::uuid),
          count(*) FILTER (WHERE s.assigned_operator_id = $2::uuid)
        FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
          AND s.status IN ('waiting', 'active')
        """, [.uuid(workspace), .uuid(me)])
    ) { rows in
      ConversationCounts(
        waiting: rows.int(0, 0) ?? 0, active: rows.int(0, 1) ?? 0, closed: rows.int(0, 2) ?? 0,
        mine: rows.int(0, 3) ?? 0)
    }
  }
}

extension ConversationList {
  /// The length of this list where the counts of the workspace say it.
  func total(_ counts: ConversationCounts) -> Int64? {
    guard assignee == nil, !isUnassigned, search == nil, tag == nil, visitor == nil else {
      return nil
    }
    return switch status {
    case "waiting": counts.waiting
    case "active": counts.active
    case "open": counts.waiting + counts.active
    case "closed": counts.closed
    default: counts.waiting + counts.active + counts.closed
    }
  }

  /// Where it must be counted: what the filters leave.
  func countMatches(in workspace: Identifier) -> Statement<Int64> {
    let parameters: [Parameter] = [
      .uuid(workspace), .text(statuses), .uuid(assignee), .bool(isUnassigned), .text(pattern),
      .text(tag),
    ]
    let query =
      if let visitor {
        Query(ConversationList.countOfVisitor, parameters + [.uuid(visitor)])
      } else {
        Query(ConversationList.count, parameters)
      }
    return Statement(query) { $0.int(0, 0) ?? 0 }
  }

  private static let count: StaticString = """
    SELECT count(*) FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR s.user_id IN (SELECT v.id FROM visitors v
          WHERE v.workspace_id = $1::uuid AND v.name ILIKE $5::text))
      AND ($6::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $6::text))
    """

  private static let countOfVisitor: StaticString = """
    SELECT count(*) FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.user_id = $7::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR (SELECT v.name FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) ILIKE $5::text)
      AND ($6::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $6::text))
    """
}
