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

/// The other end of a connection.
public struct PeerAddress: Hashable, Sendable {
  public var ip: IPAddress
  public var port: UInt16

  public init(ip: IPAddress, port: UInt16) {
    self.ip = ip
    self.port = port
  }

  /// A peer on a Unix socket, which has no address.
  public static let local = PeerAddress(ip: .loopback, port: 0)
}

extension PeerAddress: CustomStringConvertible {
  public var description: String {
    ip.isVersion4 ? "\(ip):\(port)" : "[\(ip)]:\(port)"
  }
}

/// A socket address for the kernel: one buffer for all families.
@safe struct RawAddress {
  var storage = sockaddr_storage()
  var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)

  init() {}

  /// Mapped addresses use the IPv4 family, because a machine may have no IPv6.
  init(_ peer: PeerAddress) {
    if peer.ip.isVersion4 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = peer.port.bigEndian
      address.sin_addr.s_addr = UInt32(truncatingIfNeeded: peer.ip.low).bigEndian
      store(address)
    } else {
      storage.ss_family = sa_family_t(AF_INET6)
      // SAFETY: a sockaddr_in6 consists of family, port, flow, 16 bytes of address at byte 8, and
      // scope (ipv6(7)).
      unsafe withUnsafeMutableBytes(of: &storage) { bytes in
        unsafe bytes.storeBytes(of: peer.port.bigEndian, toByteOffset: 2, as: UInt16.self)
        unsafe bytes.storeBytes(of: peer.ip.high.bigEndian, toByteOffset: 8, as: UInt64.self)
        unsafe bytes.storeBytes(of: peer.ip.low.bigEndian, toByteOffset: 16, as: UInt64.self)
      }
      byteCount = socklen_t(MemoryLayout<sockaddr_in6>.size)
    }
  }

  /// Paths are at most 107 bytes (unix(7)).
  init(path: String) throws(Errno) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < room else { throw .nameTooLong }
    // SAFETY: the path fits with a NUL, since the initial value consists of zeros.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      unsafe bytes.copyBytes(from: path.utf8)
    }
    store(address)
  }

  private mutating func store<Address: BitwiseCopyable>(_ address: Address) {
    // SAFETY: sockaddr_storage is large enough for every address type.
    unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      unsafe bytes.storeBytes(of: address, as: Address.self)
    }
    byteCount = socklen_t(MemoryLayout<Address>.size)
  }

  /// Nil for families without a port.
  var peer: PeerAddress? {
    // SAFETY: the family determines the type that the kernel wrote; both fit.
    unsafe withUnsafeBytes(of: storage) { bytes in
      switch Int32(storage.ss_family) {
      case AF_INET:
        let address = unsafe bytes.loadUnaligned(as: sockaddr_in.self)
        return PeerAddress(
          ip: IPAddress(version4: UInt32(bigEndian: address.sin_addr.s_addr)),
          port: UInt16(bigEndian: address.sin_port))
      case AF_INET6:
        // The offsets are those of `init`.
        let port = unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        let high = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        let low = unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        return PeerAddress(
          ip: IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low)),
          port: UInt16(bigEndian: port))
      default:
        return nil
      }
    }
  }

  /// Lends the address to calls such as bind and connect.
  func withPointer<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    // SAFETY: every sockaddr type begins with the fields of sockaddr.
    unsafe withUnsafeBytes(of: storage) { bytes in
      guard let base = bytes.baseAddress else { preconditionFailure("an address has bytes") }
      return unsafe body(base.assumingMemoryBound(to: sockaddr.self), byteCount)
    }
  }

  /// Lends the buffer to calls such as accept and getsockname.
  mutating func withMutablePointer<Result>(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result
  ) -> Result {
    var count = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // SAFETY: as above; the kernel writes at most `count` bytes.
    let result = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      guard let base = bytes.baseAddress else { preconditionFailure("an address has bytes") }
      return unsafe body(base.assumingMemoryBound(to: sockaddr.self), &count)
    }
    byteCount = count
    return result
  }
}
