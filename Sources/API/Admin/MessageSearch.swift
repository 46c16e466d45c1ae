/// Finding what was said.
///
/// There is no index for it: one of trigrams takes six times the time of an insert (measured with
/// 500,000 messages: 92 µs a row for 16 µs) and more room than the messages themselves. Instead a
/// request looks through a bounded number of conversations, the newest first, by the indexes that
/// are there, and its cursor says where the next one goes on, also when nothing was found so far.
import Chat
import Directory
import JSON
import Postgres
import Primitives

extension API {
  func searchMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("hits", keys: 3, standard: APILimits.hitsDefault)
    guard let text = try QueryString(call.request.query)["q"] else {
      throw .invalid("The parameter “q” is missing; say what is looked for.")
    }
    guard text.utf8.count <= APILimits.searchBytes else {
      throw .invalid("The parameter “q” may have at most \(APILimits.searchBytes) bytes.")
    }
    let query = Query(
      API.searchSQL,
      [
        .uuid(call.workspace), .text(likePattern(text)), try page.time(0), try page.id(1),
        try page.number(2), page.rowsWanted, .int(APILimits.searchedConversations),
      ])
    let rows = try await run(Statement(query) { $0 })
    // A row without an entry says only how far it was looked.
    let found = (0..<rows.count).filter { !rows.isNull($0, 3) }
    let shown = found.prefix(page.limit)
    var json = Array("{\"hits\":[".utf8)
    for row in shown {
      json.appendComma()
      appendHit(rows, row, text, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    var next: [String]?
    if found.count > page.limit, let last = shown.last {
      next = key(rows, last, session: 3, at: 12, seq: "\(rows.int(last, 4) ?? 0)")
    } else if !rows.isEmpty, rows.int(0, 0) == APILimits.searchedConversations {
      next = key(rows, 0, session: 2, at: 1, seq: "0")
    }
    if let next {
      json.appendMember("next_cursor", page.encode(next))
    } else {
      json.appendMember("next_cursor", json: "null")
    }
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  private func key(
    _ rows: Rows, _ row: Int, session: Int, at: Int, seq: String
  ) -> [String]? {
    guard let id = rows.uuid(row, session), let time = rows.time(row, at) else { return nil }
    return ["\(time.microseconds)", id.description, seq]
  }

  /// Behind the cursor: the rest of its conversation, then the older ones.
  private static let searchSQL: StaticString = """
    WITH looked AS (
      SELECT id, title, status, created_at FROM chat_sessions
      WHERE workspace_id = $1::uuid AND deleted_at IS NULL
        AND ($3::timestamptz IS NULL OR (created_at, id) <= ($3::timestamptz, $4::uuid))
      ORDER BY created_at DESC, id DESC LIMIT $7::bigint
    ), hits AS (
      SELECT c.session_id, c.seq, c.id, c.created_at AS at, c.role,
        coalesce(c.operator_id, c.user_id) AS sender, CASE WHEN c.role IN ('visitor', 'user') THEN
          (SELECT v.name FROM visitors v WHERE v.id = c.user_id AND v.workspace_id = $1::uuid)
          ELSE c.operator_name END AS name,
        c.content, s.title, s.created_at, s.status
      FROM looked s CROSS JOIN LATERAL (
        SELECT * FROM chats e WHERE e.workspace_id = $1::uuid AND e.session_id = s.id
          AND e.kind <> 'event' AND e.content ILIKE $2::text
          AND ($4::uuid IS NULL OR s.id <> $4::uuid OR e.seq < $5::bigint)
        -- Keeps it a step for each conversation: joined, all messages there are would be read.
        OFFSET 0
      ) c
      ORDER BY s.created_at DESC, s.id DESC, c.seq DESC LIMIT $6::bigint
    ), far AS (
      SELECT (SELECT count(*) FROM looked) AS count, created_at, id FROM looked
      ORDER BY created_at, id LIMIT 1
    )
    SELECT far.count, far.created_at, far.id, h.session_id, h.seq, h.id, h.at, h.role, h.sender,
      h.name, h.content, h.title, h.created_at, h.status
    FROM far LEFT JOIN hits h ON true
    ORDER BY h.created_at DESC, h.session_id DESC, h.seq DESC
    """

  private func appendHit(_ rows: Rows, _ row: Int, _ text: String, to json: inout [UInt8]) {
    guard let session = rows.uuid(row, 3), let id = rows.uuid(row, 5) else { return }
    let role = (rows.bytes(row, 7) ?? []).withRawSpan { Role(text: $0) } ?? .system
    json.append(UInt8(ascii: "{"))
    json.appendMember("session", session)
    json.appendMember("seq", rows.int(row, 4) ?? 0)
    json.appendMember("id", id)
    json.appendMember("at", rows.time(row, 6))
    json.appendKey("sender")
    (rows.bytes(row, 9) ?? []).withRawSpan {
      EventEncoder.person(role: role, id: rows.uuid(row, 8), name: $0, to: &json)
    }
    json.appendMember("snippet", snippet(rows.text(row, 10) ?? "", around: text))
    json.appendObject("conversation") {
      $0.appendMember("id", session)
      $0.appendMember("title", rows.text(row, 11) ?? "")
      $0.appendMember("status", rows.text(row, 13) ?? "")
    }
    json.append(UInt8(ascii: "}"))
  }
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

/// The part of a message in which the text stands, with what is around it: at most
/// `APILimits.snippetCharacters`, on one line.
func snippet(_ body: String, around text: String) -> String {
  let line = body.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  let characters = Array(line)
  guard characters.count > APILimits.snippetCharacters else { return line }
  let wanted = text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
  let lowered = line.lowercased()
  // Of a text whose length changes with its case the place is only nearly right.
  let place = lowered.firstRange(of: wanted).map {
    lowered.distance(from: lowered.startIndex, to: $0.lowerBound)
  }
  let before = APILimits.snippetCharacters / 4
  let start = max(
    0, min((place ?? 0) - before, characters.count - APILimits.snippetCharacters))
  let end = min(characters.count, start + APILimits.snippetCharacters)
  return (start > 0 ? "…" : "") + String(characters[start..<end])
    + (end < characters.count ? "…" : "")
}
