import CLinux

/// The addresses of a host name, as getaddrinfo(3) finds them: /etc/hosts, then DNS. Blocks for as
/// long as the resolver does.
public enum HostLookup {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  public static func addresses(of host: String) throws(Failure) -> [IPAddress] {
    // SAFETY: zeros are valid for all members.
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = AF_UNSPEC
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    // SAFETY: the texts and the hints are read during the call, which writes a list that is freed
    // below.
    let code = unsafe getaddrinfo(host, nil, &hints, &first)
    guard code == 0 else {
      // SAFETY: a constant text.
      throw Failure(description: unsafe String(cString: gai_strerror(code)))
    }
    defer { unsafe freeaddrinfo(first) }
    var found: [IPAddress] = []
    var next = unsafe first
    while let entry = unsafe next?.pointee {
      if let ip = unsafe address(entry), !found.contains(ip) { found.append(ip) }
      unsafe next = entry.ai_next
    }
    return found
  }

  private static func address(_ entry: addrinfo) -> IPAddress? {
    // SAFETY: the family decides about the type of the address, which has `ai_addrlen` bytes.
    guard let raw = unsafe UnsafeRawPointer(entry.ai_addr) else { return nil }
    switch unsafe entry.ai_family {
    case AF_INET:
      let address = unsafe raw.loadUnaligned(as: sockaddr_in.self)
      return IPAddress(version4: UInt32(bigEndian: address.sin_addr.s_addr))
    case AF_INET6:
      // The 16 bytes of the address follow family, port and flow.
      let high = unsafe raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      let low = unsafe raw.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
      return IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    default: return nil
    }
  }
}
