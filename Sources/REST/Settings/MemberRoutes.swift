/// The members of a workspace, their roles and passwords.
///
/// An account may be a member of several workspaces (the command line can add it). Its name,
/// password and whether it is disabled then cannot be changed by one workspace's administrators,
/// who could use them to log in to another workspace.
import Chat
import Conversations
import Directory
import JSON
import Primitives

struct MemberRoutes: RouteGroup {
  let api: API

  static let member = RowShape([
    ("id", .id), ("name", .text), ("email", .text),
    ("role", .word(Membership.allCases.map(\.rawValue))), ("disabled", .bool), ("online", .bool),
    ("available", .bool), ("load", .int),
    ("password", .word(["none", "given", "own"])), ("second_factor", .bool),
    ("created_at", .time),
  ])

  func listMembers(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("members", keys: 2)
    return try await api.list(
      page, MemberRoutes.member,
      Members.page(of: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  private func showMember(
    _ id: Identifier, status: Int = 200, _ call: Call
  ) async throws(Problem) -> APIResponse {
    try await api.row(
      "member", MemberRoutes.member, status: status, Members.find(id, in: call.workspace))
  }

  func addMember(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let email = try object.requiredString("email", bytesMax: APILimits.emailBytes)
    guard isEmailAddress(email) else { throw .invalidMember("email", "an e-mail address") }
    let name = try object.requiredString("name", bytesMax: APILimits.nameBytes)
    let role = try membership(object) ?? .agent
    try call.caller.checkReach(of: role)
    let isInvited = try object.bool("invite") ?? false
    if isInvited, api.options.mailFrom == nil { throw .noMail }
    if isInvited, !WorkspaceSettings.Mail.isAddress(email) { throw .noMailAddress }
    let hash = try await passwordHash(object, call, for: nil, own: [email, name])
    let id = call.newID()
    let isAdded = try await api.database.run(
      Members.add(
        id, email: email, name: name, role: role.rawValue, passwordHash: hash, by: call.actor))
    guard isAdded else {
      throw .conflict(
        "An account has this e-mail address already, or the workspace has \(Members.countMax) "
          + "members, the most it may have. Use another address, or remove a member first.")
    }
    if isInvited { try await PasswordLinkRoutes(api).invite(email, now: call.request.now) }
    return try await showMember(id, status: 201, call)
  }

  func changeMember(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let name = try object.nonEmptyString("name", bytesMax: APILimits.nameBytes)
    let role = try membership(object)
    if let role { try call.caller.checkReach(of: role) }
    let isDisabled = try object.bool("disabled")
    let hash = try await passwordHash(object, call, for: call.id, own: [name ?? ""])
    try await apply(
      MemberChange(name: name, role: role?.rawValue, isDisabled: isDisabled, passwordHash: hash),
      call)
    return try await showMember(call.id, call)
  }

  /// Removing the last membership of an account deletes the account.
  func removeMember(_ call: Call) async throws(Problem) -> APIResponse {
    try await apply(MemberChange(isRemoval: true), call)
    return APIResponse(status: 204)
  }

  /// The hash of the password that an administrator sets for a member; nil if the body has none.
  ///
  /// - Parameters:
  ///   - id: the member; nil: a new one.
  ///   - own: the account's texts, as far as the request has them: the password is replaced at the
  ///     first login.
  private func passwordHash(
    _ object: JSONObject, _ call: Call, for id: Identifier?, own: [String]
  ) async throws(Problem) -> String? {
    guard let password = try object.newPassword("password") else { return nil }
    try call.caller.checkMayGivePassword(to: id)
    try await api.checkPassword(password, own: own, call)
    return try await api.passwords.hash(password)
  }

  private func apply(_ change: MemberChange, _ call: Call) async throws(Problem) {
    let outcome = try await api.database.run(
      change.statement(
        of: call.id, reachedRoles: call.caller.reachedRoles, by: call.actor))
    switch outcome?.word {
    case "done": break
    case "beyond_reach": throw call.caller.beyondReach
    case "last_owner":
      throw .conflict(
        "This member is the last owner of the workspace. Make another member an owner first.")
    case "shared":
      throw .conflict(
        "This account is also a member of other workspaces, so only its role can be changed here.")
    default: throw .noSuchResource
    }
    for session in outcome?.freed ?? [] {
      api.sessions.changed(session: session)
      api.sessions.happened(
        WorkspaceNews(workspace: call.workspace, session: session, kind: .waits))
    }
  }

  private func membership(_ object: JSONObject) throws(Problem) -> Membership? {
    try object.word("role", of: Membership.allCases.map(\.rawValue))
      .flatMap { Membership(rawValue: $0) }
  }
}
