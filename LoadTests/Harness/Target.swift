/// Where the gateway is: a `ws://` address, with the chat endpoint as its default path.
import Kernel

struct Target: Sendable {
  let host: String
  let address: IPAddress
  let port: UInt16
  let path: String

  /// Nil when the text is not `ws://ADDRESS[:PORT][/PATH]`; names other than `localhost` are not
  /// looked up.
  init?(_ url: String) {
    guard url.hasPrefix("ws://") else { return nil }
    let rest = url.dropFirst(5)
    let authority = rest.prefix { $0 != "/" }
    var name = authority
    var port: UInt16 = 80
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
    self.address = address
    self.port = port
    self.path = path.isEmpty || path == "/" ? "/api/v1/ws" : path
  }
}
