/// The operators' list and what happens to a conversation in it.
import Conversations
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

struct ConversationRoutes: RouteGroup {
  let rest: API

  func listConversations(_ call: Call) async throws(Problem) -> APIResponse {
    let workspace = call.workspace
    let list = try ConversationList(
      QueryString(call.request.query), me: call.caller.id, workspace: workspace)
    let positions = try await rest.run(list.page(of: workspace).scoped(to: workspace))
    let page = positions.prefix(list.limit)
    let rows = try await conversations(page.map(\.id), of: workspace)
    let counts = try await rest.run(
      ConversationCounts.of(workspace, me: call.caller.id).scoped(to: workspace))
    var total = list.total(counts)
    if total == nil, list.position == nil, positions.count <= list.limit {
      total = Int64(positions.count)
    }
    if total == nil {
      total = try await rest.run(list.countMatches(in: workspace).scoped(to: workspace))
    }
    var json = Array("{\"conversations\":[".utf8)
    for position in page {
      guard let conversation = rows[position.id] else { continue }
      json.appendComma()
      appendConversationJSON(conversation, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    json.appendMember("total", total ?? 0)
    json.appendMember("waiting_count", counts.waiting)
    json.appendMember("active_count", counts.active)
    json.appendMember("mine_count", counts.mine)
    json.appendMember("closed_count", counts.closed)
    if positions.count > list.limit, let last = page.last {
      json.appendMember("next_cursor", list.encodeCursor(last, workspace: workspace))
    } else {
      json.appendMember("next_cursor", json: "null")
    }
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  func showConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let found = try await conversations([call.session], of: call.workspace)[call.session]
    guard let found, found.workspace == call.workspace else { throw .noSuchSession }
    var visitor: [UInt8]?
    if let id = found.visitor {
      visitor = try await VisitorRoutes(rest).visitorDetail(id, of: call.workspace)
    }
    return .json(
      [UInt8].object { json in
        json.appendKey("conversation")
        appendConversationJSON(found, visitor: visitor, to: &json)
      })
  }

  private func conversations(
    _ ids: [Identifier], of workspace: Identifier
  ) async throws(Problem) -> [Identifier: Conversation] {
    if ids.isEmpty { return [:] }
    return try await rest.run(
      Statement(conversationsQuery(ids, of: workspace).scoped(to: workspace)) { rows in
        let found = (0..<rows.count).compactMap { decodeConversation(rows, row: $0) }
        return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
      })
  }
}
