/// Search in messages.
import Chat
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension ConversationRoutes {
  func searchMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("hits", keys: 3, defaultLimit: APILimits.hitsDefault)
    guard let text = try QueryString(call.request.query).search("q") else {
      throw .invalid("The parameter “q” is missing. Send the text to search for.")
    }
    let last = try page.position
    let query = MessageSearch.query(
      text, in: call.workspace,
      after: [.time(last?.at), .uuid(last?.id), try page.number(2).map { .int($0) } ?? .null],
      limit: page.rowsWanted)
    let rows = try await api.expensiveDatabase.rows(query)
    // A row without an entry only tells how far the search came.
    let hits = (0..<rows.count).filter { !rows.isNull($0, 3) }
    let shown = hits.prefix(page.limit)
    var next: [String]?
    if hits.count > page.limit, let last = shown.last {
      next = key(rows, last, session: 3, at: 12, seq: "\(rows.int(last, 4) ?? 0)")
    } else if !rows.isEmpty, rows.int(0, 0) == MessageSearch.conversationsMax {
      next = key(rows, 0, session: 2, at: 1, seq: "0")
    }
    return .json(
      [UInt8].object { json in
        json.appendArray("hits", shown) { appendHit(rows, $0, text, to: &$1) }
        json.appendMember("next_cursor", orNull: next.map { page.cursor(after: $0) })
      })
  }

  private func key(
    _ rows: Rows, _ row: Int, session: Int, at: Int, seq: String
  ) -> [String]? {
    guard let id = rows.uuid(row, session), let time = rows.time(row, at) else { return nil }
    return ["\(time.microseconds)", id.description, seq]
  }

  private func appendHit(_ rows: Rows, _ row: Int, _ text: String, to json: inout [UInt8]) {
    guard let session = rows.uuid(row, 3), let id = rows.uuid(row, 5) else { return }
    let role = (rows.bytes(row, 7) ?? []).withRawSpan { Role(text: $0) } ?? .system
    json.append(UInt8(ascii: "{"))
    json.appendMember("session", session)
    json.appendMember("seq", rows.int(row, 4) ?? 0)
    json.appendMember("id", id)
    json.appendMember("at", rows.time(row, 6) ?? WallTime(microseconds: 0))
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

/// The part of a message around the text that was found: one line of at most
/// `APILimits.snippetCharacters`, with `…` at a cut end.
func snippet(_ body: String, around text: String) -> String {
  let line = body.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  let characters = Array(line)
  guard characters.count > APILimits.snippetCharacters else { return line }
  let wanted = text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
  let lowered = line.lowercased()
  // Approximate if the length of the text depends on its case.
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
