/// A range of IP addresses in CIDR form, such as `10.0.0.0/8`, `2001:db8::/32` or a single address:
/// who is trusted as a proxy, and whom limits do not concern.
public struct AddressRange: Hashable, Sendable {
  private let base: IPAddress
  private let maskHigh: UInt64
  private let maskLow: UInt64

  /// Bits behind the prefix are ignored, as every firewall does.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(String(parts[0])) else { return nil }
    let width = address.isVersion4 ? 32 : 128
    var bits = width
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(parts[1]),
        number <= width
      else { return nil }
      bits = number
    }
    bits += 128 - width
    maskHigh = AddressRange.mask(bits)
    maskLow = AddressRange.mask(bits - 64)
    base = IPAddress(high: address.high & maskHigh, low: address.low & maskLow)
  }

  /// `::/0` means IPv6: an IPv4 address is in a range of IPv4 only.
  public func contains(_ address: IPAddress) -> Bool {
    address.high & maskHigh == base.high && address.low & maskLow == base.low
      && address.isVersion4 == base.isVersion4
  }

  /// The upper `bits` of a word: none below 1, all from 64 on.
  private static func mask(_ bits: Int) -> UInt64 {
    bits <= 0 ? 0 : bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
  }
}

extension [AddressRange] {
  public func contains(_ address: IPAddress) -> Bool {
    contains { $0.contains(address) }
  }
}
