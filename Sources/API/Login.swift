/// Logging in and out of the console. An unknown address and a wrong password have the same answer
/// after the same time, and both count against the address and the account that were tried.
import Directory
import JSON
import Kernel
import OpenSSL
import Primitives
import Synchronization
import Tokens

extension API {
  func login(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try checkNotForeignPage(request)
    try takeRate(loginsByAddress, request.peer, request.now)
    let object = try declaredObject(request)
    guard let email = try object.string("email", bytesMax: APILimits.emailBytes) else {
      throw .missing("email")
    }
    guard let password = try object.string("password", bytesMax: APILimits.passwordBytes) else {
      throw .missing("password")
    }
    let workspace = try object.string("workspace", bytesMax: APILimits.nameBytes)
    try takeRate(loginsByEmail, email.lowercased(), request.now)

    let account = try await run(Operator.account(email: email, workspace: workspace))
    guard try await isRight(password, account?.passwordHash), let account else {
      throw .wrongCredentials
    }
    let secret = SecureRandom.token()
    let isMade = try await run(
      OperatorSession.create(
        tokenHash: hash(secret), operator: account.member.id, workspace: account.member.workspace,
        passwordHash: account.passwordHash, expiresAt: after(options.loginSeconds, request.now)))
    // Changed or disabled while the password was checked.
    guard isMade else { throw .wrongCredentials }
    return try operatorToken(
      account.member, login: secret, workspaceName: account.workspaceName,
      publicKey: account.workspacePublicKey, request
    ).addingCookies(cookieHeaders(secret, seconds: options.loginSeconds, request))
  }

  /// A new token for the socket, for the console that has the cookie.
  func renewToken(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard let secret = cookie(request) else { throw .unauthenticated }
    guard isSameOrigin(request) else { throw .crossSite }
    guard let member = try await loggedIn(request),
      let workspace = try await run(Workspace.withID(member.workspace))
    else { throw .unauthenticated }
    return try operatorToken(
      member, login: secret, workspaceName: workspace.name, publicKey: workspace.publicKey,
      request)
  }

  /// Ends the login of the cookie, and that of the bearer token, which no page sends by itself.
  func logout(_ request: APIRequest) async throws(Problem) -> APIResponse {
    var ended: [[UInt8]] = []
    if let secret = cookie(request) {
      guard isSameOrigin(request) else { throw .crossSite }
      ended.append(hash(secret))
    }
    if let login = try bearerLogin(request) { ended.append(login) }
    for hash in ended {
      guard let owner = try await run(OperatorSession.end(tokenHash: hash, now: request.now))
      else { continue }
      try await shutOut(owner)
    }
    return APIResponse(status: 204).addingCookies(cookieHeaders("", seconds: 0, request))
  }

  private func operatorToken(
    _ member: Operator, login secret: String, workspaceName: String, publicKey: String,
    _ request: APIRequest
  ) throws(Problem) -> APIResponse {
    let (token, expiresAt) = try issue(
      .operator(
        id: member.id, workspace: member.workspace, name: member.name,
        role: member.mustChangePassword ? Operator.roleBeforeOwnPassword : member.membership),
      TokenBinding(
        session: hexadecimal(hash(secret)), credential: member.credential),
      seconds: options.operatorTokenSeconds, now: request.now)
    return .json(
      [UInt8].object { json in
        json.appendMember("token", token)
        json.appendMember("expires_at", expiresAt)
        json.appendMember("must_change_password", member.mustChangePassword)
        appendAccount(member, workspaceName: workspaceName, publicKey: publicKey, to: &json)
      })
  }

  func issue(
    _ principal: Principal, _ binding: TokenBinding, seconds: Int, now: WallTime
  ) throws(Problem) -> (token: String, expiresAt: WallTime) {
    do {
      return try tokens.issue(
        principal, boundTo: binding, lifetimeSeconds: seconds, now: now)
    } catch {
      options.report("a token could not be issued: \(error)")
      throw .internalError
    }
  }

  func takeRate(
    _ table: borrowing Mutex<RateTable<String>>, _ key: String, _ now: WallTime
  ) throws(Problem) {
    let seconds = table.withLock {
      $0.take(key, atMilliseconds: now.microseconds / 1000)
    }
    if seconds > 0 { throw .rateLimited(afterSeconds: seconds) }
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
    let verdict = await passwords.run { () -> Result<Answer, CryptoFault> in
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
      options.report("a password could not be checked: \(fault)")
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
