/// Requests from pages: which foreign ones may call the widget's routes (CORS, Fetch §3.3), and how
/// the operators' routes tell their own console from a foreign page that rides on its cookie.
import Directory
import Primitives

extension API {
  /// The answer to a preflight (Fetch §4.8). The workspace is not known yet, so its list of origins
  /// speaks at the request itself.
  func preflight(_ request: APIRequest, allowed: [String]) -> APIResponse {
    APIResponse(
      status: 204,
      headers: [
        ("Access-Control-Allow-Methods", allowed.joined(separator: ", ")),
        ("Access-Control-Allow-Headers", "Content-Type"),
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

  /// Refuses a page that the workspace does not list. A request without Origin is not one of a
  /// foreign page when it is a GET; a browser sends one with every POST.
  func checkOrigin(_ request: APIRequest, of workspace: Workspace) throws(Problem) {
    guard let allowed = workspace.allowedOrigins else { return }
    guard let origin = request.header("Origin") else {
      if request.method == "GET" { return }
      throw .forbidden(
        "origin", "This workspace accepts its widget only from listed sites, and no Origin came.")
    }
    let isListed = allowed.contains { normalizedOrigin($0) == normalizedOrigin(origin) }
    guard isListed, normalizedOrigin(origin) != "null" else {
      throw .forbidden(
        "origin",
        "This site is not in the workspace's allowed origins; an administrator can add it there.")
    }
  }

  /// Scheme and host have no case (RFC 3986 §6.2.2.1); a browser sends both in lower case and
  /// leaves the scheme's own port out.
  func normalizedOrigin(_ origin: String) -> String {
    var text = origin.lowercased()
    if text.hasPrefix("https://"), text.hasSuffix(":443") { text.removeLast(4) }
    if text.hasPrefix("http://"), text.hasSuffix(":80") { text.removeLast(3) }
    return text
  }

  /// Whether a page of our own origin sent this: the proof that a write with a cookie needs (CSRF).
  /// `Sec-Fetch-Site` cannot be set by a page's script, and neither can Origin.
  func isSameOrigin(_ request: APIRequest) -> Bool {
    if let site = request.header("Sec-Fetch-Site") { return site == "same-origin" }
    guard let origin = request.header("Origin").map({ normalizedOrigin($0) }) else { return false }
    if let publicURL = options.publicURL, origin == originOf(publicURL) { return true }
    guard let host = request.header("Host")?.lowercased(), !host.isEmpty else { return false }
    return origin == normalizedOrigin("http://\(host)")
      || origin == normalizedOrigin("https://\(host)")
  }

  /// Scheme, host and port of a URL.
  private func originOf(_ url: String) -> String {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1].isEmpty else { return normalizedOrigin(url) }
    return normalizedOrigin("\(parts[0])//\(parts[2])")
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
