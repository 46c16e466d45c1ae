/// Requests from pages: which foreign ones may call the widget's routes (CORS, Fetch §3.3), and how
/// the operators' routes tell their own console from a foreign page that rides on its cookie.
import Directory
import Primitives
import Wire

extension API {
  /// The answer to a preflight (Fetch §4.8). The workspace is not known yet, so its list of origins
  /// speaks at the request itself.
  func preflight(_ request: APIRequest, allowed: [String]) -> APIResponse {
    APIResponse(
      status: 204,
      headers: [
        ("Access-Control-Allow-Methods", allowed.joined(separator: ", ")),
        ("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key"),
        ("Access-Control-Max-Age", "7200"),
        ("Allow", (allowed + ["OPTIONS"]).joined(separator: ", ")),
      ])
  }

  /// Echoes the Origin, also with an error, so that the widget can read why. Never with
  /// credentials.
  func addCORS(to response: inout APIResponse, _ request: APIRequest) {
    response.headers.append(("Vary", "Origin"))
    guard let origin = request.header("Origin"), isPlain(origin) else { return }
    response.headers.append(("Access-Control-Allow-Origin", origin))
    response.headers.append(("Access-Control-Expose-Headers", "Retry-After"))
  }

  /// Only what an origin can be made of is ever echoed into a header.
  private func isPlain(_ origin: String) -> Bool {
    origin.utf8.count <= APILimits.originBytes && origin.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// Refuses a page that the workspace does not list, or the settings do not where it lists none.
  /// A request without Origin is not one of a foreign page when it is a GET; a browser sends one
  /// with every POST.
  ///
  /// - Returns: the page's origin in its one form, which a token is bound to; nil without one.
  @discardableResult
  func checkOrigin(_ request: APIRequest, of workspace: Workspace) throws(Problem) -> String? {
    let given = request.headers.filter { $0.name.equalsIgnoringASCIICase("Origin") }
    guard let text = given.first?.value else {
      guard workspace.allowedOrigins != nil, request.method != "GET" else { return nil }
      throw .forbidden(
        "origin", "This workspace accepts its widget only from listed sites, and no Origin came.")
    }
    guard given.count == 1, let origin = WebOrigin.normalize(text) else {
      throw .forbidden("origin", "The Origin is null or malformed; use a page of a website.")
    }
    let allowed = workspace.allowedOrigins ?? options.allowedOrigins
    let isListed =
      allowed.contains { WebOrigin.normalize($0) == origin }
      || workspace.allowedOrigins == nil && (allowed.contains("*") || isOwn(origin, request))
    guard isListed else {
      throw .forbidden(
        "origin",
        "This site is not in the workspace's allowed origins; an administrator can add it there.")
    }
    return origin
  }

  /// Whether a page of our own origin sent this: the proof that a write with a cookie needs (CSRF).
  /// `Sec-Fetch-Site` cannot be set by a page's script, and neither can Origin.
  func isSameOrigin(_ request: APIRequest) -> Bool {
    if let site = request.header("Sec-Fetch-Site") { return site == "same-origin" }
    return request.header("Origin").flatMap { WebOrigin.normalize($0) }.map { isOwn($0, request) }
      ?? false
  }

  private func isOwn(_ origin: String, _ request: APIRequest) -> Bool {
    if let publicURL = options.publicURL, origin == WebOrigin.of(url: publicURL) { return true }
    guard let host = request.header("Host"), !host.isEmpty else { return false }
    return origin == WebOrigin.normalize("http://\(host)")
      || origin == WebOrigin.normalize("https://\(host)")
  }

  /// Refuses a foreign page's request where a plain one without Origin (a script, curl) is welcome.
  func checkNotForeignPage(_ request: APIRequest) throws(Problem) {
    guard request.header("Origin") != nil || request.header("Sec-Fetch-Site") != nil else { return }
    guard isSameOrigin(request) else { throw .crossSite }
  }
}

extension Problem {
  static let crossSite = Problem.forbidden(
    "cross_site",
    "This request came from a page of another site; use the console at its own address.")
}
