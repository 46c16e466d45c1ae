/// The operators' list and what happens to a conversation in it.
import Directory
import OpenSSL
import Postgres
import Primitives

extension API {
  func listConversations(_ call: MemberCall) async throws(Problem) -> APIResponse {
    let workspace = call.member.workspace
    let list = try ConversationList(QueryString(call.request.query), member: call.member)
    let positions = try await run(list.page(of: workspace).scoped(to: workspace))
    let page = positions.prefix(list.limit)
    let rows = try await conversations(page.map(\.id), of: workspace)
    let counts = try await run(
      list.counts(of: workspace, me: call.member.id).scoped(to: workspace))
    var json = Array("{\"conversations\":[".utf8)
    for position in page {
      guard let conversation = rows[position.id] else { continue }
      json.appendComma()
      appendConversationJSON(conversation, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    json.appendMember("total", counts.total)
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

  func showConversation(_ call: MemberCall) async throws(Problem) -> APIResponse {
    let found = try await conversations(
      [call.session], of: call.member.workspace)[call.session]
    guard let found, found.workspace == call.member.workspace else { throw .noSuchSession }
    return .json(
      [UInt8].object { json in
        json.appendKey("conversation")
        appendConversationJSON(found, to: &json)
      })
  }

  private func conversations(
    _ ids: [Identifier], of workspace: Identifier
  ) async throws(Problem) -> [Identifier: Conversation] {
    if ids.isEmpty { return [:] }
    return try await run(
      Statement(conversationsQuery(ids, of: workspace).scoped(to: workspace)) { rows in
        let found = (0..<rows.count).compactMap { decodeConversation(rows, row: $0) }
        return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
      })
  }

  func claim(_ call: MemberCall) async throws(Problem) -> APIResponse {
    let result = try await apply(.claimed, call)
    if !result.isApplied, result.status == "closed" { throw .closed }
    if !result.isApplied, let assignee = result.assignee, assignee != call.member.id {
      throw .claimed(by: (assignee, result.assigneeName))
    }
    return try await showConversation(call)
  }

  func close(_ call: MemberCall) async throws(Problem) -> APIResponse {
    _ = try await apply(.closed, call)
    return try await showConversation(call)
  }

  func reopen(_ call: MemberCall) async throws(Problem) -> APIResponse {
    _ = try await apply(.reopened, call)
    return try await showConversation(call)
  }

  private func apply(
    _ change: StateChange, _ call: MemberCall
  ) async throws(Problem) -> StateChange.Result {
    // No member of the body is of interest yet, but what claims to be JSON must be.
    _ = try declaredObject(call.request)
    let statement = change.statement(
      session: call.session, by: call.member, line: identifier(call.request.now))
    guard let result = try await run(statement) else { throw .noSuchSession }
    if result.isApplied { sessions.changed(session: call.session) }
    return result
  }
}

extension Problem {
  static let closed = Problem(
    status: 409, type: "session_closed", title: "Conversation closed",
    detail: "This conversation is closed; reopen it first.")

  static func claimed(by winner: (id: Identifier, name: String)) -> Problem {
    Problem(
      status: 409, type: "already_claimed", title: "Already claimed",
      detail:
        "\(winner.name) has claimed this conversation; choose another, or ask for a transfer.",
      winner: winner)
  }
}
