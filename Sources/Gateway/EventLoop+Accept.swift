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
        figures.faults.count(.connect, "no descriptors or memory left")
        pauseListeners(errno)
        return
      case .failed(let errno):
        figures.faults.count(.connect, "accept failed")
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
    var verdict = shared.admission.enter()
    guard verdict == .admitted else {
      figures.faults.count(.connect, Refused(verdict).reason)
      if !isSecure { turnAway(descriptor, verdict) }
      return
    }
    var caller = Caller(peer: peer)
    let isProxy = shared.proxies.sendsHeader(peer.ip)
    if !isProxy { verdict = shared.admission.enter(peer.ip, &caller.place, now: now) }
    guard verdict == .admitted else {
      figures.faults.count(.connect, Refused(verdict).reason)
      // An answer in plain HTTP would mean nothing to a TLS client.
      guard !isSecure, refusedCount < EventLoop.refusedMax else {
        shared.admission.leave(caller.place)
        if !isSecure { turnAway(descriptor, verdict) }
        return
      }
      if let id = register(Link(descriptor: descriptor, caller: caller, now: now)) {
        turnAway(Int(id.index), verdict)
      }
      return
    }
    var link = Link(descriptor: descriptor, caller: caller, now: now)
    if isSecure {
      link.startsTLS = true
      link.interest = EventLoop.helloInterest
      link.phase = .hello(until: now.advanced(byMilliseconds: EventLoop.handshakeMilliseconds))
    }
    if isProxy {
      link.interest = .read
      link.phase = .proxyHeader(ProxyHeader())
    }
    guard register(link) != nil else { return }
    figures.accepted &+= 1
  }

  /// One try at an answer: whoever is refused is not waited for.
  private mutating func turnAway(
    _ descriptor: consuming FileDescriptor, _ verdict: Admission.Verdict
  ) {
    let answer = refusals.answer(verdict, at: engine.wall)
    _ = answer.withRawSpan { descriptor.send($0) }
  }

  /// As long as few are refused, the socket stays until the peer has read why (RFC 9112 §9.6).
  private mutating func turnAway(_ slot: Int, _ verdict: Admission.Verdict) {
    if !links[slot].startsTLS {
      let answer = refusals.answer(verdict, at: engine.wall)
      _ = answer.withRawSpan { links[slot].descriptor.send($0) }
    }
    refusedCount += 1
    links[slot].isRefused = true
    doom(slot)
  }

  /// Reads the PROXY header, and not a byte more: TLS or HTTP comes behind it.
  mutating func receiveProxyHeader(_ slot: Int, _ header: ProxyHeader) {
    var header = header
    let wanted = header.wantedByteCount
    let outcome = input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<wanted)
      return links[slot].descriptor.receive(into: &room)
    }
    switch outcome {
    case .bytes(let count):
      figures.bytesReceived &+= UInt64(count)
      do throws(ProxyFault) {
        let source = try input.withRawSpan { (bytes) throws(ProxyFault) in
          try header.receive(bytes.extracting(0..<count))
        }
        guard let source else {
          links[slot].phase = .proxyHeader(header)
          return
        }
        if links[slot].startsTLS {
          links[slot].phase = .hello(until: links[slot].exchange.deadline)
          watch(slot, EventLoop.helloInterest)
        } else {
          links[slot].phase = .http
        }
        admit(slot, source)
      } catch {
        figures.faults.count(.connect, error.reason)
        links[slot].hasEnded = true
        doom(slot)
      }
    case .wouldBlock: return
    case .endOfStream, .reset, .failed:
      links[slot].hasEnded = true
      doom(slot)
    }
  }

  /// The client is known now, and is counted.
  private mutating func admit(_ slot: Int, _ source: ProxyHeader.Source) {
    guard case .client(let high, let low, let port) = source else { return }
    links[slot].caller.peer = PeerAddress(ip: IPAddress(high: high, low: low), port: port)
    let verdict = shared.admission.enter(
      links[slot].caller.peer.ip, &links[slot].caller.place, now: now)
    guard verdict != .admitted else { return }
    figures.faults.count(.connect, Refused(verdict).reason)
    turnAway(slot, verdict)
  }

  /// Puts a link into the table and into epoll.
  mutating func register(_ link: consuming Link) -> SlotID? {
    let place = link.caller.place
    guard let id = links.insert(link) else {
      shared.admission.leave(place)
      return nil
    }
    do throws(Errno) {
      let slot = Int(id.index)
      try epoll.add(links[slot].descriptor, links[slot].interest, datum: id.word)
    } catch {
      logger.error("cannot watch a socket: \(error)")
      remove(id)
      return nil
    }
    return id
  }

  /// Closes the socket; its slot may be used again.
  mutating func remove(_ id: SlotID) {
    guard links.contains(id) else { return }
    endHandshake(Int(id.index))
    let link = links.remove(Int(id.index))
    link.tls?.forget(tlsWorkspace)
    if link.isRefused { refusedCount -= 1 }
    shared.admission.leave(link.caller.place)
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
