/// The server under test: a `ws://` or `wss://` URL, with the chat endpoint as its default path.
import Kernel
import OpenSSL
import Primitives

struct Target: Sendable {
  /// As given on the command line.
  let url: String
  /// Value of the Host field, with the port.
  let host: String
  /// The name expected in the certificate.
  let name: String
  let address: IPAddress
  let port: UInt16
  let path: String
  let isSecure: Bool
  /// Set for `wss://`, see `prepare`.
  private(set) var tls: TLSContext?
  private var verifies = true
  private var authority: String?
  /// Local source addresses, used in turn, because each has about 28,000 ports towards one server;
  /// empty for the system's choice.
  var sources: [IPAddress] = []

  /// Whether the path is not the chat: the gateway's echo, or another server's, without a
  /// subprotocol.
  var isEcho: Bool { !isChat }

  /// Nil when the text is not `ws[s]://ADDRESS[:PORT][/PATH]`. Names other than `localhost` are not
  /// resolved.
  init?(_ url: String) {
    self.url = url
    isSecure = url.hasPrefix("wss://")
    guard isSecure || url.hasPrefix("ws://") else { return nil }
    let rest = url.dropFirst(isSecure ? 6 : 5)
    let authority = rest.prefix { $0 != "/" }
    guard let parts = HostAndPort(authority) else { return nil }
    var port: UInt16 = isSecure ? 443 : 80
    if parts.portText != nil {
      guard let number = parts.port else { return nil }
      port = number
    }
    let name = String(parts.host)
    guard let address = name == "localhost" ? IPAddress.loopback : IPAddress(name) else {
      return nil
    }
    let path = String(rest.dropFirst(authority.count))
    host = String(authority)
    self.name = name
    self.address = address
    self.port = port
    self.path = path.isEmpty || path == "/" ? "/api/v1/ws" : path
  }

  /// Creates the TLS context; `authority` is a PEM file of certificates to trust besides the
  /// system's.
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

/// Encoded for worker processes, which read the certificates themselves.
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
