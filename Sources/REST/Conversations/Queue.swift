/// What moves a conversation through the queue: claim, next, transfer, close and reopen.
import Chat
import Conversations
import Directory
import JSON
import Primitives

struct QueueRoutes: RouteGroup {
  let rest: API

  func claim(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try rest.declaredObject(call.request)
    let claim = Claim(
      session: call.session, member: try call.member, line: rest.identifier(call.request.now))
    guard let result = try await rest.run(claim.statement) else { throw .noSuchSession }
    switch result.verdict {
    case .applied: happened(.taken, call, call.session)
    case .held: break
    case .closed: throw .closed
    case .claimed: throw .claimed(by: (result.assignee ?? .zero, result.assigneeName))
    case .full: throw .atCapacity(result.capacity)
    }
    return try await ConversationRoutes(rest).showConversation(call)
  }

  /// Claims the conversation that has waited longest.
  func claimNext(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try rest.declaredObject(call.request)
    let claim = Claim(
      session: nil, member: try call.member, line: rest.identifier(call.request.now))
    guard let result = try await rest.run(claim.statement) else { throw .queueEmpty }
    guard result.verdict == .applied else { throw .atCapacity(result.capacity) }
    happened(.taken, call, result.session)
    var call = call
    call.parameters.ids["id"] = result.session
    return try await ConversationRoutes(rest).showConversation(call)
  }

  func transfer(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let to = try object.identifier("to")
    let transfer = Transfer(
      session: call.session, member: try call.member, to: to, reason: try reason(object),
      lines: lines(call))
    guard let verdict = try await rest.run(transfer.statement) else { throw .noSuchSession }
    switch verdict {
    case .applied: happened(to == nil ? .waits : .taken, call, call.session)
    case .held: break
    case .closed: throw .closed
    case .nobody: throw .noSuchMember
    }
    return try await ConversationRoutes(rest).showConversation(call)
  }

  func close(_ call: Call) async throws(Problem) -> APIResponse {
    try await apply(.closed, call, reason: try reason(try rest.declaredObject(call.request)))
  }

  func reopen(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try rest.declaredObject(call.request)
    return try await apply(.reopened, call, reason: nil)
  }

  private func apply(
    _ change: StateChange, _ call: Call, reason: String?
  ) async throws(Problem) -> APIResponse {
    let statement = change.statement(
      session: call.session, by: try call.member, reason: reason, lines(call))
    guard let result = try await rest.run(statement) else { throw .noSuchSession }
    if result.isApplied {
      happened(change == .closed ? .closed : .waits, call, call.session)
    }
    return try await ConversationRoutes(rest).showConversation(call)
  }

  private func lines(_ call: Call) -> StateChange.Lines {
    StateChange.Lines(
      event: rest.identifier(call.request.now), note: rest.identifier(call.request.now))
  }

  /// Why, in a person's words; empty means none.
  private func reason(_ object: JSONObject) throws(Problem) -> String? {
    guard let reason = try object.string("reason", bytesMax: APILimits.reasonBytes) else {
      return nil
    }
    let text = String(reason.trimmingBlanks)
    return text.isEmpty ? nil : text
  }

  private func happened(_ kind: WorkspaceNews.Kind, _ call: Call, _ session: Identifier) {
    rest.sessions.changed(session: session)
    rest.sessions.happened(
      WorkspaceNews(workspace: call.workspace, session: session, kind: kind))
  }
}

extension Problem {
  static let closed = Problem(
    status: 409, type: "session_closed", title: "Conversation closed",
    detail: "This conversation is closed; reopen it first.")

  static let queueEmpty = Problem(
    status: 404, type: "queue_empty", title: "Nobody waits",
    detail: "No conversation waits in your workspace at the moment.")

  static let noSuchMember = Problem(
    status: 422, type: "no_such_member", title: "No such operator",
    detail: "The member “to” names nobody who works in this workspace; choose another operator.")

  static func claimed(by winner: (id: Identifier, name: String)) -> Problem {
    Problem(
      status: 409, type: "already_claimed", title: "Already claimed",
      detail:
        "\(winner.name) has claimed this conversation; choose another, or ask for a transfer.",
      winner: winner)
  }

  static func atCapacity(_ capacity: Int64) -> Problem {
    Problem(
      status: 409, type: "at_capacity", title: "At capacity",
      detail:
        "You have \(capacity) open conversations, as many as your workspace allows; "
        + "close one, or transfer it.",
      capacity: capacity)
  }
}
