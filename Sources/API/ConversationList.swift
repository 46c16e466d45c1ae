import Directory
import OpenSSL
import Postgres
import Primitives

/// Which conversations are listed, in which order, from where on.
///
/// A page begins after a cursor, the position of the last row before it (its time and id), so that
/// a row that moves meanwhile is neither a duplicate nor a hole of the others. Newest activity
/// comes first; of the waiting ones, who has waited longest.
struct ConversationList {
  var status: String?
  var assignee: Identifier?
  var isUnassigned = false
  var search: String?
  var limit = APILimits.conversationsDefault
  var position: Position?

  struct Position: Equatable, Sendable {
    /// Of the last change (`updated_at`, by which clients sort too), or since when it waits.
    var at: WallTime
    var id: Identifier
  }

  var isOldestFirst: Bool { status == "waiting" }

  init(_ query: QueryString, member: Operator) throws(Problem) {
    if let text = query["status"] {
      guard ["waiting", "active", "closed", "open", "all"].contains(text) else {
        throw .invalid("The parameter “status” must be waiting, active, closed, open or all.")
      }
      status = text == "all" ? nil : text
    }
    switch query["assignee"] {
    case nil: break
    case "me"?: assignee = member.id
    case "none"?: isUnassigned = true
    case let text?:
      guard let id = Identifier(text) else {
        throw .invalid("The parameter “assignee” must be me, none or an operator's id.")
      }
      assignee = id
    }
    search = query["q"]
    guard (search?.utf8.count ?? 0) <= APILimits.searchBytes else {
      throw .invalid("The parameter “q” may have at most \(APILimits.searchBytes) bytes.")
    }
    if let limit = try query.int("limit", in: 1...Int64(APILimits.conversations)) {
      self.limit = Int(limit)
    }
    if let cursor = query["cursor"] {
      guard let position = decodeCursor(cursor, workspace: member.workspace) else {
        throw .invalid(
          "The cursor is not one of this list; start again without it, with the same filters.")
      }
      self.position = position
    }
  }

  /// One position more than `limit`, which says whether a page follows. The two orders are two
  /// texts, so that the planner knows what it sorts; those who wait are found by the index of open
  /// conversations.
  func page(of workspace: Identifier) -> Statement<[Position]> {
    let parameters: [Parameter] = [
      .uuid(workspace), .text(status), .uuid(assignee), .bool(isUnassigned), .text(pattern),
      .time(position?.at), .uuid(position?.id), .int(Int64(limit) + 1),
    ]
    return Statement(
      Query(isOldestFirst ? ConversationList.oldest : ConversationList.newest, parameters)
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let at = rows.time(row, 0), let id = rows.uuid(row, 1) else { return nil }
        return Position(at: at, id: id)
      }
    }
  }

  private static let newest: StaticString = """
    SELECT s.updated_at AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND ($2::text IS NULL OR s.status = $2::text OR ($2::text = 'open' AND s.status <> 'closed'))
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR (SELECT v.name FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) ILIKE $5::text)
      AND ($6::timestamptz IS NULL
        OR (s.updated_at, s.id) < ($6::timestamptz, $7::uuid))
    ORDER BY at DESC, s.id DESC LIMIT $8::bigint
    """

  /// The status is written out, so that the planner knows how few these are; `$2` says the same.
  private static let oldest: StaticString = """
    SELECT coalesce(s.waiting_since, s.created_at) AS at, s.id
    FROM chat_sessions s
    WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
      AND s.status = 'waiting' AND $2::text = 'waiting'
      AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
      AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
      AND ($5::text IS NULL OR s.title ILIKE $5::text OR s.last_message_preview ILIKE $5::text
        OR (SELECT v.name FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) ILIKE $5::text)
      AND ($6::timestamptz IS NULL
        OR (coalesce(s.waiting_since, s.created_at), s.id) > ($6::timestamptz, $7::uuid))
    ORDER BY at, s.id LIMIT $8::bigint
    """

  /// The figures of the whole workspace, and `total` of this list.
  struct Counts: Sendable {
    var total: Int64
    var waiting: Int64
    var active: Int64
    var closed: Int64
    var mine: Int64
  }

  func counts(of workspace: Identifier, me: Identifier) -> Statement<Counts> {
    Statement(
      Query(
        """
        SELECT
          count(*) FILTER (WHERE ($2::text IS NULL OR s.status = $2::text
              OR ($2::text = 'open' AND s.status <> 'closed'))
            AND ($3::uuid IS NULL OR s.assigned_operator_id = $3::uuid)
            AND (NOT $4::boolean OR s.assigned_operator_id IS NULL)
            AND ($5::text IS NULL OR s.title ILIKE $5::text
              OR s.last_message_preview ILIKE $5::text
              OR (SELECT v.name FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) ILIKE $5::text)),
          count(*) FILTER (WHERE s.status = 'waiting'),
          count(*) FILTER (WHERE s.status = 'active'),
          count(*) FILTER (WHERE s.status = 'closed'),
          count(*) FILTER (WHERE s.assigned_operator_id = $6::uuid AND s.status <> 'closed')
        FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND s.deleted_at IS NULL
        """,
        [
          .uuid(workspace), .text(status), .uuid(assignee), .bool(isUnassigned), .text(pattern),
          .uuid(me),
        ])
    ) { rows in
      Counts(
        total: rows.int(0, 0) ?? 0, waiting: rows.int(0, 1) ?? 0, active: rows.int(0, 2) ?? 0,
        closed: rows.int(0, 3) ?? 0, mine: rows.int(0, 4) ?? 0)
    }
  }

  /// The search text as a pattern of `ILIKE`, in which it means itself.
  var pattern: String? {
    guard let search else { return nil }
    var pattern = "%"
    for character in search.unicodeScalars {
      if character == "\\" || character == "%" || character == "_" { pattern += "\\" }
      pattern.unicodeScalars.append(character)
    }
    return pattern + "%"
  }
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
    for part in [status, assignee?.description, isUnassigned ? "none" : nil, search] {
      bytes.append(part ?? "")
      bytes.append(0)
    }
    return Array(SHA256.digest(bytes)[..<8])
  }
}
