/// The account of the operator who sends the request.
import Directory
import JSON
import Primitives

extension LoginRoutes {
  func showMe(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    guard let workspace = try await api.database.run(Workspace.withID(member.workspace)) else {
      throw .unauthenticated
    }
    return .json(
      [UInt8].object { json in
        appendAccount(
          member, workspaceName: workspace.name, publicKey: workspace.publicKey, to: &json)
      })
  }

  func appendAccount(
    _ member: Operator, workspaceName: String, publicKey: String, to json: inout [UInt8]
  ) {
    json.appendObject("operator") {
      $0.appendMember("id", member.id)
      $0.appendMember("name", member.name)
      $0.appendMember("email", member.email)
      $0.appendMember("role", member.membership)
    }
    json.appendObject("workspace") {
      $0.appendMember("id", member.workspace)
      $0.appendMember("name", workspaceName)
      $0.appendMember("public_key", publicKey)
    }
  }

  /// Ends the caller's other logins. The login of this request remains; its next token carries the
  /// credential of the new password.
  func changePassword(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let member = try call.member
    let current = try object.requiredString("current", bytesMax: APILimits.passwordBytes)
    guard let new = try object.newPassword("new") else { throw .missing("new") }
    if member.mustChangePassword, new == current { throw .samePassword }
    try await api.checkPassword(new, own: [member.email, member.name], call)
    let attempt = try api.logins.begin(
      LoginAttempt(account: member.id.description, device: .member), call.request.now)
    let currentHash = try await api.database.run(Operator.passwordHash(of: member.id))
    guard try await api.passwords.verify(current, against: currentHash, isKnown: true),
      let currentHash
    else { throw .wrongPassword }
    api.logins.succeed(attempt)
    let newHash = try await api.passwords.hash(new)
    let isChanged = try await api.database.run(
      Operator.changePassword(
        from: currentHash, to: newHash,
        keptLogin: LoginCookie.secret(in: call.request).map { secretHash($0) }, by: call.actor))
    guard isChanged else { throw .wrongPassword }
    return APIResponse(status: 204)
  }
}

extension JSONObject {
  /// A password that an account is to get; nil if the member is missing.
  func newPassword(_ name: String) throws(Problem) -> String? {
    guard let password = try string(name, bytesMax: APILimits.passwordBytes) else { return nil }
    guard password.unicodeScalars.count >= PasswordPolicy.charactersMin else {
      throw .invalidMember(name, "at least \(PasswordPolicy.charactersMin) characters long")
    }
    return password
  }
}

extension API {
  /// Refuses a password that is easy to guess for this account.
  ///
  /// - Parameter own: the account's address and name.
  func checkPassword(_ password: String, own: [String], _ call: Call) async throws(Problem) {
    let workspace = try await database.run(Workspace.withID(call.workspace))?.name ?? ""
    if let fault = PasswordPolicy.fault(password, own: own + [workspace]) {
      throw .weakPassword(fault)
    }
  }
}

extension Problem {
  static let wrongPassword = Problem.forbidden(
    "wrong_password", "The current password is wrong.")

  /// 403 as for a wrong password: the body is valid, but not allowed for this account.
  static let samePassword = Problem.forbidden(
    "same_password", "The new password is the current one. Choose another one.")

  static func weakPassword(_ fault: PasswordPolicy.Fault) -> Problem {
    Problem(
      status: 422, type: "weak_password", title: "Weak password",
      detail: "The password \(fault.rawValue)")
  }
}
