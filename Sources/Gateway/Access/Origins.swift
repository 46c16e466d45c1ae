import Settings
import Wire

/// Which pages may open a WebSocket, judged before the upgrade: those of any workspace's list,
/// those of `allowed_origins` while a workspace has no list, and the gateway's own. Which workspace
/// it is about shows at the hello, where the token's origin must be the connection's.
///
/// Each loop has a copy, replaced every few seconds: no lock, no query when somebody connects.
struct Origins: Sendable {
  enum Decision: Equatable {
    /// With the origin in its one form; nil for a client that is no browser.
    case admitted(String?)
    case refused(String)
    /// The lists have not been read yet.
    case unknown
  }

  private let isOriginRequired: Bool
  /// That of `public_url`.
  private let own: String?
  private let defaults: Set<String>
  /// Nil until the first answer of the database.
  private var listed: Set<String>?
  private var hasOpenWorkspace = false

  /// The lists of all workspaces are read this often.
  static let refreshMilliseconds: Int64 = 4_000
  /// Origins of all lists together; what is beyond is refused, and said in the log.
  static let listedMax = 100_000

  init(_ settings: Settings) {
    isOriginRequired = settings.requireOrigin
    own = settings.publicURL.flatMap { WebOrigin.of(url: $0) }
    defaults = Set(settings.allowedOrigins.map { $0 == "*" ? "*" : WebOrigin.normalize($0) ?? $0 })
  }

  var isLoaded: Bool { listed != nil }

  /// - Parameter hasOpenWorkspace: whether some workspace has no list of its own.
  mutating func load(_ origins: [String], hasOpenWorkspace: Bool) {
    listed = Set(origins.compactMap { WebOrigin.normalize($0) })
    self.hasOpenWorkspace = hasOpenWorkspace
  }

  /// - Parameters:
  ///   - hasCookie: the console's cookie came along: only our own pages may send it, so anything
  ///     else rides on it (cross-site WebSocket hijacking).
  ///   - isSecure: the client spoke TLS, so that a page without it is not ours.
  func evaluate(_ head: RequestHead, hasCookie: Bool, isSecure: Bool) -> Decision {
    let origins = head.values(of: "origin")
    guard origins.count <= 1 else { return .refused("More than one Origin came.") }
    guard let text = origins.first else {
      if hasCookie { return .refused("A cookie came without an Origin.") }
      return isOriginRequired ? .refused("An Origin is required.") : .admitted(nil)
    }
    guard let origin = WebOrigin.normalize(text) else {
      return .refused("The Origin is null or malformed.")
    }
    if isOwn(origin, host: head.value(of: "host"), isSecure: isSecure) { return .admitted(origin) }
    if hasCookie { return .refused("A page of another site sent the console's cookie.") }
    guard let listed else { return .unknown }
    if listed.contains(origin) { return .admitted(origin) }
    if hasOpenWorkspace, defaults.contains("*") || defaults.contains(origin) {
      return .admitted(origin)
    }
    return .refused("No workspace lists this Origin; an administrator can add it.")
  }

  private func isOwn(_ origin: String, host: String?, isSecure: Bool) -> Bool {
    if origin == own { return true }
    guard let host else { return false }
    return WebOrigin.isOrigin(origin, ofHost: host, onlyTLS: isSecure)
  }
}
