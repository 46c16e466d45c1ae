import CLinux

/// What became of an `accept`.
@frozen public enum AcceptOutcome: ~Copyable {
  case accepted(FileDescriptor, PeerAddress)
  case wouldBlock
  /// That one connection died in the queue, or the network has a moment: try the next.
  case aborted(Errno)
  /// No descriptors or memory left. The listener stays readable, so stop asking it for a while.
  case exhausted(Errno)
  case failed(Errno)
}

/// Who else may listen on a port (SO_REUSEPORT, which the kernel gives out by connection).
public enum PortSharing: Sendable {
  case none
  /// Nobody has it before; later listeners with `.others` may join.
  case later
  /// Everybody of this user who says the same or `.later`.
  case others
}

/// Making sockets: all of them non-blocking and closed on exec.
public enum Sockets {
  /// Listens for TCP. `0.0.0.0` and `127.0.0.1` are IPv4 only, `::` takes both families.
  public static func listen(
    on address: IPAddress, port: UInt16, backlog: Int32 = 1024, sharing: PortSharing = .none
  ) throws(Errno) -> FileDescriptor {
    let raw = RawAddress(PeerAddress(ip: address, port: port))
    let socket = try make(Int32(raw.storage.ss_family))
    // Without this a restarted server waits a minute for the old connections' TIME_WAIT.
    try socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
    if sharing == .others { try socket.set(SOL_SOCKET, SO_REUSEPORT, 1) }
    if !address.isVersion4 { try socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    try bind(socket, raw)
    // Two sockets share a port only if both say so: the bind above met nobody, and now may others.
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

  /// Begins to connect. Wait until the descriptor is writable, then ask `pendingError`.
  ///
  /// With `source` the connection comes from that address of this machine: a load test needs more
  /// than one where it has more connections to a server than an address has ports.
  public static func connect(
    to address: IPAddress, port: UInt16, from source: IPAddress? = nil
  ) throws(Errno) -> FileDescriptor {
    let raw = RawAddress(PeerAddress(ip: address, port: port))
    let socket = try make(Int32(raw.storage.ss_family))
    if let source {
      // The port is chosen by connect, which knows the server: bind alone would have to find one
      // that no connection to anybody has (ip(7)).
      try socket.set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1)
      try bind(socket, RawAddress(PeerAddress(ip: source, port: 0)))
    }
    return try connect(socket, raw)
  }

  public static func connect(path: String) throws(Errno) -> FileDescriptor {
    try connect(try make(AF_UNIX), try RawAddress(path: path))
  }

  /// Two connected sockets, for tests and for talking to oneself.
  public static func pair() throws(Errno) -> SocketPair {
    var numbers: [2 of Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    // SAFETY: the call writes two numbers.
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
      // An interrupted connect goes on by itself (connect(2)).
      guard error == .inProgress || error == .interrupted else { throw error }
    }
    return socket
  }
}

@frozen public struct SocketPair: ~Copyable {
  public var first: FileDescriptor
  public var second: FileDescriptor

  /// The second is closed.
  consuming func giveFirst() -> FileDescriptor { first }
}

extension FileDescriptor {
  /// Takes one connection from a listener's queue, non-blocking and closed on exec.
  public func accept() -> AcceptOutcome {
    var address = RawAddress()
    let listener = rawValue
    let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    // SAFETY: the kernel writes the peer's address into the room that is lent.
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
    // accept(2): pending network errors are passed on and should be treated like EAGAIN.
    case ECONNABORTED, EINTR, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
      EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ETIMEDOUT:
      return .aborted(error)
    default: return .failed(error)
    }
  }

  /// The port a listener or a connection has on this side.
  public func localPort() throws(Errno) -> UInt16 {
    var address = RawAddress()
    let number = rawValue
    // SAFETY: the kernel writes the address into the room that is lent.
    _ = try retrying {
      unsafe address.withMutablePointer { pointer, count in
        unsafe getsockname(number, pointer, count)
      }
    }
    return address.peer?.port ?? 0
  }

  /// Sends small writes at once instead of waiting for an acknowledgement (TCP_NODELAY).
  public func setNoDelay() throws(Errno) { try set(Int32(IPPROTO_TCP), TCP_NODELAY, 1) }

  /// The kernel's room for unsent bytes; it doubles what is asked for (socket(7)).
  public func setSendBuffer(byteCount: Int32) throws(Errno) {
    try set(SOL_SOCKET, SO_SNDBUF, byteCount)
  }

  public func setReceiveBuffer(byteCount: Int32) throws(Errno) {
    try set(SOL_SOCKET, SO_RCVBUF, byteCount)
  }

  /// The next close sends a RST instead of what is left to send: for tests and for peers that will
  /// not go.
  public func setResetOnClose() throws(Errno) {
    var linger = CLinux.linger(l_onoff: 1, l_linger: 0)
    let size = socklen_t(MemoryLayout<CLinux.linger>.size)
    let number = rawValue
    // SAFETY: the value is read during the call and has the size that is given.
    _ = try retrying { unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &linger, size) }
  }

  /// Says that nothing more will be sent; what is queued still goes out.
  public func shutdownWrite() throws(Errno) {
    let number = rawValue
    _ = try retrying { shutdown(number, Int32(SHUT_WR)) }
  }

  /// How a connect ended, or what else happened to the socket; nil when all is well. Reading clears
  /// it.
  public func pendingError() throws(Errno) -> Errno? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let number = rawValue
    // SAFETY: the kernel writes an Int32.
    _ = try retrying { unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &value, &size) }
    return value == 0 ? nil : Errno(rawValue: value)
  }

  func set(_ level: Int32, _ option: Int32, _ value: Int32) throws(Errno) {
    var value = value
    let size = socklen_t(MemoryLayout<Int32>.size)
    let number = rawValue
    // SAFETY: the value is read during the call and has the size that is given.
    _ = try retrying { unsafe setsockopt(number, level, option, &value, size) }
  }
}
