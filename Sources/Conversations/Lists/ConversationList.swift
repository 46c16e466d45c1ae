public import Directory
import Postgres
public import Primitives
import SharedSQL

/// Which conversations are listed, in which order, from where on.
///
/// A page begins after a cursor, the position of the last row before it (its time and id), so that
/// a row that moves meanwhile is neither a duplicate nor a hole of the others. Newest activity
/// comes first; of the waiting ones, who has waited longest; of the closed ones, the last to be
/// closed.
public struct ConversationList: Sendable {
  public var status: String?
  public var assignee: Identifier?
  public var isUnassigned = false
  public var tag: String?
  public var visitor: Identifier?
  public var search: String?
  public var limit: Int
  public var position: Position?

  public struct Position: Equatable, Sendable {
    /// Of the last change (`updated_at`, by which clients sort too), since when it waits, or when
    /// it was closed.
    public var at: WallTime
    public var id: Identifier

    public init(at: WallTime, id: Identifier) {
      self.at = at
      self.id = id
    }
  }

  /// - Parameter limit: rows of a page.
  public init(limit: Int) { self.limit = limit }

  /// The statuses that `status` means, as they stand in the statements.
  var statuses: String {
    switch status {
    case nil: "waiting,active,closed"
    case "open": "waiting,active"
    case let status?: status
    }
  }

  /// One position more than `limit`, which says whether a page follows. The orders are texts of
  /// their own, so that the planner knows what it sorts, and each is planned for its filters: who
  /// waits and what is open is found by the index of statuses, a visitor's by theirs, and the
  /// closed ones come sorted out of their own.
  public func page(of workspace: Identifier) -> Statement<[Position]> {
    let parameters: [Parameter] = [
      .uuid(workspace), .text(statuses), .uuid(assignee), .bool(isUnassigned), .text(pattern),
      .time(position?.at), .uuid(position?.id), .int(Int64(limit) + 1), .uuid(visitor),
    ]
    return switch status {
    case "waiting": positions(ConversationList.oldest, parameters + [.text(tag)])
    case "open", "active": positions(ConversationList.open, parameters + [.text(tag)])
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

  /// Where many rows are searched, the visitors of that name are found once, and not the name of
  /// each row's visitor.
  private static let newest: SQL = """
    SELECT s.updated_at AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR s.user_id IN (SELECT v.id FROM visitors v
          WHERE v.workspace_id = $1::uuid AND v.name ILIKE $5::text))
      AND ($6::timestamptz IS NULL
        OR (s.updated_at, s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  /// Few: their visitors' names are looked up one by one.
  private static let open: SQL = """
    SELECT s.updated_at AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR (SELECT v.name FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) ILIKE $5::text)
      AND ($10::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $10::text))
      AND ($6::timestamptz IS NULL
        OR (s.updated_at, s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  private static let oldest: SQL = """
    SELECT \(ConversationQueue.listTime("s")) AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR (SELECT v.name FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) ILIKE $5::text)
      AND ($10::text IS NULL OR EXISTS (SELECT FROM session_tags t
        WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = $10::text))
      AND ($6::timestamptz IS NULL
        OR (\(ConversationQueue.listTime("s")), s.id) > ($6::timestamptz, $7::uuid))
    ORDER BY at, s.id LIMIT $8::bigint
    """

  /// Latest closed first, as `chat_sessions_closed_at` has them.
  private static let closed: SQL = """
    SELECT coalesce(s.closed_at, s.created_at) AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = ANY (string_to_array($2::text, ','))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR s.user_id IN (SELECT v.id FROM visitors v
          WHERE v.workspace_id = $1::uuid AND v.name ILIKE $5::text))
      AND ($6::timestamptz IS NULL
        OR (coalesce(s.closed_at, s.created_at), s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  /// Of many rows those with a tag, closed ones or all. Row security hides from the planner how
  /// many rows it joins, so the tag's are read once; else it would look for the tag of each.
  private static let tagged: SQL = """
    WITH tagged AS MATERIALIZED (
      SELECT t.session_id FROM session_tags t
      WHERE t.workspace_id = $1::uuid AND t.tag = $10::text
    ), found AS (
      SELECT s.id, CASE WHEN $2::text = 'closed' THEN coalesce(s.closed_at, s.created_at)
        ELSE s.updated_at END AS at
      FROM tagged t JOIN chat_sessions s ON s.id = t.session_id
      WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
        AND s.status = ANY (string_to_array($2::text, ','))
        AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
        AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
        AND ($9::uuid IS NULL OR s.user_id = $9::uuid)
        AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
          OR s.user_id IN (SELECT v.id FROM visitors v
            WHERE v.workspace_id = $1::uuid AND v.name ILIKE $5::text))
    )
    SELECT at, id FROM found
    WHERE $6::timestamptz IS NULL OR (at, id) < ($6::timestamptz, $7::uuid)
    ORDER BY at DESC, id DESC LIMIT $8::bigint
    """

  var pattern: String? { search.map { likePattern($0) } }
}

/// A search text as a pattern of `ILIKE`, in which it means itself.
func likePattern(_ text: String) -> String {
  var pattern = "%"
  for character in text.unicodeScalars {
    if character == "\\" || character == "%" || character == "_" { pattern += "\\" }
    pattern.unicodeScalars.append(character)
  }
  return pattern + "%"
}
