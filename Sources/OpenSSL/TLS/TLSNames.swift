/// Selects the certificate for a server name (RFC 6066 §3, RFC 6125 §6.4). Pure, from the DNS names
/// of the certificates in their order.
struct TLSNames: Sendable {
  private var exact: [String: Int] = [:]
  /// By the part after `*.`.
  private var wildcards: [String: Int] = [:]

  /// A name belongs to the first certificate that has it.
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

  /// An exact name takes precedence; a wildcard matches exactly one label. Nil selects the first
  /// certificate.
  func certificate(for name: String) -> Int? {
    var name = name.lowercased()
    // The absolute form of the same name (RFC 1034 §3.1).
    if name.hasSuffix(".") { name.removeLast() }
    if let found = exact[name] { return found }
    guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return nil }
    return wildcards[String(name[name.index(after: dot)...])]
  }
}
