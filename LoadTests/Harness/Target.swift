/// Where the gateway is: a `ws://` or `wss://` address, with the chat endpoint as its default path.
import Kernel
import OpenSSL

struct Target: Sendable {
  /// As it was given.
  let url: String
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
  private var verifies = true
  private var authority: String?
  /// The local addresses that connections come from in turn, since each has some 28,000 ports for
  /// one gateway; empty for the system's choice.
  var sources: [IPAddress] = []

  /// The gateway's echo or a peer's, which know no subprotocol: whatever is not the chat.
  var isEcho: Bool { !isChat }

  /// Nil when the text is not `ws[s]://ADDRESS[:PORT][/PATH]`; names other than `localhost` are not
  /// looked up.
  init?(_ url: String) {
    self.url = url
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
    self.verifies = verifies
    self.authority = authority
    guard isSecure else { return }
    tls = try TLSContext(clientVerifying: verifies, authority: authority)
  }

  func source(of connection: Int) -> IPAddress? {
    sources.isEmpty ? nil : sources[connection % sources.count]
  }
}

/// For another process, which reads the certificates itself.
extension Target: Codable {
  private enum CodingKeys: CodingKey { case url, verifies, authority, sources }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    let url = try fields.decode(String.self, forKey: .url)
    guard var target = Target(url) else {
      throw DecodingError.dataCorruptedError(
        forKey: .url, in: fields, debugDescription: "not ws[s]://ADDRESS[:PORT][/PATH]")
    }
    try target.prepare(
      verifies: try fields.decode(Bool.self, forKey: .verifies),
      authority: try fields.decodeIfPresent(String.self, forKey: .authority))
    target.sources = try fields.decode([UInt32].self, forKey: .sources)
      .map { IPAddress(version4: $0) }
    self = target
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(url, forKey: .url)
    try fields.encode(verifies, forKey: .verifies)
    try fields.encodeIfPresent(authority, forKey: .authority)
    try fields.encode(sources.map { UInt32(truncatingIfNeeded: $0.low) }, forKey: .sources)
  }
}
