/// Restricts webhooks to the public internet, against server-side request forgery into the
/// gateway's own network (faults X12).
///
/// The guard checks the resolved address when the socket is created, not the name: a name server
/// that changes its answers (DNS rebinding) cannot bypass it.
public import Kernel

public struct AddressGuard: Sendable {
  /// Allows receivers on this machine and in its network, for development and tests. Metadata
  /// services stay refused.
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
    admits(port: Int(peer.port)) && admits(peer.ip)
  }

  public func admits(_ ip: IPAddress) -> Bool {
    allowsPrivate ? !AddressGuard.isMetadataService(ip) : AddressGuard.isPublic(ip)
  }

  public func admits(port: Int) -> Bool { ports.contains { $0.contains(port) } }

  /// Whether an address belongs to one host of the public internet: global unicast, and in no
  /// range of IANA's special-purpose address registries (RFC 6890).
  public static func isPublic(_ ip: IPAddress) -> Bool {
    if isMetadataService(ip) { return false }
    if ip.isVersion4 { return !special4.contains(ip) }
    // NAT64 (RFC 6052 §2.1): the embedded IPv4 address is the destination.
    if translated.contains(ip) { return isPublic(embedded(ip)) }
    // Global unicast IPv6 addresses are in 2000::/3; all others are special or unassigned.
    return global6.contains(ip) && !special6.contains(ip)
  }

  /// Whether a cloud's metadata service answers at this address: it gives the machine's
  /// credentials to whoever reaches it. Some of these addresses are in public ranges.
  public static func isMetadataService(_ ip: IPAddress) -> Bool {
    metadata.contains(ip) || translated.contains(ip) && metadata.contains(embedded(ip))
  }

  private static func embedded(_ ip: IPAddress) -> IPAddress {
    IPAddress(version4: UInt32(truncatingIfNeeded: ip.low))
  }

  private static let metadata = ranges([
    "168.63.129.16",  // Azure's platform services, in a public range
    "169.254.169.254", "169.254.169.253", "169.254.169.123",  // most clouds; AWS: DNS, time
    "169.254.170.2", "169.254.170.23",  // AWS: credentials of containers
    "169.254.0.23", "169.254.10.10",  // Tencent
    "169.254.42.42",  // Scaleway
    "100.100.100.200", "100.100.2.136", "100.100.2.138",  // Alibaba: metadata, DNS
    "192.0.0.192",  // Oracle, former
    "fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::123", "fd00:ec2::23",  // AWS
    "fd20:ce::254",  // Google
    "fd00:42::42",  // Scaleway
    "fd00:c1::a9fe:a9fe",  // Oracle
    "fe80::a9fe:a9fe",  // OpenStack
  ])

  private static let special4 = ranges([
    "0.0.0.0/8",  // this network (RFC 791)
    "10.0.0.0/8",  // private (RFC 1918)
    "100.64.0.0/10",  // carrier-grade NAT (RFC 6598)
    "127.0.0.0/8",  // this machine
    "169.254.0.0/16",  // link-local, and the metadata services of clouds (RFC 3927)
    "172.16.0.0/12",  // private
    "192.0.0.0/24",  // protocol assignments (RFC 6890)
    "192.0.2.0/24",  // documentation (RFC 5737)
    "192.31.196.0/24", "192.175.48.0/24",  // AS112 sinks (RFC 7535, RFC 7534)
    "192.52.193.0/24",  // multicast relays (RFC 7450)
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
    "2620:4f:8000::/48",  // AS112 sinks (RFC 7534)
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
