import CLinux
import Primitives

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

  /// A name outside the file system (unix(7)): a NUL and these bytes, without a NUL at the end.
  init(abstractName name: Substring) throws(Errno) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard name.utf8.count < room else { throw .nameTooLong }
    // SAFETY: the name fits behind the first byte, which stays NUL.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[1...]).copyBytes(from: name.utf8)
    }
    store(address)
    byteCount = socklen_t(MemoryLayout<sockaddr_un>.size - room + 1 + name.utf8.count)
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
