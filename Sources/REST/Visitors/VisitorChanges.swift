/// What operators change about visitors: their name, whether they may write, and whether anything
/// is kept of them at all.
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension VisitorRoutes {
  func changeVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = try object.string("name", bytesMax: APILimits.nameBytes)
    let email = try WidgetRoutes(rest).emailAddress(object)
    let rows = try await rest.run(
      Statement(
        Query(
          """
          WITH changed AS (
            UPDATE visitors SET name = coalesce($5::text, name),
              email = CASE WHEN $7::boolean THEN nullif($6::text, '') ELSE email END
            WHERE workspace_id = $1::uuid AND id = $4::uuid RETURNING id
          ), noted AS (
            INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
            SELECT $1::uuid, $2::uuid, $3::text, 'visitor.changed', id FROM changed
          )
          SELECT (SELECT string_agg(s.id::text, ' ') FROM (
            SELECT id FROM chat_sessions WHERE workspace_id = $1::uuid AND user_id = changed.id
              AND deleted_at IS NULL ORDER BY created_at DESC LIMIT 20) s)
          FROM changed
          """,
          call.actor + [
            .uuid(call.parameters.id("id")), .text(name), .text(email),
            .bool(object.has("email")),
          ])
      ) { $0.isEmpty ? nil : $0.text(0, 0) ?? "" })
    guard let rows else { throw .noSuchThing }
    for id in rows.split(separator: " ") {
      if let session = Identifier(String(id)) { rest.sessions.changed(session: session) }
    }
    return try await showVisitor(call)
  }

  /// A blocked visitor gets no token, and the sockets that are open end (4302) before the answer.
  func blockVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await setBanned(call, true)
  }

  func unblockVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await setBanned(call, false)
  }

  /// What is so already is no event.
  private func setBanned(_ call: Call, _ isBanned: Bool) async throws(Problem) -> APIResponse {
    _ = try rest.declaredObject(call.request)
    try await rest.run(
      Statement(
        Query(
          """
          WITH changed AS (
            UPDATE visitors SET banned_at = CASE WHEN $5::boolean THEN now() END
            WHERE workspace_id = $1::uuid AND id = $4::uuid
              AND (banned_at IS NOT NULL) <> $5::boolean RETURNING id
          ), known AS (
            INSERT INTO friend_events (workspace_id, visitor_id, channel, event)
            SELECT $1::uuid, id, 'web', CASE WHEN $5::boolean THEN 'block' ELSE 'unblock' END
            FROM changed
          )
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text,
            CASE WHEN $5::boolean THEN 'visitor.blocked' ELSE 'visitor.unblocked' END, id
          FROM changed
          """, call.actor + [.uuid(call.parameters.id("id")), .bool(isBanned)])))
    return try await showVisitor(call)
  }

  /// Everything that is kept about a visitor, as a file.
  func exportVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    let id = call.parameters.id("id")
    let copy = try await rest.run(VisitorData.export(id, workspace: call.workspace))
    guard let copy else { throw .noSuchThing }
    try await rest.run(
      Statement(
        Query(
          """
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          VALUES ($1::uuid, $2::uuid, $3::text, 'visitor.exported', $4::uuid)
          """, call.actor + [.uuid(id)])))
    return APIResponse(
      status: 200,
      headers: [
        ("Content-Type", "application/json"),
        ("Content-Disposition", "attachment; filename=\"visitor-\(id).json\""),
      ], body: Array(copy.utf8))
  }

  /// First the way back in, then what was said, last the visitor: see `VisitorData`.
  func eraseVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    let id = call.parameters.id("id")
    let actor = VisitorData.Actor(kind: call.caller.actor, id: call.caller.id)
    let found = try await rest.run(VisitorData.lockOut(id, workspace: call.workspace, by: actor))
    guard let found else { throw .noSuchThing }
    // What is written until then is erased too.
    try await rest.shutOut(id)
    var messages: Int64 = 0
    for session in found {
      messages += try await rest.run(VisitorData.eraseSession(session, workspace: call.workspace))
    }
    _ = try await rest.run(
      VisitorData.eraseRest(
        id, workspace: call.workspace, by: actor, sessions: Int64(found.count),
        messages: messages))
    for session in found { rest.sessions.changed(session: session) }
    return APIResponse(status: 204)
  }
}
