import Engine
import Kernel
import OpenSSL
import Primitives

/// The begin of TLS. Until its ClientHello is there whole, a connection has a socket and nothing
/// else: the loop peeks, and the bytes stay in the kernel. Then it waits for room among the
/// handshakes, and only then gets an OpenSSL object. A half-open connection costs 0.3 KiB this way,
/// and 46 KiB with the object.
extension EventLoop {
  /// Edge-triggered: what is peeked at stays readable, and would wake the loop for ever.
  static let helloInterest: Interest = [.read, .readHangUp, .edgeTriggered]

  /// Bytes came, or the peer has shut its side. Each look begins at the first byte.
  mutating func receiveHello(_ socket: SocketIndex, until deadline: Instant, hasHungUp: Bool) {
    let outcome = input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<TLSHello.byteCountMax)
      return sockets[socket].descriptor.peek(into: &room)
    }
    switch outcome {
    case .bytes(let count):
      switch input.withRawSpan({ TLSHello($0.extracting(0..<count)) }) {
      case .incomplete: if hasHungUp { endSecure(socket) }
      case .whole:
        sockets[socket].phase = .helloQueued(until: deadline)
        handshakes.append(sockets.id(at: socket))
      case .broken(let fault, let alert): refuseHello(socket, fault, alert)
      }
    case .wouldBlock: return
    case .endOfStream, .reset, .failed: endSecure(socket)
    }
  }

  private mutating func refuseHello(_ socket: SocketIndex, _ fault: TLSFault, _ alert: UInt8?) {
    sockets[socket].startsTLS = false
    if let alert {
      // One try: the gateway does not wait for such a peer.
      _ = TLSHello.record(alert: alert).withRawSpan { sockets[socket].descriptor.send($0) }
    }
    fail(socket, fault)
  }

  /// Starts as many of the waiting handshakes as the turn and the limits allow.
  mutating func startHandshakes() {
    guard !handshakes.isEmpty else { return }
    var looks = min(handshakes.count, HandshakeQueue.looksPerTurn)
    while handshakesLeft > 0, looks > 0, let id = handshakes.takeFirst() {
      looks -= 1
      let socket = id.index
      guard sockets.contains(id), !sockets[socket].isDoomed,
        case .helloQueued(let deadline) = sockets[socket].phase, let tlsContext
      else { continue }
      switch context.admission.beginHandshake(sockets[socket].caller.peer.ip) {
      case .admitted: break
      case .full: return handshakes.putBack(id)
      case .tooManyFromAddress:
        handshakes.refuse(id)
        continue
      }
      handshakes.began()
      sockets[socket].startsTLS = false
      sockets[socket].tls = TLSSession(server: tlsContext)
      sockets[socket].phase = .handshake(until: deadline)
      sockets[socket].exchange.deadline = now.advanced(
        byMilliseconds: HandshakeQueue.patienceMilliseconds)
      watch(socket, .read)
      receiveSecure(socket)
    }
  }

  /// Gives the place of a handshake back, however it ended. To be called before its socket enters
  /// another phase.
  mutating func endHandshake(_ socket: SocketIndex) {
    guard case .handshake = sockets[socket].phase else { return }
    context.admission.endHandshake(sockets[socket].caller.peer.ip)
    handshakes.ended()
  }

  mutating func sweepHandshake(_ socket: SocketIndex, until deadline: Instant) {
    guard now >= deadline else { return }
    metrics.faults.count(.tls, "handshake not complete in time")
    sockets[socket].hasEnded = true
    doom(socket)
  }

  /// A handshake under way has less time while others wait for its place. The socket's exchange,
  /// which begins anew after the handshake, keeps that time.
  func patience(_ socket: SocketIndex, _ deadline: Instant) -> Instant {
    handshakes.isEmpty ? deadline : min(deadline, sockets[socket].exchange.deadline)
  }
}
