import Kernel
import Logging
import Primitives
import Wire

/// Accepts sockets from the listeners of one loop, and refuses those above a limit of `Admission`.
///
/// Sockets are refused before anything is read: with too many connections in all (503), or too many
/// or too frequent ones from one address (429). A client behind a proxy is known and counted later.
struct Acceptor {
  private let context: GatewayContext
  private var rules: LoopRules
  private let logger: Logger
  private var listeners: [Listener]
  private var areListenersPaused = false
  /// The public listeners are closed. The others still serve metrics and probes.
  private var isDraining = false
  /// A shortage of descriptors is logged again only if it returns after this.
  private var exhaustionLoggedUntil = Instant.zero
  /// Refused sockets that linger, see `refusedMax`.
  private var refusedCount = 0
  private var responses = RefusalResponses()

  /// Sockets accepted in one event; the rest waits for the next turn.
  private static let acceptsMax = 64
  /// Connections that may wait in the kernel for a listener.
  static let backlog = 4_096
  /// Refused sockets of this loop that may linger, so that the peer can read the response; above it
  /// they are closed at once.
  private static let refusedMax = 32

  init(_ context: GatewayContext, _ listeners: [Listener], _ logger: Logger) {
    self.context = context
    rules = context.rules
    self.listeners = listeners
    self.logger = logger
  }

  mutating func use(_ rules: LoopRules) { self.rules = rules }

  // MARK: Listeners

  func watch(_ epoll: borrowing Epoll) throws(Errno) {
    for listener in listeners.indices where isOpen(listener) {
      try epoll.add(
        rawValue: listeners[listener].rawDescriptor, listeners[listener].interest,
        datum: Datum.listener(listener))
    }
  }

  private func isOpen(_ listener: Int) -> Bool { !isDraining || listeners[listener].kind == .admin }

  private func ignore(_ epoll: borrowing Epoll) {
    for listener in listeners { try? epoll.remove(rawValue: listener.rawDescriptor) }
  }

  /// Ignores the listeners until the next sweep. Without free descriptors they stay readable, and
  /// the loop would spin; new clients wait in the kernel's queue.
  private mutating func pause(_ errno: Errno, _ epoll: borrowing Epoll, now: Instant) {
    // Once for each shortage.
    if now >= exhaustionLoggedUntil {
      logger.warning("cannot accept connections: \(errno); trying again every half second")
    }
    exhaustionLoggedUntil = now.advanced(byMilliseconds: 60_000)
    ignore(epoll)
    areListenersPaused = true
  }

  mutating func resume(_ epoll: borrowing Epoll) {
    guard areListenersPaused else { return }
    do throws(Errno) {
      try watch(epoll)
      areListenersPaused = false
    } catch {
      // No memory; the next sweep tries again.
      ignore(epoll)
    }
  }

  /// The loop drains: the kernel refuses new clients, and a proxy tries the next gateway. A client
  /// that waits to be accepted is told to come again. Clients of an inherited socket wait for the
  /// next process.
  mutating func drain(
    _ sockets: inout SocketTable, _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics,
    _ turn: Turn
  ) {
    for listener in listeners.indices where listeners[listener].kind != .admin {
      try? epoll.remove(rawValue: listeners[listener].rawDescriptor)
      guard !listeners[listener].isShared else { continue }
      for _ in 0..<Acceptor.backlog / Acceptor.acceptsMax {
        accept(listener, &sockets, epoll, &metrics, turn)
      }
      listeners[listener].close()
    }
    isDraining = true
  }

  /// The loop ends: the kernel gives new connections to the loops that still run.
  func end() {
    for listener in listeners where !listener.isShared { listener.close() }
  }

  // MARK: New sockets

  mutating func accept(
    _ listener: Int, _ sockets: inout SocketTable, _ epoll: borrowing Epoll,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    guard isOpen(listener) else { return }
    let kind = listeners[listener].kind
    for _ in 0..<Acceptor.acceptsMax {
      switch listeners[listener].accept() {
      case .accepted(let descriptor, let peer):
        admit(descriptor, peer, kind, &sockets, epoll, &metrics, turn)
      case .wouldBlock: return
      case .aborted: continue
      case .exhausted(let errno):
        metrics.faults.count(.connect, "no descriptors or memory left")
        pause(errno, epoll, now: turn.now)
        return
      case .failed(let errno):
        metrics.faults.count(.connect, "accept failed")
        pause(errno, epoll, now: turn.now)
        return
      }
    }
  }

  private mutating func admit(
    _ descriptor: consuming FileDescriptor, _ peer: PeerAddress, _ kind: Listener.Kind,
    _ sockets: inout SocketTable, _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics,
    _ turn: Turn
  ) {
    let (isSecure, isAdmin) = (kind == .secure, kind == .admin)
    var decision = context.admission.enter(isAdmin: isAdmin)
    guard decision == .admitted else {
      metrics.faults.count(.connect, AdmissionRefusal(decision).reason)
      if !isSecure { refuse(descriptor, decision, turn) }
      return
    }
    var caller = Caller(peer: peer)
    let isProxy = !isAdmin && rules.proxies.sendsHeader(peer.ip)
    if !isProxy { decision = context.admission.enter(peer.ip, &caller.permit, now: turn.now) }
    guard decision == .admitted else {
      metrics.faults.count(.connect, AdmissionRefusal(decision).reason)
      // A TLS client could not read a plain response.
      guard !isSecure, refusedCount < Acceptor.refusedMax else {
        context.admission.leave(caller.permit, isAdmin: isAdmin)
        if !isSecure { refuse(descriptor, decision, turn) }
        return
      }
      var socket = ClientSocket(descriptor: descriptor, caller: caller, now: turn.now)
      socket.isAdmin = isAdmin
      if let id = insert(socket, &sockets, epoll) { refuse(id.index, decision, &sockets, turn) }
      return
    }
    var socket = ClientSocket(descriptor: descriptor, caller: caller, now: turn.now)
    socket.isAdmin = isAdmin
    if isSecure {
      socket.startsTLS = true
      socket.interest = TLSDriver.helloInterest
      socket.phase = .hello(
        until: turn.now.advanced(byMilliseconds: TLSDriver.handshakeMilliseconds))
    }
    if isProxy {
      socket.interest = .read
      socket.phase = .proxyHeader(ProxyHeader())
    }
    guard insert(socket, &sockets, epoll) != nil else { return }
    metrics.accepted &+= 1
  }

