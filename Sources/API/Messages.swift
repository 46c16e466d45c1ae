/// The log of a conversation, read and written by operators.
import Chat
import Directory
import JSON
import Postgres
import Primitives

/// A part of a log: ascending, with what a reader needs to go on.
struct MessagePage: Sendable {
  var entries: [Entry]
  var head: Int64
  var epoch: String
  /// More entries follow in the direction that was asked for.
  var hasMore: Bool
}

/// Which part: behind a seq, or before one (the end of the log when nothing is said).
enum MessageRange {
  case after(Int64)
  case before(Int64)

  /// At most `limit` entries, and fewer where they are long: see `APILimits.pageBytes`. Answers nil
  /// when the workspace has no such session. The session's head and the entries are of
  /// one moment, since one statement sees one state of the database.
  func page(
    of session: Identifier, workspace: Identifier, limit: Int
  ) -> Statement<MessagePage?> {
    let isDescending: Bool
    let query: Query
    switch self {
    case .after(let seq):
      isDescending = false
      query = Query(
        """
        SELECT s.last_seq, s.epoch || coalesce((SELECT epoch FROM database_epoch), ''),
          c.seq, c.id, c.role, c.kind,
          coalesce(c.operator_id, c.user_id), CASE WHEN c.role IN ('visitor', 'user') THEN
            (SELECT v.name FROM visitors v WHERE v.id = c.user_id AND v.workspace_id = $2::uuid)
            ELSE c.operator_name END,
          c.content, c.payload::text, c.created_at, c.found
        FROM chat_sessions s LEFT JOIN LATERAL (
          SELECT f.*, count(*) OVER () AS found, sum(octet_length(f.content)
            + coalesce(octet_length(f.payload::text), 0)) OVER (ORDER BY f.seq) AS bytes,
            row_number() OVER (ORDER BY f.seq) AS place
          FROM (
            SELECT * FROM chats e
            WHERE e.workspace_id = $2::uuid AND e.session_id = s.id AND e.seq > $3::bigint
            ORDER BY e.seq LIMIT $4::bigint) AS f
        ) c ON c.bytes <= $5::bigint OR c.place = 1
        WHERE s.id = $1::uuid AND s.workspace_id = $2::uuid AND s.deleted_at IS NULL
        ORDER BY c.seq
        """,
        [
          .uuid(session), .uuid(workspace), .int(seq), .int(Int64(limit) + 1),
          .int(Int64(APILimits.pageBytes)),
        ])
    case .before(let seq):
      isDescending = true
      query = Query(
        """
        SELECT s.last_seq, s.epoch || coalesce((SELECT epoch FROM database_epoch), ''),
          c.seq, c.id, c.role, c.kind,
          coalesce(c.operator_id, c.user_id), CASE WHEN c.role IN ('visitor', 'user') THEN
            (SELECT v.name FROM visitors v WHERE v.id = c.user_id AND v.workspace_id = $2::uuid)
            ELSE c.operator_name END,
          c.content, c.payload::text, c.created_at, c.found
        FROM chat_sessions s LEFT JOIN LATERAL (
          SELECT f.*, count(*) OVER () AS found, sum(octet_length(f.content)
            + coalesce(octet_length(f.payload::text), 0)) OVER (ORDER BY f.seq DESC) AS bytes,
            row_number() OVER (ORDER BY f.seq DESC) AS place
          FROM (
            SELECT * FROM chats e
            WHERE e.workspace_id = $2::uuid AND e.session_id = s.id AND e.seq < $3::bigint
            ORDER BY e.seq DESC LIMIT $4::bigint) AS f
        ) c ON c.bytes <= $5::bigint OR c.place = 1
        WHERE s.id = $1::uuid AND s.workspace_id = $2::uuid AND s.deleted_at IS NULL
        ORDER BY c.seq DESC
        """,
        [
          .uuid(session), .uuid(workspace), .int(seq), .int(Int64(limit) + 1),
          .int(Int64(APILimits.pageBytes)),
        ])
    }
    return Statement(query) { rows in
      guard !rows.isEmpty else { return nil }
      let entries = (0..<rows.count).compactMap { entry(rows, $0) }
      let kept = entries.prefix(limit)
      return MessagePage(
        entries: isDescending ? kept.reversed() : Array(kept), head: rows.int(0, 0) ?? 0,
        epoch: rows.text(0, 1) ?? "", hasMore: kept.count < rows.int(0, 11) ?? 0)
    }
  }
}

