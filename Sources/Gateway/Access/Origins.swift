import Settings
import Wire

/// The origins that may open a WebSocket, checked before the upgrade: those listed by any
/// workspace, those of `allowed_origins` if some workspace has no list, and the gateway's own. The
/// workspace is known only at the hello, where the token's origin must equal the connection's.
///
/// Each loop has a copy, replaced every few seconds, so a check needs no lock and no query.
struct Origins: Sendable {
  enum Decision: Equatable {
    /// With the normalised origin; nil for a client that is no browser.
    case admitted(String?)
    case refused(String)
    /// The lists were not read yet.
    case unknown
  }

  private let isOriginRequired: Bool
  /// The origin of `public_url`.
  private let own: String?
  private let defaults: Set<String>
  /// The origins of all workspaces; nil until they are read.
  private var listed: Set<String>?
  private var hasOpenWorkspace = false

  /// Time between two reads of the lists.
  static let refreshMilliseconds: Int64 = 4_000
  /// Origins of all lists together; further ones are refused, and the log says so.
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

  /// Takes the workspaces' lists of another value.
  mutating func takeLists(of other: Origins) {
    listed = other.listed
    hasOpenWorkspace = other.hasOpenWorkspace
  }

  /// - Parameters:
  ///   - hasCookie: the request has the console's cookie. Only the gateway's own pages may send it;
  ///     any other is cross-site WebSocket hijacking.
  ///   - isSecure: the client used TLS, so the gateway's own pages have an https origin.
  func evaluate(_ head: RequestHead, hasCookie: Bool, isSecure: Bool) -> Decision {
    let origins = head.values(of: "origin")
    guard origins.count <= 1 else { return .refused("There is more than one Origin field.") }
    guard let text = origins.first else {
      if hasCookie { return .refused("A cookie requires an Origin.") }
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
