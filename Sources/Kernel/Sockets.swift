import CLinux

/// The result of an `accept`.
@frozen public enum AcceptOutcome: ~Copyable {
  case accepted(FileDescriptor, PeerAddress)
  case wouldBlock
  /// The queued connection was lost, or a network error is pending: continue with the next one.
  case aborted(Errno)
  /// No descriptors or memory are left. The listener stays readable, so pause accepting.
  case exhausted(Errno)
  case failed(Errno)
}

/// Which other sockets may listen on the port (SO_REUSEPORT; the kernel distributes connections).
public enum PortSharing: Sendable {
  case none
  /// No other socket may be bound before; later listeners with `.others` may join.
  case later
  /// Sockets of the same user with `.others` or `.later`.
  case others
}

/// Creates sockets; all are non-blocking and closed on exec.
public enum Sockets {
  /// Listens for TCP. `0.0.0.0` and `127.0.0.1` are IPv4 only; `::` accepts both families.
  public static func listen(
    on address: IPAddress, port: UInt16, backlog: Int32 = 1024, sharing: PortSharing = .none
  ) throws(Errno) -> FileDescriptor {
    let raw = RawAddress(PeerAddress(ip: address, port: port))
    let socket = try make(Int32(raw.storage.ss_family))
    // Otherwise a restarted server cannot bind while old connections are in TIME_WAIT.
    try socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
    if sharing == .others { try socket.set(SOL_SOCKET, SO_REUSEPORT, 1) }
    if !address.isVersion4 { try socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    try bind(socket, raw)
    // Two sockets share a port only if both have the option: the bind above was exclusive, and
    // later ones may join.
    if sharing == .later { try socket.set(SOL_SOCKET, SO_REUSEPORT, 1) }
    try listen(socket, backlog)
    return socket
  }

  /// Listens on a path, which must not exist yet.
  public static func listen(path: String, backlog: Int32 = 1024) throws(Errno) -> FileDescriptor {
    let raw = try RawAddress(path: path)
    let socket = try make(AF_UNIX)
    try bind(socket, raw)
    try listen(socket, backlog)
    return socket
  }

  /// Starts a connection. Wait until the descriptor is writable, then read `pendingError`.
  ///
  /// `source` is a local address to connect from: a load test needs several, because an address has
  /// a limited number of ports.
  public static func connect(
    to address: IPAddress, port: UInt16, from source: IPAddress? = nil
  ) throws(Errno) -> FileDescriptor {
    let raw = RawAddress(PeerAddress(ip: address, port: port))
    let socket = try make(Int32(raw.storage.ss_family))
    if let source {
      // connect chooses the port, because it knows the server; bind would have to find a port that
      // no connection uses (ip(7)).
      try socket.set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1)
      try bind(socket, RawAddress(PeerAddress(ip: source, port: 0)))
    }
    return try connect(socket, raw)
  }

  public static func connect(path: String) throws(Errno) -> FileDescriptor {
    try connect(try make(AF_UNIX), try RawAddress(path: path))
  }

  /// Returns two connected sockets.
  public static func pair() throws(Errno) -> SocketPair {
    var numbers: [2 of Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    // SAFETY: the call writes two descriptors.
    _ = try retrying {
      unsafe withUnsafeMutableBytes(of: &numbers) { bytes in
        unsafe socketpair(
          AF_UNIX, type, 0, bytes.baseAddress?.assumingMemoryBound(to: Int32.self))
      }
    }
    return SocketPair(
      first: FileDescriptor(owning: numbers[0]), second: FileDescriptor(owning: numbers[1]))
  }

  private static func make(_ family: Int32) throws(Errno) -> FileDescriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let number = try retrying { socket(family, type, 0) }
    return FileDescriptor(owning: number)
  }

  private static func bind(
    _ socket: borrowing FileDescriptor, _ address: RawAddress
  ) throws(Errno) {
    let number = socket.rawValue
    // SAFETY: the address is read during the call.
    _ = try retrying {
      unsafe address.withPointer { pointer, count in
        unsafe CLinux.bind(number, pointer, count)
      }
    }
  }

  private static func listen(
    _ socket: borrowing FileDescriptor, _ backlog: Int32
  ) throws(Errno) {
    let number = socket.rawValue
    _ = try retrying { CLinux.listen(number, backlog) }
  }

  private static func connect(
    _ socket: consuming FileDescriptor, _ address: RawAddress
  ) throws(Errno) -> FileDescriptor {
    let number = socket.rawValue
    // SAFETY: the address is read during the call.
    let result = unsafe address.withPointer { pointer, count in
      unsafe CLinux.connect(number, pointer, count)
    }
    if result == -1 {
      let error = Errno.current
      // An interrupted connect continues in the background (connect(2)).
      guard error == .inProgress || error == .interrupted else { throw error }
    }
    return socket
  }
}

