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
    let attempt = try begin(
      LoginAttempt(
        account: account?.member.id.description ?? "unknown " + email.lowercased(),
        device: device.map { .known($0) } ?? .stranger(address: request.peer)),
      account?.member, request)
    guard
      try await api.passwords.verify(
        password, against: account?.passwordHash, isKnown: device != nil),
      let account
    else {
      try await fail(account?.member, reason: "password", request)
      throw .wrongCredentials
    }
    api.logins.succeed(attempt)
    try await checkNeedsNoProvider(account, request)
    let entered = account.member
    let isWeak = PasswordPolicy.fault(
      password, own: [entered.email, entered.name, account.workspaceName])
    if isWeak != nil {
      try await api.database.run(Operator.requireNewPassword(entered.id))
    }
    guard !account.hasSecondFactor else { return secondStep(of: account, request) }
    return try await enter(account, isWeak: isWeak != nil, factor: nil, device: device, request)
  }

  /// The response to a first step if a second one follows.
  func secondStep(of account: Operator.Account, _ request: APIRequest) -> APIResponse {
    let challenge = LoginChallenge(
      account: account.member.id, workspace: account.member.workspace,
      credential: account.member.credential ?? "")
    return .json(
      [UInt8].object {
        $0.appendMember("challenge", challenge.sealed(api.options.secrets, now: request.now))
        $0.appendMember(
          "methods",
          texts: (account.hasApp ? ["code"] : []) + (account.hasPasskey ? ["passkey"] : [])
            + ["recovery_code"])
      })
  }

  /// The second step of a login: a code of the app, or a recovery code.
  func loginWithCode(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    let object = try request.jsonObject()
    guard let text = try object.string("challenge", bytesMax: APILimits.challengeBytes) else {
      throw .missing("challenge")
    }
    let code = try object.requiredString("code", bytesMax: APILimits.codeBytes)
    let account = try await account(of: text, request)
    let device = api.devices.device(of: account.member.id, request)
    let attempt = try begin(
      LoginAttempt(
        account: account.member.id.description,
        device: device.map { .known($0) } ?? .stranger(address: request.peer)),
      account.member, request)
    let factor = try await api.useCode(
      code, of: account.member.id, workspace: account.member.workspace, now: request.now)
    guard let factor else {
      try await fail(account.member, reason: "code", request)
      throw .wrongCode
    }
    api.logins.succeed(attempt)
    return try await enter(account, isWeak: false, factor: factor, device: device, request)
  }

  /// Creates the login after all its steps.
  func enter(
    _ account: Operator.Account, isWeak: Bool, factor: API.Factor?, device: String?,
    _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    var member = account.member
    member.mustChangePassword = member.mustChangePassword || isWeak
    let settings = try await api.settings(of: member.workspace, now: request.now).settings
    member.mustEnrol = settings.security.requiresSecondFactor && factor == nil
    let secret = SecureRandom.token()
    let isCreated = try await api.database.run(
      OperatorSession.create(
        tokenHash: secretHash(secret), operator: member.id, workspace: member.workspace,
        passwordHash: account.passwordHash,
        by: OperatorSession.Proof(factor: factor?.rawValue, mustEnrol: member.mustEnrol),
        from: request.client, now: request.now,
        expiresAt: request.now.advanced(bySeconds: api.options.loginSeconds)))
    // The password or the second factor was changed, or the account disabled, during the check.
    guard isCreated else { throw .wrongCredentials }
    api.note("login.succeeded", account: member, request)
    return try operatorToken(
      member, login: secret, workspaceName: account.workspaceName,
      publicKey: account.workspacePublicKey, request
    ).addingCookies(
      cookies(secret, seconds: api.options.loginSeconds, request) + [
        api.devices.cookie(of: member.id, device: device, request)
      ])
  }

  /// Counts an attempt. Only the first refusal a minute is logged, so that refusals, which cost a
  /// client nothing, do not fill the log.
  func begin(
    _ attempt: LoginAttempt, _ account: Operator?, _ request: APIRequest
  ) throws(Problem) -> LoginAttempt {
    do throws(Problem) {
      return try api.logins.begin(attempt, request.now)
    } catch {
      if api.logins.refusals.isDue(Array(request.peer.utf8), request.now) {
        api.note("login.limited", isRefusal: true, account: account, request)
      }
      throw error
    }
  }

  /// Refuses a login without the identity provider if the workspace demands it.
  func checkNeedsNoProvider(
    _ account: Operator.Account, _ request: APIRequest
  ) async throws(Problem) {
    guard try await api.database.run(IdentityProvider.allowsPassword(of: account.member)) else {
      try await fail(account.member, reason: "identity_provider_required", request)
      throw .providerRequired
    }
  }

  /// Records a failed login. The limits of attempts bound the entries.
  func fail(
    _ account: Operator?, reason: String, _ request: APIRequest
  ) async throws(Problem) {
    api.note("login.failed", isRefusal: true, account: account, reason: reason, request)
    try await api.database.run(
      AuditLog.loginFailed(account, from: request.client, reason: reason))
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
      api.note("login.ended", request)
      try await api.disconnect([owner])
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
        role: member.tokenRole),
      TokenBinding(
        session: secretHash(secret).hexadecimal, credential: member.credential),
      seconds: api.options.operatorTokenSeconds, now: request.now)
    return .json(
      [UInt8].object { json in
        json.appendMember("token", token)
        json.appendMember("expires_at", expiresAt)
        json.appendMember("must_change_password", member.mustChangePassword)
        json.appendMember("must_add_second_factor", member.mustEnrol)
        appendAccount(member, workspaceName: workspaceName, publicKey: publicKey, to: &json)
      })
  }
}

extension Problem {
  static let providerRequired = Problem.forbidden(
    "identity_provider_required",
    "Members of your workspace log in with single sign-on. Choose it, and enter the name of the "
      + "workspace.")

  static let wrongCredentials = Problem(
    status: 401, type: "wrong_credentials", title: "Login failed",
    detail: "The e-mail address or the password is wrong, or the account is not a member of this "
      + "workspace.",
    headers: unauthenticated.headers)
}
