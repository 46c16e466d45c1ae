/// Login and logout of operators. An unknown address and a wrong password get the same response
/// after the same time, and both count against the account and the client's address or device.
import Directory
import JSON
import OpenSSL
import Primitives
import Tokens

struct LoginRoutes: RouteGroup {
  let api: API

  func login(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    let object = try request.jsonObject()
    guard let email = try object.string("email", bytesMax: APILimits.emailBytes) else {
      throw .missing("email")
    }
    guard let password = try object.string("password", bytesMax: APILimits.passwordBytes) else {
      throw .missing("password")
    }
    let workspace = try object.string("workspace", bytesMax: APILimits.nameBytes)
    let account = try await api.database.run(Operator.account(email: email, workspace: workspace))
    let device = account.flatMap { api.devices.device(of: $0.member.id, request) }
    // An unknown address is limited like an account, so that limits do not reveal accounts.
    let attempt = try api.logins.begin(
      LoginAttempt(
        account: account?.member.id.description ?? "unknown " + email.lowercased(),
        device: device.map { .known($0) } ?? .stranger(address: request.peer)), request.now)
    guard
      try await api.passwords.verify(
        password, against: account?.passwordHash, isKnown: device != nil),
      let account
    else { throw .wrongCredentials }
    api.logins.succeed(attempt)
    var member = account.member
    if PasswordPolicy.fault(
      password, own: [member.email, member.name, account.workspaceName]) != nil
    {
      try await api.database.run(Operator.requireNewPassword(member.id))
      member.mustChangePassword = true
    }
    let secret = SecureRandom.token()
    let isCreated = try await api.database.run(
      OperatorSession.create(
        tokenHash: secretHash(secret), operator: account.member.id,
        workspace: account.member.workspace,
        passwordHash: account.passwordHash,
        expiresAt: request.now.advanced(bySeconds: api.options.loginSeconds)))
    // The password was changed or the account disabled during the check.
    guard isCreated else { throw .wrongCredentials }
    return try operatorToken(
      member, login: secret, workspaceName: account.workspaceName,
      publicKey: account.workspacePublicKey, request
    ).addingCookies(
      cookies(secret, seconds: api.options.loginSeconds, request) + [
        api.devices.cookie(of: account.member.id, device: device, request)
      ])
  }

  /// A new token for the WebSocket, by the console's cookie.
  func renewToken(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard let secret = LoginCookie.secret(in: request) else { throw .unauthenticated }
    guard api.origins.isSameOrigin(request) else { throw .crossSite }
    guard let member = try await api.authenticator.memberByCookie(request),
      let workspace = try await api.database.run(Workspace.withID(member.workspace))
    else { throw .unauthenticated }
    return try operatorToken(
      member, login: secret, workspaceName: workspace.name, publicKey: workspace.publicKey,
      request)
  }

  /// Ends the login of the cookie and that of the bearer token.
  func logout(_ request: APIRequest) async throws(Problem) -> APIResponse {
    var logins: [[UInt8]] = []
    if let secret = LoginCookie.secret(in: request) {
      guard api.origins.isSameOrigin(request) else { throw .crossSite }
      logins.append(secretHash(secret))
    }
    if let login = try api.authenticator.loginOfBearer(request) { logins.append(login) }
    for login in logins {
      let owner = try await api.database.run(
        OperatorSession.end(tokenHash: login, now: request.now))
      guard let owner else { continue }
      try await api.disconnect(owner)
    }
    return APIResponse(status: 204).addingCookies(cookies("", seconds: 0, request))
  }

  private func cookies(_ secret: String, seconds: Int64, _ request: APIRequest) -> [String] {
    LoginCookie.headers(secret, seconds: seconds, isSecure: api.origins.isSecure(request))
  }

  private func operatorToken(
    _ member: Operator, login secret: String, workspaceName: String, publicKey: String,
    _ request: APIRequest
  ) throws(Problem) -> APIResponse {
    let (token, expiresAt) = try api.authenticator.issueToken(
      .operator(
        id: member.id, workspace: member.workspace, name: member.name,
        role: member.mustChangePassword ? Operator.roleBeforeOwnPassword : member.membership),
      TokenBinding(
        session: secretHash(secret).hexadecimal, credential: member.credential),
      seconds: api.options.operatorTokenSeconds, now: request.now)
    return .json(
      [UInt8].object { json in
        json.appendMember("token", token)
        json.appendMember("expires_at", expiresAt)
        json.appendMember("must_change_password", member.mustChangePassword)
        appendAccount(member, workspaceName: workspaceName, publicKey: publicKey, to: &json)
      })
  }
}

extension Problem {
  static let wrongCredentials = Problem(
    status: 401, type: "wrong_credentials", title: "Login failed",
    detail: "The e-mail address or the password is wrong, or the account is not a member of this "
      + "workspace.",
    headers: unauthenticated.headers)
}
