/// Identifies the caller: an operator by a bearer token or the console's cookie, a server by an API
/// key, a visitor by the widget's token.
///
/// Every request looks the caller up in the database, so a disabled or removed account, a revoked
/// key and a blocked visitor lose access at once, even with a valid token.
import Directory
import OpenSSL
import Primitives
import Tokens
import Wire

struct Authenticator: Sendable {
  /// The prefix of API keys, by which secret scanners recognize a leaked one.
  static let keyPrefix = "ck_"

  let database: APIDatabase
  let tokens: TokenAuthority
  let origins: OriginPolicy
  let report: @Sendable (String) -> Void
  private let seen = LastSeen()

  init(
    database: APIDatabase, tokens: TokenAuthority, origins: OriginPolicy,
    report: @escaping @Sendable (String) -> Void
  ) {
    self.database = database
    self.tokens = tokens
    self.origins = origins
    self.report = report
  }

  func caller(_ request: APIRequest) async throws(Problem) -> Caller {
    if let authorization = request.header("Authorization") {
      let secret = try bearerSecret(authorization)
      if secret.hasPrefix(Authenticator.keyPrefix) { return .key(try await key(secret, request)) }
      return .member(try await member(secret, request))
    }
    // Browsers add the cookie to requests of any page, so a write must prove that it comes from a
    // page of the gateway.
    if request.method != "GET", LoginCookie.secret(in: request) != nil,
      !origins.isSameOrigin(request)
    {
      throw .crossSite
    }
    guard let member = try await memberByCookie(request) else { throw .unauthenticated }
    return .member(member)
  }

  /// The hash of the login that the request uses; nil: a token of the command line, or an API key.
  func currentLogin(_ request: APIRequest) throws(Problem) -> [UInt8]? {
    guard let authorization = request.header("Authorization") else {
      return LoginCookie.secret(in: request).map { secretHash($0) }
    }
    let secret = try bearerSecret(authorization)
    guard !secret.hasPrefix(Authenticator.keyPrefix) else { return nil }
    return try verified(secret, request).binding.session.flatMap { [UInt8](hexadecimal: $0) }
  }

  /// The member whose login the cookie belongs to; nil without a cookie, or if the login has ended.
  func memberByCookie(_ request: APIRequest) async throws(Problem) -> Operator? {
    guard let secret = LoginCookie.secret(in: request) else { return nil }
    let hash = secretHash(secret)
    let member = try await database.run(
      OperatorSession.find(tokenHash: hash, now: request.now))
    if member != nil { try await noteSeen(hash, request) }
    return member
  }

  /// Stores the time of the login's last request, once a minute.
  private func noteSeen(_ login: [UInt8], _ request: APIRequest) async throws(Problem) {
    guard seen.isDue(login, request.now) else { return }
    try await database.run(
      OperatorSession.seen(tokenHash: login, address: request.peer, now: request.now))
  }

  /// The hash of the login in which the bearer token was issued; nil without a bearer token.
  func loginOfBearer(_ request: APIRequest) throws(Problem) -> [UInt8]? {
    guard let authorization = request.header("Authorization") else { return nil }
    let secret = try bearerSecret(authorization)
    guard !secret.hasPrefix(Authenticator.keyPrefix) else { throw .operatorsOnly }
    let token = try verified(secret, request)
    guard case .operator = token.principal, let login = token.binding.session else {
      throw .noLogin
    }
    return [UInt8](hexadecimal: login)
  }

  /// A visitor who is not blocked, on a page of the website for which the token was issued. As for
  /// the socket, a request without an Origin passes: a program has the token itself.
  func visitor(
    _ request: APIRequest, _ parameters: PathParameters
  ) async throws(Problem) -> VisitorCall {
    guard let authorization = request.header("Authorization") else { throw .unauthenticated }
    let token = try verified(try bearerSecret(authorization), request)
    guard case .visitor(let id, let workspace, let sessions, let name) = token.principal else {
      throw .forbidden(
        "forbidden",
        "This request requires a visitor's token (POST /api/v1/widget/token); the token is an "
          + "operator's.")
    }
    if let bound = token.binding.origin, let origin = request.header("Origin"),
      WebOrigin.normalize(origin) != bound
    {
      throw .forbidden(
        "origin",
        "This token was issued for another website. Request a new one from this page (POST "
          + "/api/v1/widget/token).")
    }
    guard let known = try await database.run(Visitor.ofToken(id, workspace: workspace)) else {
      throw .unauthenticated
    }
    guard !known.isBanned else { throw .banned }
    return VisitorCall(
      request: request, visitor: known.visitor, tokenVisitor: id, workspace: workspace,
      sessions: sessions, name: name, parameters: parameters)
  }

  func issueToken(
    _ principal: Principal, _ binding: TokenBinding, seconds: Int, now: WallTime
  ) throws(Problem) -> (token: String, expiresAt: WallTime) {
    do {
      return try tokens.issue(
        principal, boundTo: binding, lifetimeSeconds: seconds, now: now)
    } catch {
      report("a token could not be issued: \(error)")
      throw .internalError
    }
  }

  /// The token after `Bearer` (RFC 6750 §2.1).
  private func bearerSecret(_ authorization: String) throws(Problem) -> String {
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].equalsIgnoringASCIICase("Bearer") else {
      throw .unauthenticated
    }
    return String(parts[1].trimmingBlanks)
  }

  private func verified(
    _ token: String, _ request: APIRequest
  ) throws(Problem) -> VerifiedToken {
    do throws(TokenFault) {
      return try tokens.verify(Array(token.utf8), now: request.now)
    } catch {
      throw .unauthenticated
    }
  }

  private func key(_ secret: String, _ request: APIRequest) async throws(Problem) -> APIKey {
    guard secret.utf8.count <= APILimits.secretBytes,
      let key = try await database.run(
        APIKey.find(tokenHash: secretHash(secret), now: request.now))
    else { throw .unauthenticated }
    return key
  }

  private func member(
    _ secret: String, _ request: APIRequest
  ) async throws(Problem) -> Operator {
    let token = try verified(secret, request)
    guard case .operator(let id, let workspace, _, let role) = token.principal else {
      throw .forbidden(
        "forbidden",
        "This request requires an operator's token or an API key; the token is a visitor's.")
    }
    let login = OperatorLogin(
      id: id, workspace: workspace, role: role, session: token.binding.session,
      credential: token.binding.credential)
    guard var member = try await database.run(Operator.member(login)) else {
      throw .unauthenticated
    }
    if let hash = login.session.flatMap({ [UInt8](hexadecimal: $0) }) {
      try await noteSeen(hash, request)
    }
    // A token of the command line was not issued for a password.
    if login.credential == nil { member.mustChangePassword = false }
    return member
  }
}

extension Problem {
  static let noLogin = Problem.conflict(
    "This token was not issued by a login, so there is no login to end. It expires on its own.")

  static let operatorsOnly = Problem.forbidden(
    "operators_only",
    "This request requires a logged-in operator; an API key cannot send it.")
}