@frozen public struct SocketPair: ~Copyable {
  public var first: FileDescriptor
  public var second: FileDescriptor

  /// Returns the first socket; the second one is closed.
  consuming func giveFirst() -> FileDescriptor { first }
}

extension FileDescriptor {
  /// Accepts one connection; its descriptor is non-blocking and closed on exec.
  public func accept() -> AcceptOutcome {
    var address = RawAddress()
    let listener = rawValue
    let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    // SAFETY: the kernel writes the peer's address into the lent buffer.
    let number = unsafe address.withMutablePointer { pointer, count in
      unsafe accept4(listener, pointer, count, flags)
    }
    if number >= 0 {
      return .accepted(FileDescriptor(owning: number), address.peer ?? .local)
    }
    let error = Errno.current
    switch error.rawValue {
    case EAGAIN: return .wouldBlock
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(error)
    // accept(2): pending network errors are returned here and should be treated like EAGAIN.
    case ECONNABORTED, EINTR, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
      EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ETIMEDOUT:
      return .aborted(error)
    default: return .failed(error)
    }
  }

  /// The local port of a listener or a connection.
  public func localPort() throws(Errno) -> UInt16 { try localAddress()?.port ?? 0 }

  /// Nil for families without a port.
  func localAddress() throws(Errno) -> PeerAddress? {
    var address = RawAddress()
    let number = rawValue
    // SAFETY: the kernel writes the address into the lent buffer.
    _ = try retrying {
      unsafe address.withMutablePointer { pointer, count in
        unsafe getsockname(number, pointer, count)
      }
    }
    return address.peer
  }

  /// Sends small writes at once instead of waiting for an acknowledgement (TCP_NODELAY).
  public func setNoDelay() throws(Errno) { try set(Int32(IPPROTO_TCP), TCP_NODELAY, 1) }

  /// Sets the kernel's buffer for unsent bytes; the kernel doubles the value (socket(7)).
  public func setSendBuffer(byteCount: Int32) throws(Errno) {
    try set(SOL_SOCKET, SO_SNDBUF, byteCount)
  }

  public func setReceiveBuffer(byteCount: Int32) throws(Errno) {
    try set(SOL_SOCKET, SO_RCVBUF, byteCount)
  }

  /// The next close sends a RST and discards unsent bytes: for tests, and for peers that do not
  /// close.
  public func setResetOnClose() throws(Errno) {
    var linger = CLinux.linger(l_onoff: 1, l_linger: 0)
    let size = socklen_t(MemoryLayout<CLinux.linger>.size)
    let number = rawValue
    // SAFETY: the value is read during the call and has the given size.
    _ = try retrying { unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &linger, size) }
  }

  /// A send to a full peer fails with `wouldBlock` after this time. For blocking sockets.
  func setSendTimeout(milliseconds: Int) throws(Errno) {
    var time = timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
    let size = socklen_t(MemoryLayout<timeval>.size)
    let number = rawValue
    // SAFETY: the value is read during the call and has the given size.
    _ = try retrying { unsafe setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &time, size) }
  }

  /// Ends the stream in the sending direction; queued bytes are still sent.
  public func shutdownWrite() throws(Errno) {
    let number = rawValue
    _ = try retrying { shutdown(number, Int32(SHUT_WR)) }
  }

  /// Ends listening, whoever else holds a descriptor of the socket: the kernel refuses new
  /// connections and resets those that wait to be accepted.
  public func shutdownListening() throws(Errno) {
    let number = rawValue
    _ = try retrying { shutdown(number, Int32(SHUT_RD)) }
  }

  /// The result of a connect, or another pending error; nil without any. Reading clears it.
  public func pendingError() throws(Errno) -> Errno? {
    let value = try option(SO_ERROR)
    return value == 0 ? nil : Errno(rawValue: value)
  }

  /// An option of the level SOL_SOCKET (socket(7)).
  func option(_ option: Int32) throws(Errno) -> Int32 {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let number = rawValue
    // SAFETY: the kernel writes an Int32.
    _ = try retrying { unsafe getsockopt(number, SOL_SOCKET, option, &value, &size) }
    return value
  }

  func set(_ level: Int32, _ option: Int32, _ value: Int32) throws(Errno) {
    var value = value
    let size = socklen_t(MemoryLayout<Int32>.size)
    let number = rawValue
    // SAFETY: the value is read during the call and has the given size.
    _ = try retrying { unsafe setsockopt(number, level, option, &value, size) }
  }
}
