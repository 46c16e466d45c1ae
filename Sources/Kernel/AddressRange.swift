import Primitives

/// A range of IP addresses in CIDR form (RFC 4632 §3.1, RFC 4291 §2.3), such as `10.0.0.0/8`,
/// `2001:db8::/32` or a single address.
public struct AddressRange: Hashable, Sendable {
  private let base: IPAddress
  private let maskHigh: UInt64
  private let maskLow: UInt64

  /// Bits after the prefix are ignored, as in firewall rules.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(String(parts[0])) else { return nil }
    let width = address.isVersion4 ? 32 : 128
    var bits = width
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy(\.isASCIIDigit), let number = Int(parts[1]),
        number <= width
      else { return nil }
      bits = number
    }
    bits += 128 - width
    maskHigh = AddressRange.mask(bits)
    maskLow = AddressRange.mask(bits - 64)
    base = IPAddress(high: address.high & maskHigh, low: address.low & maskLow)
  }

  /// `::/0` contains IPv6 addresses only; an IPv4 address is only in ranges of IPv4.
  public func contains(_ address: IPAddress) -> Bool {
    address.high & maskHigh == base.high && address.low & maskLow == base.low
      && address.isVersion4 == base.isVersion4
  }

  /// The upper `bits` bits of a word: none below 1, all from 64 on.
  private static func mask(_ bits: Int) -> UInt64 {
    bits <= 0 ? 0 : bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
  }
}

extension [AddressRange] {
  public func contains(_ address: IPAddress) -> Bool {
    contains { $0.contains(address) }
  }
}