  /// Inserts a socket that `Admission` has counted into the table.
  func insert(
    _ socket: consuming ClientSocket, _ sockets: inout SocketTable, _ epoll: borrowing Epoll
  ) -> SocketID? {
    let (permit, isAdmin) = (socket.caller.permit, socket.isAdmin)
    guard let id = sockets.insert(socket, epoll) else {
      context.admission.leave(permit, isAdmin: isAdmin)
      return nil
    }
    return id
  }

  /// Releases what was counted for a socket that has left the table.
  mutating func noteClosed(_ socket: borrowing ClientSocket) {
    if socket.isRefused { refusedCount -= 1 }
    context.admission.leave(socket.caller.permit, isAdmin: socket.isAdmin)
  }

  // MARK: Refusals

  /// Sends the response in one attempt and closes the socket.
  private mutating func refuse(
    _ descriptor: consuming FileDescriptor, _ decision: Admission.ConnectionDecision, _ turn: Turn
  ) {
    let response = responses.response(decision, at: turn.wall)
    _ = response.withRawSpan { descriptor.send($0) }
  }

  /// Sends the response and lets the socket linger, so that the peer can read it (RFC 9112 §9.6).
  private mutating func refuse(
    _ socket: SocketIndex, _ decision: Admission.ConnectionDecision, _ sockets: inout SocketTable,
    _ turn: Turn
  ) {
    if !sockets[socket].startsTLS {
      let response = responses.response(decision, at: turn.wall)
      _ = response.withRawSpan { sockets[socket].descriptor.send($0) }
    }
    refusedCount += 1
    sockets[socket].isRefused = true
    sockets.doom(socket)
  }

  // MARK: PROXY headers

  /// Reads the PROXY header and no further byte, since TLS or HTTP follows it.
  @inline(never)  // keeps the first bytes of a connection out of the path of messages
  mutating func receiveProxyHeader(
    _ socket: SocketIndex, _ header: ProxyHeader, _ sockets: inout SocketTable,
    _ input: inout [UInt8], _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    var header = header
    switch sockets.receive(socket, into: &input, limit: header.wantedByteCount) {
    case .bytes(let count):
      metrics.bytesReceived &+= UInt64(count)
      do throws(ProxyFault) {
        let source = try input.withRawSpan { (bytes) throws(ProxyFault) in
          try header.receive(bytes.extracting(0..<count))
        }
        guard let source else {
          sockets[socket].phase = .proxyHeader(header)
          return
        }
        if sockets[socket].startsTLS {
          sockets[socket].phase = .hello(until: sockets[socket].exchange.deadline)
          sockets.watch(socket, TLSDriver.helloInterest, epoll)
        } else {
          sockets[socket].phase = .http
        }
        admit(socket, source, &sockets, &metrics, turn)
      } catch {
        metrics.faults.count(.connect, error.reason)
        sockets.doomEnded(socket)
      }
    case .wouldBlock: return
    case .endOfStream, .reset, .failed: sockets.doomEnded(socket)
    }
  }

  /// Counts the client, which is known from the PROXY header.
  private mutating func admit(
    _ socket: SocketIndex, _ source: ProxyHeader.Source, _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    guard case .client(let high, let low, let port) = source else { return }
    sockets[socket].caller.peer = PeerAddress(ip: IPAddress(high: high, low: low), port: port)
    let decision = context.admission.enter(
      sockets[socket].caller.peer.ip, &sockets[socket].caller.permit, now: turn.now)
    guard decision != .admitted else { return }
    metrics.faults.count(.connect, AdmissionRefusal(decision).reason)
    refuse(socket, decision, &sockets, turn)
  }
}

/// A listening socket. Each loop has its own on the same port (SO_REUSEPORT): the kernel
/// distributes the connections, and accepting takes no lock. Loops share an inherited socket.
final class Listener: Sendable {
  private let descriptor: FileDescriptor
  /// The raw value is the name of an inherited socket.
  enum Kind: String, CaseIterable {
    /// HTTP and WebSocket, without and with TLS.
    case plain = "http"
    case secure = "https"
    /// HTTP for metrics and probes only.
    case admin
  }

  let kind: Kind
  let isShared: Bool
  let interest: Interest

  init(_ descriptor: consuming FileDescriptor, _ kind: Kind, isShared: Bool = false) {
    self.descriptor = descriptor
    self.kind = kind
    self.isShared = isShared
    interest = isShared ? [.read, .exclusive] : .read
  }

  var rawDescriptor: Int32 { descriptor.rawValue }

  func accept() -> AcceptOutcome { descriptor.accept() }

  /// The descriptor itself lives as long as the loops' threads.
  func close() { try? descriptor.shutdownListening() }
}
