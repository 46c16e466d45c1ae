/// Moves conversations through the queue: claim, next, transfer, close and reopen.
import Chat
import Conversations
import Directory
import JSON
import Primitives

struct QueueRoutes: RouteGroup {
  let api: API

  func claim(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let claim = Claim(session: call.id, member: try call.member, line: call.newID())
    guard let result = try await api.database.run(claim.statement) else { throw .noSuchSession }
    switch result.verdict {
    case .applied: notify(.taken, call, call.id)
    case .held: break
    case .closed: throw .closed
    case .claimed: throw .claimed(by: (result.assignee ?? .zero, result.assigneeName))
    case .full: throw .atCapacity(result.capacity)
    }
    return try await ConversationRoutes(api).showConversation(call)
  }

  /// Claims the conversation that has waited longest.
  func claimNext(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let claim = Claim(session: nil, member: try call.member, line: call.newID())
    guard let result = try await api.database.run(claim.statement) else { throw .queueEmpty }
    guard result.verdict == .applied else { throw .atCapacity(result.capacity) }
    notify(.taken, call, result.session)
    var call = call
    call.parameters.ids["id"] = result.session
    return try await ConversationRoutes(api).showConversation(call)
  }

  func transfer(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let receiver = try receiver(object)
    let transfer = Transfer(
      session: call.id, member: try call.member, to: receiver, reason: try reason(object),
      lines: lines(call))
    guard let verdict = try await api.database.run(transfer.statement) else {
      throw .noSuchSession
    }
    switch verdict {
    case .applied:
      if case .member = receiver {
        notify(.taken, call, call.id)
      } else {
        notify(.waits, call, call.id)
      }
    case .held: break
    case .closed: throw .closed
    case .nobody: throw .noSuchMember
    case .noTeam: throw .noSuchTeam
    }
    return try await ConversationRoutes(api).showConversation(call)
  }

  /// An operator (`to`), a team or no team (`to_team`), or without both the queue.
  private func receiver(_ object: JSONObject) throws(Problem) -> Transfer.Receiver {
    let member = try object.identifier("to")
    if object.has("to_team") {
      guard member == nil else {
        throw .invalidMember("to_team", "missing if there is “to”: choose an operator or a team")
      }
      return .team(try object.identifier("to_team"))
    }
    return member.map { .member($0) } ?? .queue
  }

  func close(_ call: Call) async throws(Problem) -> APIResponse {
    try await apply(.closed, call, reason: try reason(try call.request.jsonObject()))
  }

  func reopen(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    return try await apply(.reopened, call, reason: nil)
  }

  private func apply(
    _ change: StateChange, _ call: Call, reason: String?
  ) async throws(Problem) -> APIResponse {
    let statement = change.statement(
      session: call.id, by: try call.member, reason: reason, lines(call))
    guard let result = try await api.database.run(statement) else { throw .noSuchSession }
    if result.isApplied {
      notify(change == .closed ? .closed : .waits, call, call.id)
    }
    return try await ConversationRoutes(api).showConversation(call)
  }

  private func lines(_ call: Call) -> StateChange.Lines {
    StateChange.Lines(event: call.newID(), note: call.newID())
  }

  /// The operator's reason; nil if it is missing or empty.
  private func reason(_ object: JSONObject) throws(Problem) -> String? {
    guard let reason = try object.string("reason", bytesMax: APILimits.reasonBytes) else {
      return nil
    }
    let text = String(reason.trimmingBlanks)
    return text.isEmpty ? nil : text
  }

  private func notify(_ kind: WorkspaceNews.Kind, _ call: Call, _ session: Identifier) {
    api.sessions.changed(session: session)
    api.sessions.happened(
      WorkspaceNews(workspace: call.workspace, session: session, kind: kind))
  }
}

extension Problem {
  static let closed = Problem(
    status: 409, type: "session_closed", title: "Conversation closed",
    detail: "This conversation is closed. Reopen it first.")

  static let queueEmpty = Problem(
    status: 404, type: "queue_empty", title: "Queue empty",
    detail: "No conversation of your workspace is waiting.")

  static let noSuchMember = Problem(
    status: 422, type: "no_such_member", title: "No such operator",
    detail: "The member “to” is not the id of an active operator of this workspace. Choose another "
      + "operator.")

  static let noSuchTeam = Problem(
    status: 422, type: "no_such_team", title: "No such team",
    detail: "The workspace has no team with this id. Choose another one.")

  static func claimed(by winner: (id: Identifier, name: String)) -> Problem {
    Problem(
      status: 409, type: "already_claimed", title: "Already claimed",
      detail: "\(winner.name) has claimed this conversation. Choose another one, or ask for a "
        + "transfer.",
      winner: winner)
  }

  static func atCapacity(_ capacity: Int64) -> Problem {
    Problem(
      status: 409, type: "at_capacity", title: "At capacity",
      detail: "You have \(capacity) open conversations, the most that your workspace allows. Close "
        + "or transfer one first.",
      capacity: capacity)
  }
}
