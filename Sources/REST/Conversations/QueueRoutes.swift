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
    try await claim(call.id, call)
    return try await ConversationRoutes(api).showConversation(call)
  }

  /// Returns whether it changed anything.
  @discardableResult
  func claim(_ session: Identifier, _ call: Call) async throws(Problem) -> Bool {
    let claim = Claim(session: session, member: try call.member, line: call.newID())
    guard let result = try await api.database.run(claim.statement) else { throw .noSuchSession }
    switch result.verdict {
    case .applied: notify(.taken, call, session)
    case .held: return false
    case .closed: throw .closed
    case .claimed: throw .claimed(by: (result.assignee ?? .zero, result.assigneeName))
    case .full: throw .atCapacity(result.capacity)
    }
    return true
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
    try await transfer(call.id, to: try receiver(object), reason: try reason(object), call)
    return try await ConversationRoutes(api).showConversation(call)
  }

  /// Returns whether it changed anything.
  @discardableResult
  func transfer(
    _ session: Identifier, to receiver: Transfer.Receiver, reason: String?, _ call: Call
  ) async throws(Problem) -> Bool {
    let transfer = Transfer(
      session: session, member: try call.member, to: receiver, reason: reason, lines: lines(call))
    guard let verdict = try await api.database.run(transfer.statement) else {
      throw .noSuchSession
    }
    switch verdict {
    case .applied:
      if case .member = receiver {
        notify(.taken, call, session)
      } else {
        notify(.waits, call, session)
      }
    case .held: return false
    case .closed: throw .closed
    case .nobody: throw .noSuchMember
    case .noTeam: throw .noSuchTeam
    }
    return true
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
    let reason = try reason(try call.request.jsonObject())
    try await apply(.closed, to: call.id, reason: reason, call)
    return try await ConversationRoutes(api).showConversation(call)
  }

  func reopen(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    try await apply(.reopened, to: call.id, reason: nil, call)
    return try await ConversationRoutes(api).showConversation(call)
  }

  @discardableResult
  func apply(
    _ change: StateChange, to session: Identifier, reason: String?, _ call: Call
  ) async throws(Problem) -> StateChange.Result {
    let statement = change.statement(
      session: session, by: try call.member, reason: reason, lines(call))
    guard let result = try await api.database.run(statement) else { throw .noSuchSession }
    if result.isApplied {
      notify(change == .closed ? .closed : .waits, call, session)
    }
    return result
  }

  private func lines(_ call: Call) -> StateChange.Lines {
    StateChange.Lines(event: call.newID(), note: call.newID())
  }

  /// The operator's reason; nil if it is missing or empty.
  private func reason(_ object: JSONObject) throws(Problem) -> String? {
    try object.string("reason", bytesMax: APILimits.reasonBytes).flatMap { QueueRoutes.visible($0) }
  }

  /// The text without blanks around it; nil if nothing is left.
  static func visible(_ text: String) -> String? {
    let text = String(text.trimmingBlanks)
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
