/// Conversations, as operators list and read them.
import Conversations
import Directory
import JSON
import Postgres
import Primitives

struct ConversationRoutes: RouteGroup {
  let api: API

  func listConversations(_ call: Call) async throws(Problem) -> APIResponse {
    let workspace = call.workspace
    var list = try ConversationList(
      QueryString(call.request.query), me: call.caller.id, workspace: workspace)
    if let visitor = list.visitor {
      list.visitor =
        try await api.database.run(
          Visitor.group(of: visitor, in: workspace)
        ).first ?? visitor
    }
    let positions = try await api.expensiveDatabase.run(
      list.page(of: workspace).scoped(to: workspace))
    let page = positions.prefix(list.limit)
    let rows = try await conversations(page.map(\.id), of: workspace)
    let counts = try await api.expensiveDatabase.run(
      ConversationCounts.of(workspace, me: call.caller.id).scoped(to: workspace))
    var total = list.total(counts)
    if total == nil, list.position == nil, positions.count <= list.limit {
      total = Int64(positions.count)
    }
    if total == nil {
      total = try await api.expensiveDatabase.run(
        list.countMatches(in: workspace).scoped(to: workspace))
    }
    var next: String?
    if positions.count > list.limit, let last = page.last {
      next = list.encodeCursor(last, workspace: workspace)
    }
    return .json(
      [UInt8].object { json in
        json.appendArray("conversations", page.compactMap { rows[$0.id] }) {
          appendConversationJSON($0, to: &$1)
        }
        json.appendMember("total", total ?? 0)
        json.appendMember("waiting_count", counts.waiting)
        json.appendMember("active_count", counts.active)
        json.appendMember("mine_count", counts.mine)
        json.appendMember("closed_count", counts.closed)
        json.appendMember("next_cursor", orNull: next)
      })
  }

  func showConversation(_ call: Call) async throws(Problem) -> APIResponse {
    try await show(call.id, call)
  }

  func show(
    _ session: Identifier, _ call: Call, status: Int = 200
  ) async throws(Problem) -> APIResponse {
    let found = try await conversations([session], of: call.workspace)[session]
    guard let found, found.workspace == call.workspace else { throw .noSuchSession }
    var visitor: [UInt8]?
    if let id = found.visitor {
      visitor = try await VisitorRoutes(api).visitorJSON(id, in: call.workspace)
    }
    let trail = try await api.database.run(VisitedPage.trail(of: session, in: call.workspace))
    return .json(
      [UInt8].object { json in
        json.appendKey("conversation")
        appendConversationJSON(found, visitor: visitor, trail: trail, to: &json)
      }, status: status)
  }

  func conversations(
    _ ids: [Identifier], of workspace: Identifier
  ) async throws(Problem) -> [Identifier: Conversation] {
    if ids.isEmpty { return [:] }
    return try await api.database.run(
      Statement(conversationsQuery(ids, of: workspace).scoped(to: workspace)) { rows in
        let found = (0..<rows.count).compactMap { decodeConversation(rows, row: $0) }
        return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
      })
  }
}
