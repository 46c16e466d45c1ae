/// Who calls: an operator by bearer token or by the console's cookie, a server by its API key, a
/// visitor by the widget's token.
///
/// All are looked up in the database each time, so an account that is disabled or leaves its
/// workspace, a key that is revoked and a visitor who is banned are out at once, whatever their
/// token says.
import Directory
import OpenSSL
import Primitives
import Tokens
import Wire

extension API {
  public static let cookieName = "chirrup_session"
  /// What every API key begins with, so that a leaked one is recognised by scanners.
  static let keyPrefix = "ck_"

  func authenticate(_ request: APIRequest) async throws(Problem) -> Caller {
    if let authorization = request.header("Authorization") {
      let secret = try bearerSecret(authorization)
      if secret.hasPrefix(API.keyPrefix) { return .key(try await key(secret, request)) }
      return .member(try await member(secret, request))
    }
    // A browser adds the cookie to whatever a page asks for, so a write needs proof of our own
    // page.
    if request.method != "GET", cookie(request) != nil, !isSameOrigin(request) {
      throw .crossSite
    }
    guard let member = try await loggedIn(request) else { throw .unauthenticated }
    return .member(member)
  }

  /// The one place where roles and scopes are enforced, by what the table says about a route.
  func admit(_ caller: Caller, from least: Membership, _ scope: KeyScope?) throws(Problem) {
    switch caller {
    case .member:
      guard caller.membership >= least else { throw .forbidden(least) }
    case .key(let key):
      guard let scope else { throw .operatorsOnly }
      guard key.scopes.contains(scope.rawValue) else { throw .insufficientScope(scope) }
    }
  }

  /// What follows `Bearer` (RFC 6750 §2.1).
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

  /// The hash of the login that a bearer token was issued in; nil when there is none.
  func bearerLogin(_ request: APIRequest) throws(Problem) -> [UInt8]? {
    guard let authorization = request.header("Authorization") else { return nil }
    let secret = try bearerSecret(authorization)
    guard !secret.hasPrefix(API.keyPrefix) else { throw .operatorsOnly }
    let token = try verified(secret, request)
    guard case .operator = token.principal, let login = token.binding.session else {
      throw .noLogin
    }
    return [UInt8](hexadecimal: login)
  }

  private func key(_ secret: String, _ request: APIRequest) async throws(Problem) -> APIKey {
    guard secret.utf8.count <= APILimits.secretBytes,
      let key = try await run(APIKey.find(tokenHash: hash(secret), now: request.now))
    else { throw .unauthenticated }
    return key
  }

  private func member(
    _ secret: String, _ request: APIRequest
  ) async throws(Problem) -> Operator {
    let token = try verified(secret, request)
    guard case .operator(let id, let workspace, _, let role) = token.principal else {
      throw .forbidden(
        "forbidden", "This is for operators; a visitor's token opens the widget only.")
    }
    let login = OperatorLogin(
      id: id, workspace: workspace, role: role, session: token.binding.session,
      credential: token.binding.credential)
    guard var member = try await run(Operator.member(login)) else {
      throw .unauthenticated
    }
    // A token of the command line was not had by the password.
    if login.credential == nil { member.mustChangePassword = false }
    return member
  }

  /// A visitor who is not banned, on a page that the token was issued for (as for the socket, a
  /// program that sends no Origin has the token itself).
  func visitorCall(
    _ request: APIRequest, _ parameters: PathParameters
  ) async throws(Problem) -> VisitorCall {
    guard let authorization = request.header("Authorization") else { throw .unauthenticated }
    let token = try verified(try bearerSecret(authorization), request)
    guard case .visitor(let id, let workspace, let sessions, let name) = token.principal else {
      throw .forbidden("forbidden", "This is for visitors, with the token of their widget.")
    }
    if let bound = token.binding.origin, let origin = request.header("Origin"),
      WebOrigin.normalize(origin) != bound
    {
      throw .forbidden("origin", "This token was issued for pages of another site.")
    }
    guard let isBanned = try await run(Visitor.isBanned(id, workspace: workspace)) else {
      throw .unauthenticated
    }
    guard !isBanned else { throw .banned }
    return VisitorCall(
      request: request, visitor: id, workspace: workspace, sessions: sessions, name: name,
      parameters: parameters)
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

  /// The member whose login the cookie belongs to; nil when there is none, or it ended.
  func loggedIn(_ request: APIRequest) async throws(Problem) -> Operator? {
    guard let secret = cookie(request) else { return nil }
    return try await run(OperatorSession.find(tokenHash: hash(secret), now: request.now))
  }

  /// The cookie's secret (RFC 6265 §4.2.1).
  func cookie(_ request: APIRequest) -> String? {
    for header in request.headers where header.name.equalsIgnoringASCIICase("Cookie") {
      if let secret = RequestHead.cookie(API.cookieName, in: header.value) {
        return secret.utf8.count <= APILimits.secretBytes ? secret : nil
      }
    }
    return nil
  }

  /// Secrets of 256 random bits need no salt and no slow hash.
  func hash(_ secret: String) -> [UInt8] { SHA256.digest(Array(secret.utf8)) }

  /// One cookie for each place that reads it, so that it never travels with a page, a file or the
  /// opening of a WebSocket.
  func cookieHeaders(_ secret: String, seconds: Int64, _ request: APIRequest) -> [String] {
    let isSecure = request.isSecure || options.publicURL?.hasPrefix("https://") == true
    return ["/api/v1/auth", "/api/v1/admin"].map { path in
      "\(API.cookieName)=\(secret); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=\(seconds)"
        + (isSecure ? "; Secure" : "")
    }
  }

  /// A new id of version 7, so that ids made one after the other lie near each other in the
  /// indexes.
  func identifier(_ now: WallTime) -> Identifier {
    Identifier(
      version7At: now, randomHigh: UInt16(truncatingIfNeeded: SecureRandom.word()),
      randomLow: SecureRandom.word())
  }

  func after(_ seconds: Int64, _ now: WallTime) -> WallTime {
    WallTime(microseconds: now.microseconds + seconds * 1_000_000)
  }
}

extension Problem {
  static func forbidden(_ least: Membership) -> Problem {
    .forbidden(
      "forbidden",
      least == .owner
        ? "This takes an owner of the workspace."
        : "This takes an administrator of the workspace; ask one to do it, or to change your role.")
  }

  static let noLogin = Problem.conflict(
    "This token was not issued in a login, so there is none to end; it ends by itself.")

  static let operatorsOnly = Problem.forbidden(
    "operators_only", "This is for operators who are logged in; no API key may do it.")

  static func insufficientScope(_ scope: KeyScope) -> Problem {
    .forbidden("insufficient_scope", "The API key lacks the scope “\(scope.rawValue)”.")
  }
}
