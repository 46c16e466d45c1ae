import Kernel
import Primitives
import Settings

/// Under which names this gateway answers. A foreign page can point a name of its own at this
/// address (DNS rebinding) and would then be our own origin to the browser; it cannot do so with an
/// address literal, `localhost`, or a name that somebody configured.
struct Hosts: Sendable {
  private let names: Set<String>
  private let admitsAll: Bool

  init(_ settings: Settings) {
    var names = Set(settings.allowedHosts)
    if let url = settings.publicURL, let host = Hosts.name(ofURL: url) { names.insert(host) }
    self.names = names
    // Without any name configured, only a gateway on loopback is sure that no name is right.
    let isOpen = names.isEmpty && !settings.listen.allSatisfy(\.isLoopback)
    admitsAll = isOpen || names.contains("*")
  }

  /// `host` as in the field, with or without a port; nil in HTTP/1.0.
  func admit(_ host: String?) -> Bool {
    guard !admitsAll, let host else { return true }
    guard let name = Hosts.name(ofHost: host[...]) else { return false }
    if name == "localhost" || name.hasSuffix(".localhost") || names.contains(name) { return true }
    return IPAddress(name) != nil
  }

  /// Without the port, the brackets of IPv6 and the dot of a full name, in lower case.
  private static func name(ofHost host: Substring) -> String? {
    guard let name = HostAndPort(host)?.host else { return nil }
    return (name.last == "." ? name.dropLast() : name).lowercased()
  }

  private static func name(ofURL url: String) -> String? {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.count >= 3 ? name(ofHost: parts[2]) : nil
  }
}
