/// The members of a workspace: who they are, what they may do, and whether they may at all.
///
/// An account may be a member of several workspaces (the command line makes it one). What belongs
/// to the account, its name, password and being disabled, is then no matter of one workspace's
/// administrators: they could log in elsewhere by it.
import Chat
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

extension API {
  static let member = RowShape([
    ("id", .id), ("name", .text), ("email", .text),
    ("role", .word(Membership.allCases.map(\.rawValue))), ("disabled", .bool), ("online", .bool),
    ("available", .bool), ("load", .int),
    ("password", .word(["none", "given", "own"])), ("created_at", .time),
  ])

  func listMembers(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("members", keys: 2)
    return try await list(
      page, API.member,
      Query(
        API.membersSQL,
        [
          .uuid(call.workspace), .null, try page.time(0), try page.id(1), page.rowsWanted,
        ]))
  }

  private func showMember(
    _ id: Identifier, status: Int = 200, _ call: Call
  ) async throws(Problem) -> APIResponse {
    try await answer(
      "member", API.member, status: status,
      Query(API.membersSQL, [.uuid(call.workspace), .uuid(id), .null, .null, .int(1)]))
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
    let object = try declaredObject(call.request)
    let email = try object.requiredString("email", bytesMax: APILimits.emailBytes)
    guard isEmail(email) else { throw .wrongType("email", "an e-mail address") }
    let name = try object.requiredString("name", bytesMax: APILimits.nameBytes)
    let role = try membership(object) ?? .agent
    try call.caller.checkReach(of: role)
    let hash = try await givenPassword(object, call.caller)
    let id = identifier(call.request.now)
    let isMade = try await run(
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
    let object = try declaredObject(call.request)
    let id = call.parameters.id("id")
    let name = try object.string("name", bytesMax: APILimits.nameBytes)
    if name?.isEmpty == true { throw .wrongType("name", "a string that is not empty") }
    let role = try membership(object)
    if let role { try call.caller.checkReach(of: role) }
    let isDisabled = try object.bool("disabled")
    let hash = try await givenPassword(object, call.caller, to: id)
    try await change(
      call,
      [
        .text(name), .text(role?.rawValue), isDisabled.map { Parameter.bool($0) } ?? .null,
        .text(hash),
      ], isRemoval: false)
    return try await showMember(id, call)
  }

  /// The hash of a password that one member gives another, who cannot log in without one.
  private func givenPassword(
    _ object: JSONObject, _ caller: Caller, to id: Identifier? = nil
  ) async throws(Problem) -> String? {
    guard let password = try newPassword(object, "password") else { return nil }
    try caller.checkMayGivePassword(to: id)
    return try await hashed(password)
  }

  /// The account goes with its last membership.
  func removeMember(_ call: Call) async throws(Problem) -> APIResponse {
    try await change(call, [.null, .null, .null, .null], isRemoval: true)
    return APIResponse(status: 204)
  }

  /// - Parameter values: name, role, disabled and password; NULL stays as it is.
  private func change(
    _ call: Call, _ values: [Parameter], isRemoval: Bool
  ) async throws(Problem) {
    let rows = try await run(
      Statement(
        Query(
          API.changeMemberSQL,
          call.actor + [.uuid(call.parameters.id("id"))] + values + [
            .text(call.caller.reachedRoles), .bool(isRemoval),
          ])
      ) { $0 })
    switch rows.isEmpty ? nil : rows.text(0, 0) {
    case "done": break
    case "beyond_reach": throw call.caller.beyondReach
    case "last_owner":
      throw .conflict("This is the last owner of the workspace; make somebody else one first.")
    case "shared":
      throw .conflict(
        "This account is a member of other workspaces too, so only its role can be changed here.")
    default: throw .noSuchThing
    }
    for id in (rows.text(0, 1) ?? "").split(separator: " ") {
      guard let session = Identifier(String(id)) else { continue }
      sessions.changed(session: session)
      sessions.happened(WorkspaceNews(workspace: call.workspace, session: session, kind: .waits))
    }
  }

  /// Who is the last owner is decided under a lock on all owners, so that two of them cannot lower
  /// each other at the same time. The conversations of who is removed or disabled go back to the
  /// queue, and their logs say so.
  private static let changeMemberSQL: StaticString = """
    WITH owners AS (
      SELECT m.operator_id FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.workspace_id = $1::uuid AND m.role = 'owner' AND o.disabled_at IS NULL
      ORDER BY m.operator_id FOR UPDATE OF m, o
    ), target AS (
      SELECT m.operator_id AS id, m.role, EXISTS (SELECT FROM memberships x
        WHERE x.operator_id = m.operator_id AND x.workspace_id <> $1::uuid) AS is_shared
      FROM memberships m WHERE m.workspace_id = $1::uuid AND m.operator_id = $4::uuid
      FOR UPDATE
    ), verdict AS (
      SELECT t.id, t.is_shared, coalesce($7::boolean, false) OR $10::boolean AS leaves, CASE
        WHEN t.role <> ALL (string_to_array($9::text, ' '))
          OR $6::text <> ALL (string_to_array($9::text, ' ')) THEN 'beyond_reach'
        WHEN t.role = 'owner' AND ($6::text <> 'owner' OR $7::boolean OR $10::boolean)
          AND NOT EXISTS (SELECT FROM owners w WHERE w.operator_id <> t.id) THEN 'last_owner'
        WHEN t.is_shared AND ($5::text IS NOT NULL OR $7::boolean IS NOT NULL
          OR $8::text IS NOT NULL) THEN 'shared'
        ELSE 'done' END AS word
      FROM target t
    ), joined AS (
      UPDATE memberships m SET role = $6::text FROM verdict v
      WHERE v.word = 'done' AND m.workspace_id = $1::uuid AND m.operator_id = v.id
        AND $6::text IS NOT NULL
    ), changed AS (
      UPDATE operators o SET name = coalesce($5::text, o.name),
        password_hash = coalesce($8::text, o.password_hash),
        must_change_password = o.must_change_password OR $8::text IS NOT NULL,
        disabled_at = CASE WHEN $7::boolean IS NULL THEN o.disabled_at
          WHEN $7::boolean THEN coalesce(o.disabled_at, now()) END
      FROM verdict v WHERE v.word = 'done' AND NOT $10::boolean AND o.id = v.id
    ), held AS (
      SELECT s.id, s.last_seq, v.id AS member, o.name, clock_timestamp() AS at
      FROM verdict v JOIN operators o ON o.id = v.id
        JOIN chat_sessions s ON s.assigned_operator_id = v.id
      WHERE v.word = 'done' AND v.leaves AND s.workspace_id = $1::uuid AND s.status = 'active'
        AND s.deleted_at IS NULL
      ORDER BY s.id FOR UPDATE OF s
    ), lines AS (
      SELECT h.*, h.name || ' is gone; the conversation waits for the next operator' AS content,
        jsonb_build_object('event', 'unassigned', 'reason', 'operator_gone',
          'from', jsonb_build_object('id', h.member, 'name', h.name)) AS payload
      FROM held h
    ), written AS (
      INSERT INTO chats
        (id, workspace_id, session_id, seq, role, kind, content, payload, content_hash, created_at)
      SELECT gen_random_uuid(), $1::uuid, l.id, l.last_seq + 1, 'system', 'event', l.content,
        l.payload, sha256(convert_to('event' || E'\\n' || l.payload::text || E'\\n' || l.content,
          'UTF8')), l.at
      FROM lines l
    ), freed AS (
      UPDATE chat_sessions s SET last_seq = h.last_seq + 1, status = 'waiting',
        assigned_operator_id = NULL, operator_name = NULL, queued_at = NULL,
        returned_by = h.member,
        waiting_since = CASE WHEN s.last_seq > 0 THEN coalesce(s.queued_at, h.at) END
      FROM held h WHERE s.workspace_id = $1::uuid AND s.id = h.id RETURNING s.id
    ), ended AS (
      DELETE FROM operator_sessions s USING verdict v
      WHERE v.word = 'done' AND s.operator_id = v.id AND ($7::boolean OR $8::text IS NOT NULL
        OR $10::boolean AND s.workspace_id = $1::uuid)
    ), gone AS (
      DELETE FROM memberships m USING verdict v WHERE v.word = 'done' AND $10::boolean
        AND m.workspace_id = $1::uuid AND m.operator_id = v.id
    ), closed AS (
      DELETE FROM operators o USING verdict v
      WHERE v.word = 'done' AND $10::boolean AND NOT v.is_shared AND o.id = v.id
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $2::uuid, $3::text,
        CASE WHEN $10::boolean THEN 'member.removed' ELSE 'member.changed' END, v.id,
        jsonb_strip_nulls(jsonb_build_object('role', $6::text, 'disabled', $7::boolean,
          'name', CASE WHEN $5::text IS NOT NULL THEN true END,
          'password', CASE WHEN $8::text IS NOT NULL THEN true END,
          'conversations', CASE WHEN v.leaves THEN (SELECT count(*) FROM freed) END))
      FROM verdict v WHERE v.word = 'done'
    )
    SELECT word, (SELECT string_agg(id::text, ' ') FROM freed) FROM verdict
    """

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
