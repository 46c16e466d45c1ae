import Kernel
import Primitives
import Settings

/// The host names that this gateway serves. A foreign page can point its own name at this address
/// (DNS rebinding) and would then have the gateway's origin. That is impossible with an address
/// literal, `localhost`, or a configured name.
struct Hosts: Sendable {
  private let names: Set<String>
  private let admitsAll: Bool

  init(_ settings: Settings) {
    var names = Set(settings.allowedHosts)
    if let url = settings.publicURL, let host = Hosts.name(ofURL: url) { names.insert(host) }
    self.names = names
    // Without a configured name, only a gateway on loopback knows that no other name is valid.
    let isOpen = names.isEmpty && !settings.listen.allSatisfy(\.isLoopback)
    admitsAll = isOpen || names.contains("*")
  }

  /// - Parameter host: the value of the Host field, with or without a port; HTTP/1.0 may have none.
  func admit(_ host: String?) -> Bool {
    guard !admitsAll, let host else { return true }
    guard let name = Hosts.name(ofHost: host[...]) else { return false }
    if name == "localhost" || name.hasSuffix(".localhost") || names.contains(name) { return true }
    return IPAddress(name) != nil
  }

  /// The name without the port, the brackets of IPv6 and a trailing dot, in lower case; nil if the
  /// value is malformed.
  private static func name(ofHost host: Substring) -> String? {
    guard let name = HostAndPort(host)?.host else { return nil }
    return (name.last == "." ? name.dropLast() : name).lowercased()
  }

  private static func name(ofURL url: String) -> String? {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.count >= 3 ? name(ofHost: parts[2]) : nil
  }
}
