import CLinux
import Primitives

/// An IP address as IPv6; IPv4 is mapped into it (RFC 4291 §2.5.5.2), so that an address has one
/// value.
public struct IPAddress: Hashable, Sendable {
  /// The 16 bytes, most significant first.
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Host byte order: 127.0.0.1 is 0x7F000001.
  public init(version4 bits: UInt32) {
    self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(bits))
  }

  /// Parses `127.0.0.1`, `::1` and so on, without names, brackets and scopes.
  public init?(_ text: String) {
    // inet_pton reads up to the first NUL.
    guard !text.utf8.contains(0) else { return nil }
    var version4 = in_addr()
    // SAFETY: the text ends with NUL, and AF_INET writes an `in_addr`.
    if unsafe inet_pton(AF_INET, text, &version4) == 1 {
      self.init(version4: UInt32(bigEndian: version4.s_addr))
      return
    }
    var words: (UInt64, UInt64) = (0, 0)
    // SAFETY: as above; AF_INET6 writes 16 bytes, the size of `words`.
    guard unsafe inet_pton(AF_INET6, text, &words) == 1 else { return nil }
    self.init(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1))
  }

  public static let any = IPAddress(high: 0, low: 0)
  public static let loopback = IPAddress(version4: 0x7F00_0001)

  public var isVersion4: Bool { high == 0 && low >> 32 == 0xFFFF }

  /// 127.0.0.0/8 and ::1.
  public var isLoopback: Bool {
    isVersion4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1
  }

  /// The key for limits per address: an IPv4 address, or the /64 prefix of an IPv6 address, which
  /// one customer usually has.
  public var limitKey: IPAddress {
    isVersion4 ? self : IPAddress(high: high, low: 0)
  }
}

extension IPAddress: CustomStringConvertible {
  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let size = socklen_t(text.count)
    if isVersion4 {
      var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
      // SAFETY: the address has the size of its family, and the text has room for the longest form.
      _ = unsafe inet_ntop(AF_INET, &address, &text, size)
    } else {
      var words = (high.bigEndian, low.bigEndian)
      // SAFETY: as above.
      _ = unsafe inet_ntop(AF_INET6, &words, &text, size)
    }
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
