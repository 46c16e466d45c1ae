import Engine
import Kernel
import Logging
import OpenSSL
import Primitives
import Wire

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

extension EventLoop {
  /// Sockets taken in one event: the rest come in the next iteration, behind the conversations.
  private static let acceptsMax = 64
  /// Refused sockets of this loop that may wait for their peer's end, so that it reads why; beyond
  /// them a flood is cut off.
  static let refusedMax = 32

  mutating func acceptAll(_ listener: Int) {
    guard listener < listeners.count else { return }
    for _ in 0..<EventLoop.acceptsMax {
      switch listeners[listener].accept() {
      case .accepted(let descriptor, let peer):
        admit(descriptor, peer, isSecure: listeners[listener].isSecure)
      case .wouldBlock: return
      case .aborted: continue
      case .exhausted(let errno):
        metrics.faults.count(.connect, "no descriptors or memory left")
        pauseListeners(errno)
        return
      case .failed(let errno):
        metrics.faults.count(.connect, "accept failed")
        pauseListeners(errno)
        return
      }
    }
  }

  /// Without descriptors the listener stays readable: it is left alone until the next sweep,
  /// instead of spinning. Whoever knocks meanwhile waits in the kernel's queue.
  private mutating func pauseListeners(_ errno: Errno) {
    // Once for each shortage, however long it lasts.
    if now >= drain.exhaustionLoggedUntil {
      logger.warning("cannot accept connections: \(errno); trying again every half second")
    }
    drain.exhaustionLoggedUntil = now.advanced(byMilliseconds: 60_000)
    for listener in listeners.indices {
      try? epoll.modify(
        rawValue: listeners[listener].rawDescriptor, [], datum: Datum.listener(listener))
    }
    drain.areListenersPaused = true
  }

  mutating func resumeListeners() {
    guard drain.areListenersPaused else { return }
    drain.areListenersPaused = false
    for listener in listeners.indices {
      try? epoll.modify(
        rawValue: listeners[listener].rawDescriptor, .read, datum: Datum.listener(listener))
    }
  }

  /// Refused before anything is read: too many connections in all (503), too many or too fast from
  /// one address (429). Whom a proxy connects for is known only later.
  private mutating func admit(
    _ descriptor: consuming FileDescriptor, _ peer: PeerAddress, isSecure: Bool
  ) {
    var verdict = context.admission.enter()
    guard verdict == .admitted else {
      metrics.faults.count(.connect, Refused(verdict).reason)
      if !isSecure { turnAway(descriptor, verdict) }
      return
    }
    var caller = Caller(peer: peer)
    let isProxy = context.proxies.sendsHeader(peer.ip)
    if !isProxy { verdict = context.admission.enter(peer.ip, &caller.place, now: now) }
    guard verdict == .admitted else {
      metrics.faults.count(.connect, Refused(verdict).reason)
      // An answer in plain HTTP would mean nothing to a TLS client.
      guard !isSecure, refusedCount < EventLoop.refusedMax else {
        context.admission.leave(caller.place)
        if !isSecure { turnAway(descriptor, verdict) }
        return
      }
      if let id = register(ClientSocket(descriptor: descriptor, caller: caller, now: now)) {
        turnAway(id.index, verdict)
      }
      return
    }
    var socket = ClientSocket(descriptor: descriptor, caller: caller, now: now)
    if isSecure {
      socket.startsTLS = true
      socket.interest = EventLoop.helloInterest
      socket.phase = .hello(until: now.advanced(byMilliseconds: EventLoop.handshakeMilliseconds))
    }
    if isProxy {
      socket.interest = .read
      socket.phase = .proxyHeader(ProxyHeader())
    }
    guard register(socket) != nil else { return }
    metrics.accepted &+= 1
  }

  /// One try at an answer: whoever is refused is not waited for.
  private mutating func turnAway(
    _ descriptor: consuming FileDescriptor, _ verdict: Admission.Verdict
  ) {
    let answer = refusals.answer(verdict, at: engine.wall)
    _ = answer.withRawSpan { descriptor.send($0) }
  }

  /// As long as few are refused, the socket stays until the peer has read why (RFC 9112 §9.6).
  private mutating func turnAway(_ socket: SocketIndex, _ verdict: Admission.Verdict) {
    if !sockets[socket].startsTLS {
      let answer = refusals.answer(verdict, at: engine.wall)
      _ = answer.withRawSpan { sockets[socket].descriptor.send($0) }
    }
    refusedCount += 1
    sockets[socket].isRefused = true
    doom(socket)
  }

  /// Reads the PROXY header, and not a byte more: TLS or HTTP comes behind it.
  mutating func receiveProxyHeader(_ socket: SocketIndex, _ header: ProxyHeader) {
    var header = header
    let wanted = header.wantedByteCount
    let outcome = input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<wanted)
      return sockets[socket].descriptor.receive(into: &room)
    }
    switch outcome {
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
          watch(socket, EventLoop.helloInterest)
        } else {
          sockets[socket].phase = .http
        }
        admit(socket, source)
      } catch {
        metrics.faults.count(.connect, error.reason)
        sockets[socket].hasEnded = true
        doom(socket)
      }
    case .wouldBlock: return
    case .endOfStream, .reset, .failed:
      sockets[socket].hasEnded = true
      doom(socket)
    }
  }

  /// The client is known now, and is counted.
  private mutating func admit(_ socket: SocketIndex, _ source: ProxyHeader.Source) {
    guard case .client(let high, let low, let port) = source else { return }
    sockets[socket].caller.peer = PeerAddress(ip: IPAddress(high: high, low: low), port: port)
    let verdict = context.admission.enter(
      sockets[socket].caller.peer.ip, &sockets[socket].caller.place, now: now)
    guard verdict != .admitted else { return }
    metrics.faults.count(.connect, Refused(verdict).reason)
    turnAway(socket, verdict)
  }

  /// Puts a socket into the table and into epoll.
  mutating func register(_ socket: consuming ClientSocket) -> SocketID? {
    let place = socket.caller.place
    guard let id = sockets.insert(socket, epoll) else {
      context.admission.leave(place)
      return nil
    }
    return id
  }

  /// Closes the socket; its place may be used again.
  mutating func remove(_ id: SocketID) {
    guard sockets.contains(id) else { return }
    endHandshake(id.index)
    let socket = sockets.remove(id.index)
    socket.tls?.forget(tlsWorkspace)
    if socket.isRefused { refusedCount -= 1 }
    context.admission.leave(socket.caller.place)
  }
}

/// The last answer to somebody who was turned away: in a flood it is the same for a second, so that
/// refusing costs no more than accepting.
struct Refusals {
  private var verdict = Admission.Verdict.admitted
  private var second: Int64 = 0
  private var bytes: [UInt8] = []

  mutating func answer(_ wanted: Admission.Verdict, at time: WallTime) -> [UInt8] {
    let now = time.microseconds / 1_000_000
    guard wanted != verdict || now != second else { return bytes }
    (verdict, second) = (wanted, now)
    let refused = Refused(wanted)
    bytes = []
    HTTPResponse.append(
      HTTPResponse.problem(
        refused.status, refused.detail, headers: [("Retry-After", "\(refused.retryAfter)")]),
      isKeptAlive: false, at: time, to: &bytes)
    return bytes
  }
}
