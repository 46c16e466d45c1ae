/// Changes of visitors by operators: name and address, blocking, export and erasure.
import Chat
import Conversations
import Directory
import JSON
import Primitives

extension VisitorRoutes {
  func changeVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let sessions = try await api.database.run(
      Visitor.change(
        call.id, name: try object.string("name", bytesMax: APILimits.nameBytes),
        email: try object.visitorEmail(), changesEmail: object.has("email"), by: call.actor))
    guard let sessions else { throw .noSuchResource }
    for session in sessions { api.sessions.changed(session: session) }
    return try await showVisitor(call)
  }

  /// A blocked visitor gets no token. Before the response, open sockets are closed (4302) and the
  /// visitor's waiting conversations too.
  func blockVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await setBlocked(call, true)
  }

  func unblockVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await setBlocked(call, false)
  }

  private func setBlocked(_ call: Call, _ isBlocked: Bool) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    _ = try await api.database.run(
      Visitor.setBlocked(call.id, isBlocked, by: call.actor, now: call.request.now))
    if isBlocked {
      let group = try await api.database.run(Visitor.group(of: call.id, in: call.workspace))
      if let visitor = group.first { try await closeWaiting(of: visitor, call) }
    }
    return try await showVisitor(call)
  }

  func closeWaiting(of visitor: Identifier, _ call: Call) async throws(Problem) {
    while true {
      let closed = try await api.database.run(
        BlockedVisitor.close(visitor, of: call.workspace))
      for session in closed {
        api.sessions.changed(session: session, of: call.workspace)
        api.sessions.happened(
          WorkspaceNews(workspace: call.workspace, session: session, kind: .closed))
      }
      if Int64(closed.count) < BlockedVisitor.closedMax { return }
    }
  }

  /// All stored data of a visitor, as a file.
  func exportVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    let copy = try await api.expensiveDatabase.run(
      VisitorData.export(call.id, workspace: call.workspace))
    guard let copy else { throw .noSuchResource }
    try await api.database.run(Visitor.noteExport(call.id, by: call.actor))
    return APIResponse(
      status: 200,
      headers: [
        ("Content-Type", "application/json"),
        ("Content-Disposition", "attachment; filename=\"visitor-\(call.id).json\""),
      ], body: Array(copy.utf8))
  }

  /// Revokes the visitor's access, then erases the messages, then the visitor: see `VisitorData`.
  func eraseVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    let actor = VisitorData.Actor(kind: call.actor.kind, id: call.actor.id)
    let sessions = try await api.expensiveDatabase.run(
      VisitorData.lockOut(call.id, workspace: call.workspace, by: actor))
    guard let sessions else { throw .noSuchResource }
    // Messages that are committed before the last connection ends are erased too.
    try await disconnect(visitor: call.id, of: call.workspace)
    var messages: Int64 = 0
    for session in sessions {
      messages += try await api.expensiveDatabase.run(
        VisitorData.eraseSession(session, workspace: call.workspace))
    }
    _ = try await api.expensiveDatabase.run(
      VisitorData.eraseRest(
        call.id, workspace: call.workspace, by: actor, sessions: Int64(sessions.count),
        messages: messages))
    for session in sessions { api.sessions.changed(session: session) }
    return APIResponse(status: 204)
  }
}
