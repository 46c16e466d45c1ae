/// Requests from web pages: which foreign pages may call the widget's routes (CORS, Fetch §3.3),
/// and how the operators' routes distinguish the console from a foreign page that uses its cookie
/// (CSRF).
import Directory
import Primitives
import Synchronization
import Wire

final class OriginPolicy: Sendable {
  private let publicURL: String?
  private let allowedOrigins: Mutex<[String]>

  /// - Parameter allowed: the allowed origins of workspaces that list none; `*` allows any.
  init(publicURL: String?, allowed: [String]) {
    self.publicURL = publicURL
    allowedOrigins = Mutex(allowed)
  }

  func use(allowed: [String]) { allowedOrigins.withLock { $0 = allowed } }

  /// The response to a preflight (Fetch §4.8). The workspace is not known yet, so its list of
  /// origins is checked with the request itself.
  func preflight(allowed methods: [String]) -> APIResponse {
    APIResponse(
      status: 204,
      headers: [
        ("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
        ("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key"),
        ("Access-Control-Max-Age", "7200"),
        ("Allow", (methods + ["OPTIONS"]).joined(separator: ", ")),
      ])
  }

  /// Echoes the Origin, also in an error, so that the widget can read the problem. Never allows
  /// credentials.
  func addCORS(to response: inout APIResponse, _ request: APIRequest) {
    response.headers.append(("Vary", "Origin"))
    guard let origin = request.header("Origin"), isPlain(origin) else { return }
    response.headers.append(("Access-Control-Allow-Origin", origin))
    response.headers.append(("Access-Control-Expose-Headers", "Retry-After"))
  }

  /// Visible ASCII only: no other text may reach a header of the response.
  private func isPlain(_ origin: String) -> Bool {
    origin.utf8.count <= APILimits.originBytes && origin.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// Refuses a page whose origin is allowed neither by the workspace nor, if it lists none, by the
  /// configuration. Browsers send an Origin with every POST, so a GET without one is not a foreign
  /// page's.
  ///
  /// - Returns: the normalized origin, to which a token is bound; nil without one.
  @discardableResult
  func check(_ request: APIRequest, for workspace: Workspace) throws(Problem) -> String? {
    let values = request.headerValues("Origin")
    guard let text = values.first else {
      guard workspace.allowedOrigins != nil, request.method != "GET" else { return nil }
      throw .forbidden(
        "origin",
        "The request has no Origin header, and this workspace accepts only listed websites. "
          + "Send the request from a page of one of them.")
    }
    guard values.count == 1, let origin = WebOrigin.normalize(text) else {
      throw .forbidden(
        "origin",
        "The Origin header is null or malformed. Send the request from a page of a website."
      )
    }
    let allowed = workspace.allowedOrigins ?? allowedOrigins.withLock { $0 }
    let isListed =
      allowed.contains { WebOrigin.normalize($0) == origin }
      || workspace.allowedOrigins == nil && (allowed.contains("*") || isOwn(origin, request))
    guard isListed else {
      throw .forbidden(
        "origin",
        "This website is not an allowed origin of the workspace. An administrator can add it in "
          + "the workspace's settings.")
    }
    return origin
  }

  /// Whether a page of the gateway's own origin sent the request, which a write with a cookie
  /// requires. A page's script can set neither `Sec-Fetch-Site` nor `Origin`.
  func isSameOrigin(_ request: APIRequest) -> Bool {
    if let site = request.header("Sec-Fetch-Site") { return site == "same-origin" }
    return request.header("Origin").flatMap { WebOrigin.normalize($0) }.map { isOwn($0, request) }
      ?? false
  }

  private func isOwn(_ origin: String, _ request: APIRequest) -> Bool {
    own(request).contains(origin)
  }

  /// The gateway's own origins: that of `public_url`, and that of the request's host.
  private func own(_ request: APIRequest) -> [String] {
    var origins = [publicURL.flatMap { WebOrigin.of(url: $0) }]
    if let host = request.header("Host"), !host.isEmpty {
      origins += [WebOrigin.normalize("https://\(host)"), WebOrigin.normalize("http://\(host)")]
    }
    return origins.compactMap(\.self)
  }

  /// Refuses a request of a foreign page. Requests of scripts and of curl, which have neither
  /// header, pass.
  func checkNotForeignPage(_ request: APIRequest) throws(Problem) {
    guard request.header("Origin") != nil || request.header("Sec-Fetch-Site") != nil else { return }
    guard isSameOrigin(request) else { throw .crossSite }
  }

  /// The page that sends the request, for which passkeys are made: that of its Origin, else of
  /// `public_url`, else of the request. Nil for an address, or without TLS: browsers have no
  /// passkeys there.
  func relyingParty(_ request: APIRequest) -> RelyingParty? {
    let origins = own(request)
    let sent = request.header("Origin").flatMap { WebOrigin.normalize($0) }
    let page = sent.map { origins.contains($0) ? $0 : nil } ?? origins.first
    guard let page, let host = WebOrigin.secureHost(of: page) else { return nil }
    return RelyingParty(
      id: host, origins: origins.filter { WebOrigin.secureHost(of: $0) == host })
  }

  /// The address of the console: of its Origin, else of `public_url`, else of the request. Nil if
  /// it is not known.
  func console(_ request: APIRequest) -> String? {
    if let sent = request.header("Origin").flatMap({ WebOrigin.normalize($0) }) {
      return own(request).contains(sent) ? sent + "/console" : nil
    }
    let host = request.header("Host").flatMap { $0.isEmpty ? nil : $0 }
    let page =
      publicURL.flatMap { WebOrigin.of(url: $0) }
      ?? host.flatMap { WebOrigin.normalize((request.isSecure ? "https://" : "http://") + $0) }
    return page.map { $0 + "/console" }
  }

  /// Whether the client uses TLS, so that cookies may be `Secure`.
  func isSecure(_ request: APIRequest) -> Bool {
    request.isSecure || publicURL?.hasPrefix("https://") == true
  }
}

extension Problem {
  static let crossSite = Problem.forbidden(
    "cross_site",
    "A page of another website sent this request. Use the console at the gateway's own address.")
}
