import CLinux

/// A listening TCP socket that the service manager has opened for this process.
public final class InheritedSocket: Sendable {
  /// FileDescriptorName= of the socket unit.
  public let name: String
  public let address: PeerAddress
  private let descriptor: FileDescriptor

  fileprivate init(name: String, address: PeerAddress, _ descriptor: consuming FileDescriptor) {
    self.name = name
    self.address = address
    self.descriptor = descriptor
  }

  /// Another descriptor of the same socket, with the same queue of connections.
  public func duplicate() throws(Errno) -> FileDescriptor {
    let number = descriptor.rawValue
    return FileDescriptor(owning: try retrying { chirrup_duplicate(number) })
  }
}

/// Sockets passed by the service manager that cannot be used.
public enum InheritedSocketFault: Error, Equatable, CustomStringConvertible {
  case variable(name: String, value: String)
  /// LISTEN_FDNAMES has another number of names than LISTEN_FDS says.
  case names(expected: Int, actual: Int)
  case notListening(number: Int32, name: String)
  case tooMany(Int)

  public var description: String {
    switch self {
    case .variable(let name, let value):
      "\(name) is \(value), which is no number: the service manager sets it (sd_listen_fds(3))"
    case .names(let expected, let actual):
      "LISTEN_FDNAMES has \(actual) names for the \(expected) sockets of LISTEN_FDS; set "
        + "FileDescriptorName= in each socket unit"
    case .notListening(let number, let name):
      "descriptor \(number) (\(name)) of the service manager is not a listening TCP socket; use "
        + "ListenStream= with a port or an IP address and a port, and Accept=no, in the socket unit"
    case .tooMany(let count):
      "the service manager passes \(count) sockets; at most \(InheritedSockets.countMax) are used"
    }
  }
}

/// The sockets of socket activation (sd_listen_fds(3)). They outlive this process in the service
/// manager, so that connections wait in their queues while the process restarts.
public enum InheritedSockets {
  /// As many as the settings accept addresses: 16 for each of three purposes.
  public static let countMax = 48

  /// Takes ownership of the sockets, which become non-blocking and closed on exec, and removes the
  /// variables. Call it once, while the process has one thread.
  ///
  /// - Parameter first: the first descriptor; SD_LISTEN_FDS_START.
  public static func take(
    from first: Int32 = 3
  ) throws(InheritedSocketFault) -> [InheritedSocket] {
    let process = Environment.take("LISTEN_PID")
    let number = Environment.take("LISTEN_FDS")
    let text = Environment.take("LISTEN_FDNAMES")
    // The variables of a parent do not concern this process.
    guard let process, let number, process == "\(getpid())" else { return [] }
    guard let count = Int(number), count >= 0 else {
      throw .variable(name: "LISTEN_FDS", value: number)
    }
    guard count <= countMax else { throw .tooMany(count) }
    let names = (text ?? "").split(separator: ":", omittingEmptySubsequences: false)
    guard count == 0 || names.count == count else {
      throw .names(expected: count, actual: text == nil ? 0 : names.count)
    }
    var sockets: [InheritedSocket] = []
    for index in 0..<count {
      let number = first + Int32(index)
      let name = String(names[index])
      guard chirrup_is_open(number) != 0 else { throw .notListening(number: number, name: name) }
      do throws(Errno) {
        sockets.append(try adopt(FileDescriptor(owning: number), name))
      } catch {
        throw .notListening(number: number, name: name)
      }
    }
    return sockets
  }

  private static func adopt(
    _ descriptor: consuming FileDescriptor, _ name: String
  ) throws(Errno) -> InheritedSocket {
    guard try descriptor.option(SO_TYPE) == Int32(SOCK_STREAM.rawValue),
      try descriptor.option(SO_ACCEPTCONN) == 1,
      let address = try descriptor.localAddress()
    else { throw .invalidArgument }
    let number = descriptor.rawValue
    _ = try retrying { chirrup_set_flags(number) }
    // Accepted sockets inherit it (tcp(7)).
    try descriptor.setNoDelay()
    return InheritedSocket(name: name, address: address, descriptor)
  }
}
