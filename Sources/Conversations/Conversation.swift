import JSON
public import Postgres
public import Primitives
import SharedSQL

/// A conversation as the operators' list shows it. The REST API and the `inbox` events of the
/// WebSocket use the same JSON.
public struct Conversation: Sendable, Equatable {
  public var id: Identifier
  public var workspace: Identifier
  public var title: String
  /// `waiting`, `active` or `closed`.
  public var status: String
  public var visitor: Identifier?
  public var visitorName: String
  public var assignee: Identifier?
  public var assigneeName: String
  public var team: Identifier?
  public var teamName: String
  public var lastSeq: Int64
  public var lastPreview: String?
  public var lastRole: String?
  public var lastAt: WallTime?
  /// The operator who wrote the last message; nil if somebody else did.
  public var lastAuthor: Identifier?
  public var lastAuthorName: String = ""
  /// The highest seq that any operator has read.
  public var readSeq: Int64
  public var visitorReadSeq: Int64
  public var createdAt: WallTime
  public var updatedAt: WallTime
  public var waitingSince: WallTime?
  public var claimedAt: WallTime?
  public var closedAt: WallTime?
  /// A JSON object as text.
  public var context: [UInt8]
  public var tags: [String]
  /// From 1 to 5; nil without a rating.
  public var rating: Int64?
  /// The first 160 characters of the rating's comment.
  public var ratingComment: String?
  /// The visitor's messages that no operator has read, while nobody has answered them: at most 100,
  /// and of the last 128 entries.
  public var unread: Int64
  /// When the next target of an open conversation is due; see `Targets`.
  public var dueAt: WallTime?
  /// The targets that were missed.
  public var missed: [Targets] = []
  /// The position in the queue, 1 for the next; nil outside the queue and after position 1,000.
  public var queuePosition: Int64?
  /// Where the visitor writes: `web`, or the name of a channel such as `line`.
  public var channel = "web"
}

/// The conversation with this id, if the workspace has one.
public func conversationQuery(_ id: Identifier, of workspace: Identifier) -> Query {
  conversationsQuery([id], of: workspace)
}

/// The conversations with these ids that the workspace has, in no particular order.
public func conversationsQuery(_ ids: [Identifier], of workspace: Identifier) -> Query {
  Query(conversationsSQL, [.uuids(ids), .uuid(workspace)])
}

private let conversationsSQL: SQL = """
  SELECT s.id, s.workspace_id, s.title, s.status, s.user_id,
    (SELECT v.name FROM visitors v WHERE v.id = s.user_id AND v.workspace_id = $2::uuid),
    s.assigned_operator_id, s.operator_name, s.last_seq, s.last_message_preview,
    s.last_message_role, s.last_message_at,
    (SELECT max(m.read_seq) FROM read_marks m
      WHERE m.workspace_id = $2::uuid AND m.session_id = s.id AND m.role = 'operator'),
    (SELECT max(m.read_seq) FROM read_marks m
      WHERE m.workspace_id = $2::uuid AND m.session_id = s.id AND m.role = 'visitor'),
    s.created_at, s.updated_at, s.\(ConversationQueue.entryTime), s.claimed_at, s.closed_at,
    (s.context - 'trail')::text,
    (SELECT string_agg(t.tag, E'\\n' ORDER BY t.tag) FROM session_tags t
      WHERE t.workspace_id = $2::uuid AND t.session_id = s.id),
    CASE WHEN \(ConversationQueue.contains("s")) THEN nullif((
      SELECT count(*) FROM (SELECT FROM chat_sessions w
        WHERE w.workspace_id = $2::uuid AND \(ConversationQueue.reaches("s", from: "w"))
        LIMIT 1001) AS line), 1001) END,
    r.rating, left(r.comment, 160),
    CASE WHEN s.last_message_role IN ('visitor', 'user') THEN (
      SELECT count(*) FROM (SELECT FROM chats c
        WHERE c.workspace_id = $2::uuid AND c.session_id = s.id
          AND c.seq > greatest(s.last_seq - 128, (SELECT max(m.read_seq) FROM read_marks m
            WHERE m.workspace_id = $2::uuid AND m.session_id = s.id AND m.role = 'operator'))
          AND c.role IN ('visitor', 'user')
        LIMIT 100) AS unread) ELSE 0 END,
    s.team_id,
    (SELECT g.name FROM chat_teams g WHERE g.workspace_id = $2::uuid AND g.id = s.team_id),
    \(Targets.nextDue("s", "target")), target.first_response_missed_at IS NOT NULL,
    target.resolution_missed_at IS NOT NULL, author.operator_id, author.operator_name,
    s.channel
  FROM chat_sessions s
  LEFT JOIN csat_responses r ON r.workspace_id = $2::uuid AND r.session_id = s.id
  LEFT JOIN chat_targets target
    ON target.workspace_id = $2::uuid AND target.session_id = s.id
  LEFT JOIN LATERAL (
    SELECT c.operator_id, c.operator_name FROM chats c
    WHERE s.last_message_role = 'operator' AND c.workspace_id = $2::uuid AND c.session_id = s.id
      AND c.seq > s.last_seq - 128 AND c.role = 'operator' AND c.kind NOT IN ('note', 'event')
    ORDER BY c.seq DESC LIMIT 1) AS author ON true
  WHERE s.workspace_id = $2::uuid AND s.id = ANY ($1::uuid[]) AND s.deleted_at IS NULL
  """

