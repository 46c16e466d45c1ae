/// The byte stream of a client: a socket, or TLS over it. TLS uses the gateway's sessions in the
/// client role, where OpenSSL does all of the work: this tests the gateway's record layer against
/// OpenSSL's.
import Kernel
import OpenSSL
import Primitives

struct Transport: ~Copyable {
  enum Received: Equatable {
    /// All received bytes were passed on.
    case some
    case nothing
    case ended(ConnectionEnd)
  }

  private let socket: FileDescriptor
  private let session: TLSSession?
  private let workspace: TLSWorkspace

  /// Starts to connect, from a source address if one is given.
  init(
    _ target: Target, from source: IPAddress? = nil, _ workspace: TLSWorkspace
  ) throws(Errno) {
    let socket = try Sockets.connect(to: target.address, port: target.port, from: source)
    try socket.setNoDelay()
    self.socket = socket
    self.workspace = workspace
    if let context = target.tls {
      session = TLSSession(client: context, name: target.name, workspace)
    } else {
      session = nil
    }
  }

  func register(in epoll: borrowing Epoll, _ interest: Interest, datum: UInt64) throws(Errno) {
    try epoll.add(socket, interest, datum: datum)
  }

  func update(in epoll: borrowing Epoll, _ interest: Interest, datum: UInt64) throws(Errno) {
    try epoll.modify(socket, interest, datum: datum)
  }

  /// Reduces the receive buffer, so that an unread stream soon blocks the sender.
  func keepLittle() throws(Errno) { try socket.setReceiveBuffer(byteCount: 4_096) }

  /// The next close sends a RST.
  func resetOnClose() throws(Errno) { try socket.setResetOnClose() }

  func pendingError() throws(Errno) -> Errno? { try socket.pendingError() }

  /// Whether sealed bytes wait for room in the socket.
  var hasUnsent: Bool {
    switch session {
    case .some(let session): session.hasUnsent
    case .none: false
    }
  }

  /// Sends bytes from `offset` on. During the handshake nothing is sent.
  func send(_ bytes: [UInt8], from offset: Int) -> WriteOutcome {
    bytes.withRawSpan { send($0, from: offset) }
  }

  func send(_ bytes: RawSpan, from offset: Int = 0) -> WriteOutcome {
    guard isSecure else { return socket.send(bytes, from: offset) }
    switch sendUnsent() {
    case .bytes: break
    case let other: return other
    }
    guard isEstablished else { return .wouldBlock }
    let count = session?.seal(bytes, from: offset, workspace) ?? nil
    guard let count else { return .reset }
    let outcome = workspace.withSealed { socket.send($0) }
    switch outcome {
    case .bytes(let sent): session?.keepSealed(from: sent, workspace)
    case .wouldBlock: session?.keepSealed(from: 0, workspace)
    case .reset, .failed: return outcome
    }
    return .bytes(count)
  }

  private var isSecure: Bool {
    switch session {
    case .some: true
    case .none: false
    }
  }

  var isEstablished: Bool {
    switch session {
    case .some(let session): session.isEstablished
    case .none: true
    }
  }

  /// `.bytes` when all was sent.
  func sendUnsent() -> WriteOutcome {
    while hasUnsent {
      let outcome = session?.withUnsent { socket.send($0) } ?? .reset
      guard case .bytes(let count) = outcome else { return outcome }
      session?.sent(count)
    }
    return .bytes(0)
  }

  /// Receives once, and passes each piece of plain text to `take` until it returns false.
  func receive(
    _ buffer: inout [UInt8], _ take: (inout MutableRawSpan) -> Bool
  ) -> Received {
    let (start, fill) = buffer.withMutableRawSpan { session?.prepare(&$0) } ?? (0, 0)
    let outcome = buffer.withMutableRawSpan { socket.receive(into: &$0, from: fill) }
    var end = fill
    switch outcome {
    case .bytes(let count): end += count
    case .wouldBlock: if start == end { return .nothing }
    case .endOfStream, .reset: return .ended(.lost)
    case .failed(let error): return .ended(ConnectionEnd(code: nil, label: error.name))
    }
    guard isSecure else {
      buffer.withMutableRawSpan { span in
        var received = span._mutatingExtracting(start..<end)
        _ = take(&received)
      }
      return .some
    }
    return open(&buffer, TLSCursor(next: start, end: end), take)
  }

  private func open(
    _ buffer: inout [UInt8], _ begin: TLSCursor, _ take: (inout MutableRawSpan) -> Bool
  ) -> Received {
    var cursor = begin
    while true {
      let step = buffer.withMutableRawSpan { session?.open(&$0, &cursor, workspace) }
      switch step ?? .needMoreBytes {
      case .plain(let range):
        let isGoing = buffer.withMutableRawSpan { span in
          var received = span._mutatingExtracting(range)
          return take(&received)
        }
        if !isGoing { return .some }
      case .established: continue
      case .needMoreBytes: return .some
      case .closed: return .ended(.lost)
      case .failed(let fault):
        return .ended(ConnectionEnd(code: nil, label: "tls: \(fault.reason)"))
      }
    }
  }
}
