import Directory
import OpenSSL
import Postgres
import Primitives

/// Which conversations are listed, in which order, from where on.
///
/// A page begins after a cursor, the position of the last row before it (its time and id), so that
/// a row that moves meanwhile is neither a duplicate nor a hole of the others. Newest activity
/// comes first; of the waiting ones, who has waited longest; of the closed ones, the last to be
/// closed.
struct ConversationList {
  var status: String?
  var assignee: Identifier?
  var isUnassigned = false
  var tag: String?
  var visitor: Identifier?
  var search: String?
  var limit = APILimits.conversationsDefault
  var position: Position?

  struct Position: Equatable, Sendable {
    /// Of the last change (`updated_at`, by which clients sort too), since when it waits, or when
    /// it was closed.
    var at: WallTime
    var id: Identifier
  }

  var isOldestFirst: Bool { status == "waiting" }

  init(
    _ query: QueryString, me: Identifier, workspace: Identifier
  ) throws(Problem) {
    if let text = query.formed("status") {
      guard ["waiting", "active", "closed", "open", "all"].contains(text) else {
        throw .invalid("The parameter “status” must be waiting, active, closed, open or all.")
      }
      status = text == "all" ? nil : text
    }
    switch query.formed("assignee") {
    case nil: break
    case "me"?: assignee = me
    case "none"?: isUnassigned = true
    case let text?:
      guard let id = Identifier(text) else {
        throw .invalid("The parameter “assignee” must be me, none or an operator's id.")
      }
      assignee = id
    }
    tag = query["tag"]
    if let text = query.formed("visitor") {
      guard let id = Identifier(text) else {
        throw .invalid("The parameter “visitor” must be a visitor's id.")
      }
      visitor = id
    }
    search = query["q"]
    guard (search?.utf8.count ?? 0) <= APILimits.searchBytes else {
      throw .invalid("The parameter “q” may have at most \(APILimits.searchBytes) bytes.")
    }
    if let limit = try query.int("limit", in: 1...Int64(APILimits.conversations)) {
      self.limit = Int(limit)
    }
    if let cursor = query["cursor"] {
      guard let position = decodeCursor(cursor, workspace: workspace) else {
        throw .invalid(
          "The cursor is not one of this list; start again without it, with the same filters.")
      }
      self.position = position
    }
  }

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
  func page(of workspace: Identifier) -> Statement<[Position]> {
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
    _ sql: StaticString, _ parameters: [Parameter]
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
  private static let newest: StaticString = """
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
  private static let open: StaticString = """
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

  private static let oldest: StaticString = """
    SELECT coalesce(s.waiting_since, s.created_at) AS at, s.id
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
        OR (coalesce(s.waiting_since, s.created_at), s.id) > ($6::timestamptz, $7::uuid))
    ORDER BY at, s.id LIMIT $8::bigint
    """

  /// Latest closed first, as `chat_sessions_closed_at` has them.
  private static let closed: StaticString = """
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
  private static let tagged: StaticString = """
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

/// Cursors: 8 bytes of a check, 8 of the time, 16 of the id, in base64url. The check covers the
/// filters and the workspace too, so a cursor of another list is refused like a damaged one. It is
/// no secret: a position reveals nothing, and every page is bound to the workspace by its
/// statement.
extension ConversationList {
  func encodeCursor(_ position: Position, workspace: Identifier) -> String {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt64(bitPattern: position.at.microseconds))
    position.id.appendBytes(to: &bytes)
    return Base64.url.encode(check(bytes, workspace) + bytes)
  }

  func decodeCursor(_ text: String, workspace: Identifier) -> Position? {
    guard text.utf8.count <= 64, let bytes = Base64.url.decode(text.utf8), bytes.count == 32
    else { return nil }
    let content = Array(bytes[8...])
    guard check(content, workspace) == Array(bytes[..<8]) else { return nil }
    return content.withRawSpan { span in
      let microseconds = Int64(bitPattern: span.uint64(at: 0))
      // The check is no signature: whoever computes one must still not bring a time beyond all
      // calendars.
      guard (0...253_402_300_799_999_999).contains(microseconds) else { return nil }
      return Position(
        at: WallTime(microseconds: microseconds),
        id: Identifier(high: span.uint64(at: 8), low: span.uint64(at: 16)))
    }
  }

  private func check(_ content: [UInt8], _ workspace: Identifier) -> [UInt8] {
    var bytes = content
    workspace.appendBytes(to: &bytes)
    let filters = [
      status, assignee?.description, isUnassigned ? "none" : nil, search, tag, visitor?.description,
    ]
    for part in filters {
      bytes.append(part ?? "")
      bytes.append(0)
    }
    return Array(SHA256.digest(bytes)[..<8])
  }
}
