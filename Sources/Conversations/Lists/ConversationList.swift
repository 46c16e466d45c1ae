public import Directory
import Postgres
public import Primitives
import SharedSQL

/// The filters of a list of conversations, and the position of a page in it.
///
/// The latest activity comes first; among waiting conversations the longest waiting, among closed
/// ones the last closed. A page continues after the time and id of the row before it, so that a row
/// that moves between two pages neither hides nor repeats another one.
public struct ConversationList: Sendable {
  public var status: String?
  public var assignee: Identifier?
  public var isUnassigned = false
  public var tag: String?
  public var team: Identifier?
  public var isWithoutTeam = false
  public var visitor: Identifier?
  public var search: String?
  /// Further filters of the statuses `waiting`, `active` and `open`; others ignore them.
  public var ofOpen = OpenFilters()
  public var limit: Int
  public var position: Position?

  public struct Position: Equatable, Sendable {
    /// The time of the last change (`updated_at`, by which clients sort too), of the entry into
    /// the queue, or of the close.
    public var at: WallTime
    public var id: Identifier

    public init(at: WallTime, id: Identifier) {
      self.at = at
      self.id = id
    }
  }

  /// - Parameter limit: rows of a page.
  public init(limit: Int) { self.limit = limit }

  /// The statuses that `status` selects, separated by commas.
  var statuses: String {
    switch status {
    case nil: "waiting,active,closed"
    case "open": "waiting,active"
    case let status?: status
    }
  }

  /// The positions of a page, and one more if another page follows. Each order is a statement of
  /// its own, planned for its parameters: open conversations are found by the index of statuses, a
  /// visitor's by the index of visitors, and closed ones come sorted from their own index.
  public func page(of workspace: Identifier) -> Statement<[Position]> {
    let parameters: [Parameter] = [
      .uuid(workspace), .text(statuses), .uuid(assignee), .bool(isUnassigned), .text(pattern),
      .time(position?.at), .uuid(position?.id), .int(Int64(limit) + 1), .uuid(visitor),
      .uuid(team), .bool(isWithoutTeam),
    ]
    return switch status {
    case "waiting":
      positions(ConversationList.oldest, parameters + [.text(tag)] + ofOpen.parameters)
    case "open", "active":
      positions(ConversationList.open, parameters + [.text(tag)] + ofOpen.parameters)
    case _ where tag != nil: positions(ConversationList.tagged, parameters + [.text(tag)])
    case "closed": positions(ConversationList.closed, parameters)
    default: positions(ConversationList.newest, parameters)
    }
  }

  private func positions(
    _ sql: SQL, _ parameters: [Parameter]
  ) -> Statement<[Position]> {
    Statement(Query(sql, parameters).plannedAnew()) { rows in
      (0..<rows.count).compactMap { row in
        guard let at = rows.time(row, 0), let id = rows.uuid(row, 1) else { return nil }
        return Position(at: at, id: id)
      }
    }
  }

  private static let newest: SQL = """
    SELECT s.updated_at AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND \(isOfTeam("$10", isWithout: "$11"))
      AND \(isFound)
      AND ($6::timestamptz IS NULL
        OR (s.updated_at, s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  private static let open: SQL = """
    SELECT s.updated_at AS at, s.id
    FROM \(ConversationQueue.open(of: "$1::uuid")) AS s
    WHERE s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND \(isOfTeam("$10", isWithout: "$11"))
      AND \(isFoundOfFew)
      AND ($12::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $12::text))
      AND \(matchesOfOpen)
      AND ($6::timestamptz IS NULL
        OR (s.updated_at, s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  private static let matchesOfOpen = OpenFilters.matches(
    language: "$13", minutes: "$14", name: "$15", value: "$16", due: "$17",
    channel: "$18")

  private static let oldest: SQL = """
    SELECT \(ConversationQueue.listTime("s")) AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND \(isOfTeam("$10", isWithout: "$11"))
      AND \(isFoundOfFew)
      AND ($12::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $12::text))
      AND \(matchesOfOpen)
      AND ($6::timestamptz IS NULL
        OR (\(ConversationQueue.listTime("s")), s.id) > ($6::timestamptz, $7::uuid))
    ORDER BY at, s.id LIMIT $8::bigint
    """

  /// The order of the index `chat_sessions_closed_at`.
  private static let closed: SQL = """
    SELECT coalesce(s.closed_at, s.created_at) AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND \(isOfTeam("$10", isWithout: "$11"))
      AND \(isFound)
      AND ($6::timestamptz IS NULL
        OR (coalesce(s.closed_at, s.created_at), s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  /// Closed or all conversations with a tag. Row security hides the number of rows from the
  /// planner, which would look up the tag of each row; the CTE reads the tag's rows once instead.
  private static let tagged: SQL = """
    WITH tagged AS MATERIALIZED (
      SELECT t.session_id FROM session_tags t
      WHERE t.workspace_id = $1::uuid AND t.tag = $12::text
    ), found AS (
      SELECT s.id, CASE WHEN $2::text = 'closed' THEN coalesce(s.closed_at, s.created_at)
        ELSE s.updated_at END AS at
      FROM tagged t JOIN chat_sessions s ON s.id = t.session_id
      WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
        AND s.status = ANY (string_to_array($2::text, ','))
        AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
        AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
        AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
        AND \(isOfTeam("$10", isWithout: "$11"))
        AND \(isFound)
    )
    SELECT at, id FROM found
    WHERE $6::timestamptz IS NULL OR (at, id) < ($6::timestamptz, $7::uuid)
    ORDER BY at DESC, id DESC LIMIT $8::bigint
    """

  /// Both parameters are constants of the plan, which then has one condition or none.
  static func isOfTeam(_ team: SQL, isWithout: SQL) -> SQL {
    """
    (\(team)::uuid IS NULL OR s.team_id = \(team)::uuid)
          AND (NOT \(isWithout)::boolean OR s.team_id IS NULL)
    """
  }
}
