/// Logging in and out of the console. An unknown address and a wrong password have the same answer
/// after the same time, and both count against the address and the account that were tried.
import Directory
import JSON
import Kernel
import OpenSSL
import Primitives
import Synchronization
import Tokens

struct LoginRoutes: RouteGroup {
  let rest: API

  func login(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try rest.checkNotForeignPage(request)
    try rest.takeRate(rest.loginsByAddress, request.peer, request.now)
    let object = try rest.declaredObject(request)
    guard let email = try object.string("email", bytesMax: APILimits.emailBytes) else {
      throw .missing("email")
    }
    guard let password = try object.string("password", bytesMax: APILimits.passwordBytes) else {
      throw .missing("password")
    }
    let workspace = try object.string("workspace", bytesMax: APILimits.nameBytes)
    try rest.takeRate(rest.loginsByEmail, email.lowercased(), request.now)

    let account = try await rest.run(Operator.account(email: email, workspace: workspace))
    guard try await isRight(password, account?.passwordHash), let account else {
      throw .wrongCredentials
    }
    let secret = SecureRandom.token()
    let isMade = try await rest.run(
      OperatorSession.create(
        tokenHash: rest.hash(secret), operator: account.member.id,
        workspace: account.member.workspace,
        passwordHash: account.passwordHash,
        expiresAt: rest.after(rest.options.loginSeconds, request.now)))
    // Changed or disabled while the password was checked.
    guard isMade else { throw .wrongCredentials }
    return try operatorToken(
      account.member, login: secret, workspaceName: account.workspaceName,
      publicKey: account.workspacePublicKey, request
    ).addingCookies(rest.cookieHeaders(secret, seconds: rest.options.loginSeconds, request))
  }

  /// A new token for the socket, for the console that has the cookie.
  func renewToken(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard let secret = rest.cookie(request) else { throw .unauthenticated }
    guard rest.isSameOrigin(request) else { throw .crossSite }
    guard let member = try await rest.loggedIn(request),
      let workspace = try await rest.run(Workspace.withID(member.workspace))
    else { throw .unauthenticated }
    return try operatorToken(
      member, login: secret, workspaceName: workspace.name, publicKey: workspace.publicKey,
      request)
  }

  /// Ends the login of the cookie, and that of the bearer token, which no page sends by itself.
  func logout(_ request: APIRequest) async throws(Problem) -> APIResponse {
    var ended: [[UInt8]] = []
    if let secret = rest.cookie(request) {
      guard rest.isSameOrigin(request) else { throw .crossSite }
      ended.append(rest.hash(secret))
    }
    if let login = try rest.bearerLogin(request) { ended.append(login) }
    for hash in ended {
      guard let owner = try await rest.run(OperatorSession.end(tokenHash: hash, now: request.now))
      else { continue }
      try await rest.shutOut(owner)
    }
    return APIResponse(status: 204).addingCookies(rest.cookieHeaders("", seconds: 0, request))
  }

  private func operatorToken(
    _ member: Operator, login secret: String, workspaceName: String, publicKey: String,
    _ request: APIRequest
  ) throws(Problem) -> APIResponse {
    let (token, expiresAt) = try rest.issue(
      .operator(
        id: member.id, workspace: member.workspace, name: member.name,
        role: member.mustChangePassword ? Operator.roleBeforeOwnPassword : member.membership),
      TokenBinding(
        session: rest.hash(secret).hexadecimal, credential: member.credential),
      seconds: rest.options.operatorTokenSeconds, now: request.now)
    return .json(
      [UInt8].object { json in
        json.appendMember("token", token)
        json.appendMember("expires_at", expiresAt)
        json.appendMember("must_change_password", member.mustChangePassword)
        appendAccount(member, workspaceName: workspaceName, publicKey: publicKey, to: &json)
      })
  }

  /// Checks a password. Without a hash it takes as long and is wrong.
  func isRight(_ password: String, _ hash: String?) async throws(Problem) -> Bool {
    try await derive { () throws(CryptoFault) in
      if let hash { return try Password.verify(password, against: hash) }
      try Password.verifyNothing(password)
      return false
    }
  }

  func hashed(_ password: String) async throws(Problem) -> String {
    try await derive { () throws(CryptoFault) in try Password.hash(password) }
  }

  /// Works away from the caller's executor: scrypt is slow on purpose.
  private func derive<Answer: Sendable>(
    _ work: @escaping @Sendable () throws(CryptoFault) -> Answer
  ) async throws(Problem) -> Answer {
    let verdict = await rest.passwords.run { () -> Result<Answer, CryptoFault> in
      do throws(CryptoFault) {
        return .success(try work())
      } catch {
        return .failure(error)
      }
    }
    guard let verdict else { throw .rateLimited(afterSeconds: 1) }
    switch verdict {
    case .success(let answer): return answer
    case .failure(let fault):
      rest.options.report("a password could not be checked: \(fault)")
      throw .unavailable
    }
  }
}

extension Problem {
  static let wrongCredentials = Problem(
    status: 401, type: "wrong_credentials", title: "Login failed",
    detail:
      "The e-mail address or the password is wrong, or the account may not use this workspace.",
    headers: unauthenticated.headers)
}
