/// The members of a workspace: who they are, what they may do, and whether they may at all.
///
/// An account may be a member of several workspaces (the command line makes it one). What belongs
/// to the account, its name, password and being disabled, is then no matter of one workspace's
/// administrators: they could log in elsewhere by it.
import Chat
import Conversations
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

struct MemberRoutes: RouteGroup {
  let rest: API

  static let member = RowShape([
    ("id", .id), ("name", .text), ("email", .text),
    ("role", .word(Membership.allCases.map(\.rawValue))), ("disabled", .bool), ("online", .bool),
    ("available", .bool), ("load", .int),
    ("password", .word(["none", "given", "own"])), ("created_at", .time),
  ])

  func listMembers(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("members", keys: 2)
    return try await rest.list(
      page, MemberRoutes.member,
      Query(
        MemberRoutes.membersSQL,
        [
          .uuid(call.workspace), .null, try page.time(0), try page.id(1), page.rowsWanted,
        ]))
  }

  private func showMember(
    _ id: Identifier, status: Int = 200, _ call: Call
  ) async throws(Problem) -> APIResponse {
    try await rest.answer(
      "member", MemberRoutes.member, status: status,
      Query(MemberRoutes.membersSQL, [.uuid(call.workspace), .uuid(id), .null, .null, .int(1)]))
  }

  /// Oldest first. `load` is how many open conversations somebody has.
  private static let membersSQL: StaticString = """
    SELECT o.id, o.name, o.email, m.role, o.disabled_at IS NOT NULL, p.operator_id IS NOT NULL,
      coalesce(p.is_available, false),
      (SELECT count(*) FROM chat_sessions s WHERE s.workspace_id = $1::uuid
        AND s.assigned_operator_id = o.id AND s.status = 'active' AND s.deleted_at IS NULL),
      CASE WHEN o.password_hash IS NULL THEN 'none' WHEN o.must_change_password THEN 'given'
        ELSE 'own' END,
      m.created_at, (extract(epoch FROM m.created_at) * 1000000)::bigint::text, o.id::text
    FROM memberships m JOIN operators o ON o.id = m.operator_id
    LEFT JOIN operator_presence p ON p.workspace_id = $1::uuid AND p.operator_id = o.id
      AND chirrup_is_present(p.seen_at)
    WHERE m.workspace_id = $1::uuid AND ($2::uuid IS NULL OR o.id = $2::uuid)
      AND ($3::timestamptz IS NULL OR (m.created_at, o.id) > ($3::timestamptz, $4::uuid))
    ORDER BY m.created_at, o.id LIMIT $5::bigint
    """

  func addMember(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let email = try object.requiredString("email", bytesMax: APILimits.emailBytes)
    guard isEmail(email) else { throw .wrongType("email", "an e-mail address") }
    let name = try object.requiredString("name", bytesMax: APILimits.nameBytes)
    let role = try membership(object) ?? .agent
    try call.caller.checkReach(of: role)
    let hash = try await givenPassword(object, call.caller)
    let id = rest.identifier(call.request.now)
    let isMade = try await rest.run(
      Statement(
        Query(
          """
          WITH made AS (
            INSERT INTO operators (id, email, name, password_hash, must_change_password)
            SELECT $4::uuid, $5::text, $6::text, $7::text, $7::text IS NOT NULL
            WHERE (SELECT count(*) FROM memberships WHERE workspace_id = $1::uuid) < $9::bigint
            ON CONFLICT DO NOTHING RETURNING id
          ), joined AS (
            INSERT INTO memberships (workspace_id, operator_id, role)
            SELECT $1::uuid, id, $8::text FROM made
          )
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'member.added', id,
            jsonb_build_object('role', $8::text)
          FROM made RETURNING id
          """,
          call.actor + [
            .uuid(id), .text(email), .text(name), .text(hash), .text(role.rawValue),
            .int(APILimits.members),
          ])
      ) { !$0.isEmpty })
    guard isMade else {
      throw .conflict(
        "This e-mail address cannot be added: somebody has it already, or the workspace is full "
          + "(\(APILimits.members) members).")
    }
    return try await showMember(id, status: 201, call)
  }

  func changeMember(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let id = call.parameters.id("id")
    let name = try object.string("name", bytesMax: APILimits.nameBytes)
    if name?.isEmpty == true { throw .wrongType("name", "a string that is not empty") }
    let role = try membership(object)
    if let role { try call.caller.checkReach(of: role) }
    let isDisabled = try object.bool("disabled")
    let hash = try await givenPassword(object, call.caller, to: id)
    try await change(
      call,
      MemberChange(
        name: name, role: role?.rawValue, isDisabled: isDisabled, passwordHash: hash))
    return try await showMember(id, call)
  }

  /// The hash of a password that one member gives another, who cannot log in without one.
  private func givenPassword(
    _ object: JSONObject, _ caller: Caller, to id: Identifier? = nil
  ) async throws(Problem) -> String? {
    guard let password = try LoginRoutes(rest).newPassword(object, "password") else { return nil }
    try caller.checkMayGivePassword(to: id)
    return try await LoginRoutes(rest).hashed(password)
  }

  /// The account goes with its last membership.
  func removeMember(_ call: Call) async throws(Problem) -> APIResponse {
    try await change(call, MemberChange(isRemoval: true))
    return APIResponse(status: 204)
  }

  private func change(_ call: Call, _ change: MemberChange) async throws(Problem) {
    let outcome = try await rest.run(
      change.statement(
        of: call.parameters.id("id"), reachedRoles: call.caller.reachedRoles, by: call.actor))
    switch outcome?.word {
    case "done": break
    case "beyond_reach": throw call.caller.beyondReach
    case "last_owner":
      throw .conflict("This is the last owner of the workspace; make somebody else one first.")
    case "shared":
      throw .conflict(
        "This account is a member of other workspaces too, so only its role can be changed here.")
    default: throw .noSuchThing
    }
    for session in outcome?.freed ?? [] {
      rest.sessions.changed(session: session)
      rest.sessions.happened(
        WorkspaceNews(workspace: call.workspace, session: session, kind: .waits))
    }
  }

  private func membership(_ object: JSONObject) throws(Problem) -> Membership? {
    try object.word("role", of: Membership.allCases.map(\.rawValue))
      .flatMap { Membership(rawValue: $0) }
  }

  private func isEmail(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
      && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
  }
}
