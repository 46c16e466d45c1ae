/// Who calls: an operator by bearer token, or by the console's cookie.
///
/// Both are looked up in the database each time, so an account that is disabled or leaves its
/// workspace is out at once, whatever its token says.
import Directory
import OpenSSL
import Primitives
import Tokens

extension API {
  public static let cookieName = "chirrup_session"

  func authenticate(_ request: APIRequest) async throws(Problem) -> Operator {
    if let authorization = request.header("Authorization") {
      return try await bearer(authorization, request)
    }
    // A browser adds the cookie to whatever a page asks for, so a write needs proof of our own
    // page.
    if request.method != "GET", cookie(request) != nil, !isSameOrigin(request) {
      throw .crossSite
    }
    guard let member = try await loggedIn(request) else { throw .unauthenticated }
    return member
  }

  /// RFC 6750 §2.1.
  private func bearer(
    _ authorization: String, _ request: APIRequest
  ) async throws(Problem) -> Operator {
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, equalIgnoringCase(String(parts[0]), "Bearer") else {
      throw .unauthenticated
    }
    let token: VerifiedToken
    do throws(TokenFault) {
      token = try tokens.verify(Array(trimmed(parts[1]).utf8), now: request.now)
    } catch {
      throw .unauthenticated
    }
    guard case .operator(let id, let workspace, _, let role) = token.principal else {
      throw .forbidden(
        "forbidden", "This is for operators; a visitor's token opens the widget only.")
    }
    let login = OperatorLogin(
      id: id, workspace: workspace, role: role, session: token.binding.session,
      credential: token.binding.credential)
    guard let member = try await run(Operator.member(login)) else {
      throw .unauthenticated
    }
    return member
  }

  /// The member whose login the cookie belongs to; nil when there is none, or it ended.
  func loggedIn(_ request: APIRequest) async throws(Problem) -> Operator? {
    guard let secret = cookie(request) else { return nil }
    return try await run(OperatorSession.find(tokenHash: hash(secret), now: request.now))
  }

  /// The cookie's secret (RFC 6265 §4.2.1).
  func cookie(_ request: APIRequest) -> String? {
    for header in request.headers where equalIgnoringCase(header.name, "Cookie") {
      for pair in header.value.split(separator: ";") {
        let halves = trimmed(pair).split(separator: "=", maxSplits: 1)
        guard halves.count == 2, halves[0] == API.cookieName,
          halves[1].utf8.count <= APILimits.secretBytes
        else { continue }
        return String(halves[1])
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

  func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
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
