import Kernel
import Primitives

/// A valid URL of a webhook: `http` or `https`, a host, optionally port, path and query, in ASCII
/// (RFC 3986). User and password are refused, because they would appear in logs, and so are
/// fragments.
///
/// An invalid URL is refused when the webhook is created, where its author sees the error.
/// `AddressGuard` checks the resolved address at each connection.
public struct WebhookAddress: Sendable, Equatable {
  public static let bytesMax = 2_048

  public enum Fault: Error, Equatable, Sendable {
    case tooLong
    case notHTTP
    case hasUser
    case noHost
    case badPort
    case badCharacter
    /// The settings do not allow this port.
    case portForbidden
    /// The address or name belongs to this machine, a private network or a metadata service.
    case privateAddress
  }

  public let url: String

  public init(_ text: String, under addressGuard: AddressGuard) throws(Fault) {
    guard text.utf8.count <= WebhookAddress.bytesMax else { throw .tooLong }
    guard text.utf8.allSatisfy({ WebhookAddress.isAllowed($0) }) else { throw .badCharacter }
    let lower = text.lowercased()
    let isSecure = lower.utf8.starts(with: "https://".utf8)
    guard isSecure || lower.utf8.starts(with: "http://".utf8) else { throw .notHTTP }
    let authority = lower.dropFirst(isSecure ? 8 : 7).prefix { $0 != "/" && $0 != "?" }
    guard !authority.contains("@") else { throw .hasUser }
    guard let host = HostAndPort(authority), !host.host.isEmpty else { throw .noHost }
    var port = isSecure ? 443 : 80
    if host.portText != nil {
      guard let number = host.port, number > 0 else { throw .badPort }
      port = Int(number)
    }
    guard addressGuard.admits(port: port) else { throw .portForbidden }
    try WebhookAddress.check(host, addressGuard)
    url = text
  }

  private static func check(
    _ authority: HostAndPort, _ addressGuard: AddressGuard
  ) throws(Fault) {
    let host = authority.host
    if authority.isBracketed {
      guard host.contains(":"), let ip = IPAddress(String(host)) else { throw .noHost }
      return try check(ip, addressGuard)
    }
    guard host.utf8.count <= 253, host.utf8.allSatisfy({ isNameByte($0) }), host.first != "."
    else { throw .noHost }
    var name = host
    if name.last == "." { name.removeLast() }
    // A name whose last label is a number is an IPv4 address (WHATWG URL §3.5). Only the dotted
    // decimal form is accepted: not 2130706433, 0x7f.1 or 017700000001.
    let last = name.split(separator: ".", omittingEmptySubsequences: false).last ?? ""
    let isNumber =
      last.utf8.allSatisfy(\.isASCIIDigit) || last.utf8.starts(with: "0x".utf8)
    guard isNumber else {
      let isLocal = name == "localhost" || name.hasSuffix(".localhost")
      guard addressGuard.allowsPrivate || !isLocal && name.contains(".") else {
        throw .privateAddress
      }
      return
    }
    guard let ip = IPAddress(String(name)), "\(ip)" == name else { throw .noHost }
    try check(ip, addressGuard)
  }

  private static func check(_ ip: IPAddress, _ addressGuard: AddressGuard) throws(Fault) {
    guard addressGuard.admits(ip) else { throw .privateAddress }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
  }

  /// Whether a byte is printable and need not be percent-encoded. Not `#`, which begins a fragment,
  /// and not `\`, which some parsers treat as `/`.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    0x21...0x7E ~= byte && !"\"<>\\^`{|}#".utf8.contains(byte)
  }
}
