/// One connection to clamd with a deadline for everything.
import Kernel
import Primitives

struct ClamTalk: ~Copyable {
  private let socket: FileDescriptor
  private let epoll: Epoll
  private var events = Events(capacity: 1)
  private let deadline: Instant

  private init(
    _ socket: consuming FileDescriptor, _ epoll: consuming Epoll, _ deadline: Instant
  ) {
    self.socket = socket
    self.epoll = epoll
    self.deadline = deadline
  }

  static func open(_ address: ClamAddress, milliseconds: Int64) throws(ScanFault) -> ClamTalk {
    let deadline = SystemClock.now().advanced(byMilliseconds: milliseconds)
    var talk = try begin(address, deadline)
    try talk.wait()
    do throws(Errno) {
      if let error = try talk.socket.pendingError() { throw error }
    } catch {
      throw ScanFault(description: "the scanner cannot be reached: \(error)")
    }
    return talk
  }

  private static func begin(
    _ address: ClamAddress, _ deadline: Instant
  ) throws(ScanFault) -> ClamTalk {
    do throws(Errno) {
      let epoll = try Epoll()
      let socket = try connect(address)
      try epoll.add(socket, .write, datum: 0)
      return ClamTalk(socket, epoll, deadline)
    } catch {
      throw ScanFault(description: "the scanner cannot be reached: \(error)")
    }
  }

  private static func connect(_ address: ClamAddress) throws(Errno) -> FileDescriptor {
    switch address {
    case .path(let path): try Sockets.connect(path: path)
    case .host(let host, let port):
      try Sockets.connect(to: try ClamTalk.address(of: host), port: port)
    }
  }

  /// The host's first address: a scanner is beside the gateway, and not behind several addresses.
  private static func address(of host: String) throws(Errno) -> IPAddress {
    if let ip = IPAddress(host) { return ip }
    do throws(HostLookup.Failure) {
      if let first = try HostLookup.addresses(of: host).first { return first }
    } catch {
      throw .addressNotAvailable
    }
    throw .addressNotAvailable
  }

  mutating func send(_ bytes: [UInt8]) throws(ScanFault) {
    try expect(.write)
    var sent = 0
    while sent < bytes.count {
      switch bytes.withRawSpan({ socket.send($0, from: sent) }) {
      case .bytes(let count): sent += count
      case .wouldBlock: try wait()
      case .reset: throw ScanFault(description: "the scanner closed the connection")
      case .failed(let error): throw ScanFault(description: "the scanner is lost: \(error)")
      }
    }
  }

  /// An answer up to its NUL, without it.
  mutating func receiveLine() throws(ScanFault) -> [UInt8] {
    try expect(.read)
    var line = [UInt8](repeating: 0, count: ClamAnswer.bytesMax)
    var filled = 0
    while true {
      let outcome = line.withMutableRawSpan { socket.receive(into: &$0, from: filled) }
      switch outcome {
      case .bytes(let count):
        let end = line[filled..<filled + count].firstIndex(of: 0)
        if let end { return Array(line[..<end]) }
        filled += count
        guard filled < line.count else {
          throw ScanFault(description: "the scanner's answer is too long")
        }
      case .wouldBlock: try wait()
      case .endOfStream, .reset:
        throw ScanFault(description: "the scanner closed the connection without an answer")
      case .failed(let error): throw ScanFault(description: "the scanner is lost: \(error)")
      }
    }
  }

  private func expect(_ interest: Interest) throws(ScanFault) {
    do throws(Errno) { try epoll.modify(socket, interest, datum: 0) } catch {
      throw ScanFault(description: "the scanner is lost: \(error)")
    }
  }

  private mutating func wait() throws(ScanFault) {
    while true {
      let left = deadline.milliseconds(since: SystemClock.now())
      guard left > 0 else { throw ScanFault(description: "the scanner takes too long") }
      do throws(Errno) {
        try epoll.wait(into: &events, timeoutMilliseconds: Int32(min(left, 60_000)))
      } catch {
        throw ScanFault(description: "the scanner is lost: \(error)")
      }
      if events.count > 0 { return }
    }
  }
}
