/// Where the gateway is: a `ws://` or `wss://` address, with the chat endpoint as its default path.
import Kernel
import OpenSSL

struct Target: Sendable {
  /// Of the Host field, with the port.
  let host: String
  /// As the certificate has it.
  let name: String
  let address: IPAddress
  let port: UInt16
  let path: String
  let isSecure: Bool
  /// Set for `wss://`, see `prepare`.
  private(set) var tls: TLSContext?

  /// The gateway's echo, which knows no subprotocol.
  var isEcho: Bool { path.hasPrefix("/debug/echo") }

  /// Nil when the text is not `ws[s]://ADDRESS[:PORT][/PATH]`; names other than `localhost` are not
  /// looked up.
  init?(_ url: String) {
    isSecure = url.hasPrefix("wss://")
    guard isSecure || url.hasPrefix("ws://") else { return nil }
    let rest = url.dropFirst(isSecure ? 6 : 5)
    let authority = rest.prefix { $0 != "/" }
    var name = authority
    var port: UInt16 = isSecure ? 443 : 80
    if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
      guard let number = UInt16(authority[authority.index(after: colon)...]) else { return nil }
      port = number
      name = authority[..<colon]
    }
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    let address = name == "localhost" ? IPAddress.loopback : IPAddress(String(name))
    guard let address else { return nil }
    let path = String(rest.dropFirst(authority.count))
    host = String(authority)
    self.name = String(name)
    self.address = address
    self.port = port
    self.path = path.isEmpty || path == "/" ? "/api/v1/ws" : path
  }

  /// Makes what TLS needs: `authority` is a file of certificates to trust besides the system's.
  mutating func prepare(verifies: Bool, authority: String?) throws(TLSLoadFailure) {
    guard isSecure else { return }
    tls = try TLSContext(clientVerifying: verifies, authority: authority)
  }
}
