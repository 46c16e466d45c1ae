/// Which certificate answers for which name (RFC 6066 §3, RFC 6125 §6.4): pure, from the DNS names
/// of the certificates in their order.
struct TLSNames: Sendable {
  private var exact: [String: Int] = [:]
  /// By what follows the `*.`.
  private var wildcards: [String: Int] = [:]

  /// The first certificate that has a name keeps it.
  mutating func add(_ names: [String], certificate: Int) {
    for name in names.map({ $0.lowercased() }) {
      if name.hasPrefix("*.") {
        let parent = String(name.dropFirst(2))
        if wildcards[parent] == nil { wildcards[parent] = certificate }
      } else if exact[name] == nil {
        exact[name] = certificate
      }
    }
  }

  /// An exact name wins; a wildcard stands for exactly one label. Nil: the first certificate
  /// answers.
  func certificate(for name: String) -> Int? {
    var name = name.lowercased()
    // The same name, absolute (RFC 1034 §3.1).
    if name.hasSuffix(".") { name.removeLast() }
    if let found = exact[name] { return found }
    guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return nil }
    return wildcards[String(name[name.index(after: dot)...])]
  }
}
