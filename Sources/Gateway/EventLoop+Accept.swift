import Kernel
import Logging
import Primitives
import Wire

/// A listening socket of one loop. Every loop has its own on the same port (SO_REUSEPORT), so the
/// kernel spreads the connections and no lock is taken to accept one.
final class Listener: Sendable {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  var rawDescriptor: Int32 { descriptor.rawValue }

  func accept() -> AcceptOutcome { descriptor.accept() }
}

extension EventLoop {
  /// Sockets taken in one event: the rest come in the next iteration, behind the conversations.
  private static let acceptsMax = 64

  mutating func acceptAll(_ listener: Int) {
    guard listener < listeners.count else { return }
    for _ in 0..<EventLoop.acceptsMax {
      switch listeners[listener].accept() {
      case .accepted(let descriptor, let peer): admit(descriptor, peer)
      case .wouldBlock: return
      case .aborted: continue
      case .exhausted(let errno):
        pauseListeners(errno)
        return
      case .failed(let errno):
        pauseListeners(errno)
        return
      }
    }
  }

  /// Without descriptors the listener stays readable: it is left alone until the next sweep,
  /// instead of spinning.
  private mutating func pauseListeners(_ errno: Errno) {
    logger.warning("cannot accept connections: \(errno); trying again in half a second")
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

  /// Refused before anything is read: too many connections in all (503), or from one address (429).
  private mutating func admit(_ descriptor: consuming FileDescriptor, _ peer: PeerAddress) {
    switch shared.admission.enter(peer.ip) {
    case .admitted: break
    case .full:
      refuse(descriptor, 503, "The gateway is full. Try again.")
      return
    case .tooManyFromAddress:
      refuse(descriptor, 429, "Too many connections from this address. Close some, or try again.")
      return
    }
    try? descriptor.setNoDelay()
    guard register(Link(descriptor: descriptor, peer: peer, now: now)) != nil else { return }
    figures.accepted &+= 1
  }

  /// Puts a link into the table and into epoll.
  mutating func register(_ link: consuming Link) -> SlotID? {
    let address = link.peer.ip
    guard let id = links.insert(link) else {
      shared.admission.leave(address)
      return nil
    }
    do throws(Errno) {
      try epoll.add(links[Int(id.index)].descriptor, .read, datum: id.word)
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
    let link = links.remove(Int(id.index))
    shared.admission.leave(link.peer.ip)
  }

  private mutating func refuse(
    _ descriptor: consuming FileDescriptor, _ status: Int, _ detail: String
  ) {
    figures.refusedConnections &+= 1
    var bytes: [UInt8] = []
    HTTPResponse.append(
      HTTPResponse.problem(status, detail, headers: [("Retry-After", "5")]), isHead: false,
      isKeptAlive: false, to: &bytes)
    // One try: whoever is refused is not waited for.
    _ = bytes.withRawSpan { descriptor.send($0) }
    try? descriptor.shutdownWrite()
  }
}
