import Kernel
import Primitives
import Settings
import Wire

/// Finds the client behind a proxy. Forwarding fields and PROXY headers are trusted only if the
/// socket's peer is a configured proxy.
struct Proxies: Sendable {
  private let trusted: [AddressRange]
  private let expectsHeader: Bool
  /// The field with the visitor's country, in lower case; nil: there is none.
  private let countryField: String?

  /// Addresses of X-Forwarded-For that are examined, from the right.
  static let hopsMax = 32

  init(_ settings: Settings) {
    trusted = settings.trustedProxies.compactMap { AddressRange($0) }
    expectsHeader = settings.proxyProtocol
    countryField = settings.countryHeader?.lowercased()
  }

  func contains(_ address: IPAddress) -> Bool { trusted.contains(address) }

  /// Whether a connection of this peer begins with a PROXY header: each one of a trusted proxy
  /// must, no other can.
  func sendsHeader(_ peer: IPAddress) -> Bool { expectsHeader && contains(peer) }

  /// The rightmost address of X-Forwarded-For that is not a trusted proxy. The client itself may
  /// have written everything left of it. An invalid entry ends the search at the last known proxy.
  func client(of peer: IPAddress, _ head: RequestHead) -> IPAddress {
    guard contains(peer) else { return peer }
    var client = peer
    var hops = 0
    for entry in head.fields.list(of: "x-forwarded-for").reversed() {
      guard contains(client), hops < Proxies.hopsMax, let address = Proxies.address(entry) else {
        break
      }
      client = address
      hops += 1
    }
    return client
  }

  /// Whether the client spoke TLS to the nearest trusted proxy, which writes the last value.
  func isSecure(_ peer: IPAddress, _ head: RequestHead) -> Bool {
    contains(peer)
      && head.fields.list(of: "x-forwarded-proto").last?.equalsIgnoringASCIICase("https") == true
  }

  /// The country that a trusted proxy has sent; nil: none, or the peer is no trusted proxy.
  func country(_ peer: IPAddress, _ head: RequestHead) -> String? {
    guard let countryField, contains(peer) else { return nil }
    return head.fields.all.last { $0.name.equalsIgnoringASCIICase(countryField) }?.value
  }

  /// An address as proxies write it: alone, in brackets, or with a port.
  private static func address(_ text: String) -> IPAddress? {
    IPAddress(text) ?? HostAndPort(text[...]).flatMap { IPAddress(String($0.host)) }
  }
}
