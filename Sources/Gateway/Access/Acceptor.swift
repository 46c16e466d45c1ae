import Kernel
import Logging
import Primitives
import Wire

/// Takes new sockets from the listeners of one loop, and refuses those that are too many.
///
/// Refused before anything is read: too many connections in all (503), too many or too fast from
/// one address (429). The client behind a proxy is known only later.
struct Acceptor {
  private let context: GatewayContext
  private let logger: Logger
  private var listeners: [Listener]
  private var areListenersPaused = false
  /// The shortage that paused them was logged; it is logged again when it returns after this.
  private var exhaustionLoggedUntil = Instant.zero
  /// Sockets that were refused and linger, see `refusedMax`.
  private var refusedCount = 0
  private var refusals = RefusalAnswers()

  /// Sockets taken in one event: the rest come in the next turn, behind the conversations.
  private static let acceptsMax = 64
  /// Refused sockets of this loop that may wait for their peer's end, so that it reads why; beyond
  /// them a flood is cut off.
  private static let refusedMax = 32

  init(_ context: GatewayContext, _ listeners: [Listener], _ logger: Logger) {
    self.context = context
    self.listeners = listeners
    self.logger = logger
  }

  // MARK: Listeners

  func watch(_ epoll: borrowing Epoll) throws(Errno) {
    for listener in listeners.indices {
      try epoll.add(
        rawValue: listeners[listener].rawDescriptor, .read, datum: Datum.listener(listener))
    }
  }

  /// Without descriptors the listener stays readable: it is left alone until the next sweep,
  /// instead of spinning. New clients wait in the kernel's queue meanwhile.
  private mutating func pause(_ errno: Errno, _ epoll: borrowing Epoll, now: Instant) {
    // Once for each shortage, however long it lasts.
    if now >= exhaustionLoggedUntil {
      logger.warning("cannot accept connections: \(errno); trying again every half second")
    }
    exhaustionLoggedUntil = now.advanced(byMilliseconds: 60_000)
    setInterest([], epoll)
    areListenersPaused = true
  }

  mutating func resume(_ epoll: borrowing Epoll) {
    guard areListenersPaused else { return }
    areListenersPaused = false
    setInterest(.read, epoll)
  }

  private func setInterest(_ interest: Interest, _ epoll: borrowing Epoll) {
    for listener in listeners.indices {
      try? epoll.modify(
        rawValue: listeners[listener].rawDescriptor, interest, datum: Datum.listener(listener))
    }
  }

  /// No more sockets: the loop drains.
  mutating func close(_ epoll: borrowing Epoll) {
    areListenersPaused = false
    for listener in listeners { try? epoll.remove(rawValue: listener.rawDescriptor) }
    listeners = []
  }

  // MARK: New sockets

  mutating func accept(
    _ listener: Int, _ sockets: inout SocketTable, _ epoll: borrowing Epoll,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    guard listener < listeners.count else { return }
    let isSecure = listeners[listener].isSecure
    for _ in 0..<Acceptor.acceptsMax {
      switch listeners[listener].accept() {
      case .accepted(let descriptor, let peer):
        admit(descriptor, peer, isSecure: isSecure, &sockets, epoll, &metrics, turn)
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
    _ descriptor: consuming FileDescriptor, _ peer: PeerAddress, isSecure: Bool,
    _ sockets: inout SocketTable, _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics,
    _ turn: Turn
  ) {
    var decision = context.admission.enter()
    guard decision == .admitted else {
      metrics.faults.count(.connect, AdmissionRefusal(decision).reason)
      if !isSecure { refuse(descriptor, decision, turn) }
      return
    }
    var caller = Caller(peer: peer)
    let isProxy = context.proxies.sendsHeader(peer.ip)
    if !isProxy { decision = context.admission.enter(peer.ip, &caller.permit, now: turn.now) }
    guard decision == .admitted else {
      metrics.faults.count(.connect, AdmissionRefusal(decision).reason)
      // An answer in plain HTTP would mean nothing to a TLS client.
      guard !isSecure, refusedCount < Acceptor.refusedMax else {
        context.admission.leave(caller.permit)
        if !isSecure { refuse(descriptor, decision, turn) }
        return
      }
      let socket = ClientSocket(descriptor: descriptor, caller: caller, now: turn.now)
      if let id = insert(socket, &sockets, epoll) { refuse(id.index, decision, &sockets, turn) }
      return
    }
    var socket = ClientSocket(descriptor: descriptor, caller: caller, now: turn.now)
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

  /// Puts a socket that `Admission` has counted into the table.
  func insert(
    _ socket: consuming ClientSocket, _ sockets: inout SocketTable, _ epoll: borrowing Epoll
  ) -> SocketID? {
    let permit = socket.caller.permit
    guard let id = sockets.insert(socket, epoll) else {
      context.admission.leave(permit)
      return nil
    }
    return id
  }

  /// A socket has left the table and is closed.
  mutating func noteClosed(_ socket: borrowing ClientSocket) {
    if socket.isRefused { refusedCount -= 1 }
    context.admission.leave(socket.caller.permit)
  }

  // MARK: Refusals

  /// One try at an answer: the gateway does not wait for a peer that it refuses.
  private mutating func refuse(
    _ descriptor: consuming FileDescriptor, _ decision: Admission.ConnectionDecision, _ turn: Turn
  ) {
    let answer = refusals.answer(decision, at: turn.wall)
    _ = answer.withRawSpan { descriptor.send($0) }
  }

  /// As long as few are refused, the socket stays until the peer has read why (RFC 9112 §9.6).
  private mutating func refuse(
    _ socket: SocketIndex, _ decision: Admission.ConnectionDecision, _ sockets: inout SocketTable,
    _ turn: Turn
  ) {
    if !sockets[socket].startsTLS {
      let answer = refusals.answer(decision, at: turn.wall)
      _ = answer.withRawSpan { sockets[socket].descriptor.send($0) }
    }
    refusedCount += 1
    sockets[socket].isRefused = true
    sockets.doom(socket)
  }

  // MARK: PROXY headers

  /// Reads the PROXY header, and not a byte more: TLS or HTTP comes behind it.
  @inline(never)  // a connection's first bytes, beside the path of messages
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

  /// The client is known now, and is counted.
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

/// A listening socket of one loop. Every loop has its own on the same port (SO_REUSEPORT), so the
/// kernel spreads the connections and no lock is taken to accept one.
final class Listener: Sendable {
  private let descriptor: FileDescriptor
  /// Speaks TLS.
  let isSecure: Bool

  init(_ descriptor: consuming FileDescriptor, isSecure: Bool) {
    self.descriptor = descriptor
    self.isSecure = isSecure
  }

  var rawDescriptor: Int32 { descriptor.rawValue }

  func accept() -> AcceptOutcome { descriptor.accept() }
}