/// Nil for the row of a session without entries.
private func entry(_ rows: Rows, _ row: Int) -> Entry? {
  guard let seq = rows.int(row, 2), let id = rows.uuid(row, 3), let role = rows.bytes(row, 4),
    let kind = rows.bytes(row, 5), let at = rows.time(row, 10)
  else { return nil }
  return Entry(
    // A kind or role that an older system invented is shown as the plainest one.
    seq: seq, id: id, role: role.withRawSpan { Role(text: $0) } ?? .system,
    kind: kind.withRawSpan { Kind(text: $0) } ?? .text, sender: rows.uuid(row, 6),
    senderName: rows.bytes(row, 7) ?? [], body: rows.bytes(row, 8) ?? [],
    payload: rows.bytes(row, 9) ?? [], at: at)
}

extension API {
  func listMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let query = try QueryString(call.request.query)
    let after = try query.int("after", in: 0...CommandDecoder.integerMax)
    let before = try query.int("before", in: 0...CommandDecoder.integerMax)
    let around = try query.int("around", in: 0...CommandDecoder.integerMax)
    guard [after, before, around].compactMap({ $0 }).count <= 1 else {
      throw .invalid("Give one of “after”, “before” and “around”.")
    }
    let limit = Int(
      try query.int("limit", in: 1...Int64(Limits.pageEntries))
        ?? Int64(APILimits.messagesDefault))
    let range = after.map { MessageRange.after($0) } ?? .before(before ?? around ?? .max)
    var page = try await messages(range, around == nil ? limit : max(1, limit / 2), call)
    if let around {
      // What is asked for and what follows, behind what came before; `more` is about the latter.
      let rest = max(1, limit - page.entries.count)
      page.entries += try await messages(.after(around - 1), rest, call).entries
    }
    var json = Array("{\"messages\":[".utf8)
    for entry in page.entries {
      json.appendComma()
      appendMessage(entry, session: call.session, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    json.appendMember("more", page.hasMore)
    json.appendMember("head", page.head)
    json.appendMember("epoch", page.epoch)
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  private func messages(
    _ range: MessageRange, _ limit: Int, _ call: Call
  ) async throws(Problem) -> MessagePage {
    let page = try await run(
      range.page(of: call.session, workspace: call.workspace, limit: limit)
        .scoped(to: call.workspace))
    guard let page else { throw .noSuchSession }
    return page
  }

  /// A message as on the socket, without its `type`.
  private func appendMessage(_ entry: Entry, session: Identifier, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "{"))
    json.appendMember("session", session)
    json.appendMember("seq", entry.seq)
    json.appendMember("id", entry.id)
    json.appendKey("sender")
    entry.senderName.withRawSpan {
      EventEncoder.person(role: entry.role, id: entry.sender, name: $0, to: &json)
    }
    json.appendMember("kind", String(describing: entry.kind.text))
    json.appendMember("body", utf8: entry.body)
    if !entry.payload.isEmpty { json.appendMember("payload", json: entry.payload) }
    json.appendMember("at", entry.at)
    json.append(UInt8(ascii: "}"))
  }

  func postMessage(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try declaredObject(call.request)
    let id = try object.identifier("id") ?? identifier(call.request.now)
    let body = try object.string("body", bytesMax: Limits.bodyBytes) ?? ""
    let payload = try object.object("payload", bytesMax: Limits.payloadBytes) ?? []
    guard !body.isEmpty || !payload.isEmpty else { throw .missing("body") }
    let kind: Kind
    switch try object.string("kind", bytesMax: 16) ?? "text" {
    case "text": kind = .text
    case "note": kind = .note
    default: throw .wrongType("kind", "text or note")
    }
    return try await append(kind, id: id, body: body, payload: payload, to: call)
  }

  /// What the caller writes, as an entry of the log: committed when this answers.
  func append(
    _ kind: Kind, id: Identifier, body: String, payload: [UInt8], to call: Call
  ) async throws(Problem) -> APIResponse {
    // The loop that owns the session is asked only about sessions of the caller's workspace.
    _ = try await showConversation(call)
    let outcome = await sessions.append(
      session: call.session, workspace: call.workspace, id: id, role: call.caller.role,
      kind: kind, sender: call.caller.id, senderName: Array(call.caller.name.utf8),
      body: Array(body.utf8), payload: payload)
    let status =
      switch outcome.verdict {
      case .stored: 201
      case .duplicate: 200
      case .conflict: throw Problem.idConflict
      case .noSuchSession: throw Problem.noSuchSession
      case .closed: throw Problem.closed
      case .rejected: throw Problem.rejected
      case .unavailable: throw Problem.unavailable
      }
    let json = [UInt8].object { json in
      json.appendMember("id", id)
      json.appendMember("seq", outcome.seq)
      json.appendMember("at", outcome.at)
    }
    return .json(json, status: status)
  }
}

extension Problem {
  static let idConflict = Problem(
    status: 409, type: "id_conflict", title: "Id in use",
    detail: "This id belongs to another message; send this one under a new id.")
  static let rejected = Problem(
    status: 422, type: "rejected", title: "Rejected",
    detail: "The database will never accept this message; change it before sending it again.")
}
