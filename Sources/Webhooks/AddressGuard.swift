/// Restricts webhooks to the public internet, against server-side request forgery into the
/// gateway's own network (faults X12).
///
/// The guard checks the resolved address when the socket is created, not the name: a name server
/// that changes its answers (DNS rebinding) cannot bypass it.
public import Kernel

public struct AddressGuard: Sendable {
  /// Allows receivers on this machine and in its network, for development and tests.
  public var allowsPrivate: Bool
  /// The allowed ports.
  public var ports: [ClosedRange<Int>]

  public init(allowsPrivate: Bool = false, ports: [ClosedRange<Int>] = AddressGuard.usualPorts) {
    self.allowsPrivate = allowsPrivate
    self.ports = ports
  }

  /// HTTP, HTTPS and the unprivileged ports.
  public static let usualPorts = [80...80, 443...443, 1_024...65_535]

  public func admits(_ peer: PeerAddress) -> Bool {
    admits(port: Int(peer.port)) && (allowsPrivate || AddressGuard.isPublic(peer.ip))
  }

  public func admits(port: Int) -> Bool { ports.contains { $0.contains(port) } }

  /// Whether an address belongs to one host of the public internet (RFC 6890 and its registries).
  public static func isPublic(_ ip: IPAddress) -> Bool {
    if ip.isVersion4 { return !special4.contains(ip) }
    // NAT64 (RFC 6052 §2.1): the embedded IPv4 address is the destination.
    if translated.contains(ip) {
      return isPublic(IPAddress(version4: UInt32(truncatingIfNeeded: ip.low)))
    }
    // Global unicast IPv6 addresses are in 2000::/3; all others are special or unassigned.
    return global6.contains(ip) && !special6.contains(ip)
  }

  private static let special4 = ranges([
    "0.0.0.0/8",  // this network (RFC 791)
    "10.0.0.0/8",  // private (RFC 1918)
    "100.64.0.0/10",  // carrier-grade NAT (RFC 6598)
    "127.0.0.0/8",  // this machine
    "169.254.0.0/16",  // link-local, and the metadata services of clouds (RFC 3927)
    "172.16.0.0/12",  // private
    "192.0.0.0/24",  // protocol assignments (RFC 6890)
    "192.0.2.0/24",  // documentation (RFC 5737)
    "192.88.99.0/24",  // relays of 6to4 (RFC 7526)
    "192.168.0.0/16",  // private
    "198.18.0.0/15",  // benchmarks (RFC 2544)
    "198.51.100.0/24", "203.0.113.0/24",  // documentation
    "224.0.0.0/4",  // multicast
    "240.0.0.0/4",  // reserved, and the broadcast address
  ])
  private static let translated = ranges(["64:ff9b::/96"])
  private static let global6 = ranges(["2000::/3"])
  private static let special6 = ranges([
    "2001::/23",  // protocol assignments, Teredo among them (RFC 2928, RFC 4380)
    "2001:db8::/32",  // documentation (RFC 3849)
    "2002::/16",  // 6to4: tunnels to any IPv4 address (RFC 3056)
    "3fff::/20",  // documentation (RFC 9637)
  ])

  private static func ranges(_ texts: [String]) -> [AddressRange] {
    texts.map { text in
      guard let range = AddressRange(text) else {
        preconditionFailure("\(text) is not an address range in CIDR notation")
      }
      return range
    }
  }
}
