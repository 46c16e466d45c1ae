/// A host and an optional port: `example.com`, `127.0.0.1:8080`, `[::1]:8080` (RFC 3986 §3.2.2 and
/// §3.2.3). Only the form is checked, not the host.
public struct HostAndPort: Equatable, Sendable {
  /// Without brackets; may be empty.
  public let host: Substring
  /// An IPv6 address, the only host with colons, stands in brackets.
  public let isBracketed: Bool
  /// The text after the colon; nil without a colon.
  public let portText: Substring?

  /// Nil for unbalanced brackets, and for a second colon outside brackets.
  public init?(_ text: Substring) {
    var rest = text[...]
    isBracketed = text.first == "["
    if isBracketed {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = text[text.index(after: text.startIndex)..<end]
      rest = text[text.index(after: end)...]
    } else {
      host = text.prefix { $0 != ":" }
      rest = text[host.endIndex...]
    }
    portText = rest.isEmpty ? nil : rest.dropFirst()
    guard rest.isEmpty || rest.first == ":", portText?.contains(":") != true else { return nil }
  }

  /// Nil without a port, and for a text that is not 1 to 5 digits up to 65535.
  public var port: UInt16? {
    guard let portText, (1...5).contains(portText.utf8.count),
      portText.utf8.allSatisfy(\.isASCIIDigit)
    else { return nil }
    return UInt16(portText)
  }
}
