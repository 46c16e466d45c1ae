import Engine
import Kernel
import Logging
import OpenSSL
import Primitives

/// TLS on the loop: handshakes, and the way from a socket's bytes to plain ones. What a socket says
/// inside is told apart in `deliver`, the same for plain sockets.
extension EventLoop {
  /// Handshakes that are driven in one iteration. One costs up to a millisecond, almost all of it
  /// the signature; the others wait behind the conversations, in the kernel, and epoll brings them
  /// back at once.
  static let handshakesPerTurn = 4
  /// From the accept to the end of the handshake, however slowly it comes (faults T02).
  static let handshakeMilliseconds: Int64 = 10_000
  /// Bytes that a socket's TLS may hold for a peer that does not read: answers to key updates,
  /// which come without the engine's bounds.
  static let unsentBytesMax = 262_144

  mutating func receiveSecure(_ socket: SocketIndex) {
    if case .handshake = sockets[socket].phase {
      guard handshakesLeft > 0 else { return }
      handshakesLeft -= 1
    }
    let places = input.withMutableRawSpan { sockets[socket].tls?.prepare(&$0) }
    guard let (start, fill) = places else { return }
    let outcome = input.withMutableRawSpan { buffer in
      sockets[socket].descriptor.receive(into: &buffer, from: fill)
    }
    switch outcome {
    case .bytes(let count):
      metrics.bytesReceived &+= UInt64(count)
      open(socket, TLSCursor(next: start, end: fill + count))
    case .wouldBlock: open(socket, TLSCursor(next: start, end: fill))
    case .endOfStream, .reset, .failed: endSecure(socket)
    }
  }

  /// Every record of what came, each delivered before the next one is opened.
  private mutating func open(_ socket: SocketIndex, _ cursor: TLSCursor) {
    var cursor = cursor
    var isGoing = true
    while isGoing, !sockets[socket].isDoomed {
      let step = input.withMutableRawSpan { buffer in
        sockets[socket].tls?.open(&buffer, &cursor, tlsWorkspace)
      }
      switch step ?? .needMoreBytes {
      case .plain(let range): deliver(socket, range)
      case .established:
        metrics.handshakes &+= 1
        endHandshake(socket)
        sockets[socket].phase = .http
        sockets[socket].beginHTTP(now)
      case .needMoreBytes: isGoing = false
      case .closed:
        // Our own close_notify follows with the end, see `linger`.
        if case .webSocket(let connection) = sockets[socket].phase {
          engine.connections.peerEnded(connection)
        }
        doom(socket)
      case .failed(let fault): fail(socket, fault)
      }
    }
    guard sockets[socket].hasUnsent else { return }
    if sockets[socket].tls?.unsentByteCount ?? 0 > EventLoop.unsentBytesMax {
      metrics.faults.count(.tls, "answers are not read")
      sockets[socket].hasEnded = true
      doom(socket)
    }
    unsentSockets.append(sockets.id(at: socket))
  }

  /// The alert, if there is one, goes out before the socket is closed.
  mutating func fail(_ socket: SocketIndex, _ fault: TLSFault) {
    metrics.faults.count(.tls, fault.reason)
    if fault == .plainHTTP {
      endHandshake(socket)
      sockets[socket].tls = nil
      sockets[socket].phase = .http
      sockets[socket].beginHTTP(now)
      sockets[socket].exchange.fail()
      answer(socket, HTTPResponse.problem(400, "This port speaks HTTPS. Ask with https://."))
      return
    }
    if case .webSocket(let connection) = sockets[socket].phase {
      engine.connections.peerEnded(connection)
    }
    doom(socket)
  }

  mutating func endSecure(_ socket: SocketIndex) {
    switch sockets[socket].phase {
    case .hello, .helloQueued, .handshake:
      metrics.faults.count(.tls, "ended during the handshake")
    // A lost network ends in the same way; what was sent before is complete in itself, since
    // requests and frames have lengths.
    case .http, .webSocket: metrics.faults.count(.tls, "ended without close_notify")
    case .lingering, .proxyHeader: break
    }
    ended(socket)
  }

  /// What TLS itself has to say: a flight of the handshake, an answer to a key update, an alert.
  mutating func flushUnsent() {
    guard !unsentSockets.isEmpty else { return }
    let waiting = unsentSockets
    unsentSockets.removeAll(keepingCapacity: true)
    for id in waiting where sockets.contains(id) {
      let socket = id.index
      guard !sockets[socket].isDoomed else { continue }
      switch sockets[socket].flushUnsent() {
      case .bytes(let count):
        metrics.bytesSent &+= UInt64(count)
        let interest = sockets[socket].interest
        if sockets[socket].hasUnsent {
          watch(socket, interest.union(.write))
        } else if case .handshake = sockets[socket].phase {
          watch(socket, .read)
        }
      case .wouldBlock: continue
      case .reset, .failed: ended(socket)
      }
    }
  }

  /// Says goodbye without waiting for the peer's, and gives the session up as soon as the socket
  /// has taken everything.
  mutating func closeSecure(_ socket: SocketIndex) {
    guard sockets[socket].isSecure else { return }
    sockets[socket].tls?.close(tlsWorkspace)
    _ = sockets[socket].flushUnsent()
    if !sockets[socket].hasUnsent { sockets[socket].tls = nil }
  }
}