/// Decodes one row of the result of these queries; nil if there is no such row.
public func decodeConversation(_ rows: Rows, row: Int = 0) -> Conversation? {
  guard row < rows.count, let id = rows.uuid(row, 0), let workspace = rows.uuid(row, 1),
    let status = rows.text(row, 3), let createdAt = rows.time(row, 14),
    let updatedAt = rows.time(row, 15)
  else { return nil }
  return Conversation(
    id: id, workspace: workspace, title: rows.text(row, 2) ?? "", status: status,
    visitor: rows.uuid(row, 4), visitorName: rows.text(row, 5) ?? "",
    assignee: rows.uuid(row, 6), assigneeName: rows.text(row, 7) ?? "",
    team: rows.uuid(row, 25), teamName: rows.text(row, 26) ?? "",
    lastSeq: rows.int(row, 8) ?? 0, lastPreview: rows.text(row, 9), lastRole: rows.text(row, 10),
    lastAt: rows.time(row, 11), lastAuthor: rows.uuid(row, 30),
    lastAuthorName: rows.text(row, 31) ?? "", readSeq: rows.int(row, 12) ?? 0,
    visitorReadSeq: rows.int(row, 13) ?? 0, createdAt: createdAt, updatedAt: updatedAt,
    waitingSince: rows.time(row, 16), claimedAt: rows.time(row, 17), closedAt: rows.time(row, 18),
    context: rows.bytes(row, 19) ?? Array("{}".utf8),
    tags: (rows.text(row, 20) ?? "").split(separator: "\n").map { String($0) },
    rating: rows.int(row, 22), ratingComment: rows.text(row, 23), unread: rows.int(row, 24) ?? 0,
    dueAt: rows.time(row, 27),
    missed: zip(Targets.allCases, 28...).compactMap { rows.bool(row, $1) == true ? $0 : nil },
    queuePosition: rows.int(row, 21), channel: rows.text(row, 32) ?? "web")
}

/// Appends a conversation as a JSON object.
///
/// - Parameters:
///   - person: the JSON value of `visitor`; nil: an object with id and name.
///   - trail: the JSON value of `trail`, which rows of a list do not have.
public func appendConversationJSON(
  _ conversation: Conversation, visitor person: [UInt8]? = nil, trail: [UInt8]? = nil,
  to json: inout [UInt8]
) {
  // `append` instead of `appendObject`: the object may be an element or follow a key.
  json.append(
    contentsOf: [UInt8].object { json in
      json.appendMember("id", conversation.id)
      json.appendMember("title", conversation.title)
      json.appendMember("status", conversation.status)
      if let person {
        json.appendMember("visitor", json: person)
      } else {
        appendNamed("visitor", conversation.visitor, conversation.visitorName, to: &json)
      }
      appendNamed("assignee", conversation.assignee, conversation.assigneeName, to: &json)
      appendNamed("team", conversation.team, conversation.teamName, to: &json)
      json.appendMember("last_seq", conversation.lastSeq)
      if let at = conversation.lastAt {
        json.appendObject("last_message") {
          $0.appendMember("preview", conversation.lastPreview ?? "")
          $0.appendMember("role", conversation.lastRole ?? "")
          $0.appendMember("at", at)
          // Most are the assignee's, and a list has a hundred of them.
          if let author = conversation.lastAuthor, author != conversation.assignee {
            appendNamed("operator", author, conversation.lastAuthorName, to: &$0)
          }
        }
      } else {
        json.appendMember("last_message", json: "null")
      }
      json.appendMember("unread", conversation.unread)
      json.appendMember("read_seq", conversation.readSeq)
      json.appendMember("visitor_read_seq", conversation.visitorReadSeq)
      json.appendMember("created_at", conversation.createdAt)
      json.appendMember("updated_at", conversation.updatedAt)
      json.appendMember("waiting_since", conversation.waitingSince)
      if let position = conversation.queuePosition {
        json.appendMember("queue_position", position)
      } else {
        json.appendMember("queue_position", json: "null")
      }
      json.appendMember("due_at", conversation.dueAt)
      json.appendMember("missed", texts: conversation.missed.map(\.rawValue))
      json.appendMember("claimed_at", conversation.claimedAt)
      json.appendMember("closed_at", conversation.closedAt)
      json.appendMember("channel", conversation.channel)
      json.appendMember("context", json: conversation.context)
      if let trail { json.appendMember("trail", json: trail) }
      json.appendMember("tags", texts: conversation.tags)
      if let rating = conversation.rating {
        json.appendMember("rating", rating)
      } else {
        json.appendMember("rating", json: "null")
      }
      if let comment = conversation.ratingComment {
        json.appendMember("rating_comment", comment)
      } else {
        json.appendMember("rating_comment", json: "null")
      }
    })
}

private func appendNamed(
  _ key: StaticString, _ id: Identifier?, _ name: String, to json: inout [UInt8]
) {
  guard let id else { return json.appendMember(key, json: "null") }
  json.appendObject(key) {
    $0.appendMember("id", id)
    $0.appendMember("name", name)
  }
}
