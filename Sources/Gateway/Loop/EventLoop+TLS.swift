import Engine
import Kernel
import OpenSSL
import Primitives
import REST
import Wire

/// Acts on the results of `TLSDriver`.
extension EventLoop {
  mutating func receiveHello(_ socket: SocketIndex, until deadline: Instant, hasHungUp: Bool) {
    switch tls.receiveHello(socket, until: deadline, hasHungUp: hasHungUp, &sockets, &input) {
    case .waiting: return
    case .ended: endSecure(socket)
    case .refused(let fault): fail(socket, fault)
    }
  }

  /// Starts as many of the waiting handshakes as the turn and the limits allow.
  mutating func startHandshakes() {
    pulse.note(.handshakes)
    var tries = tls.startTriesPerTurn
    while let socket = tls.startHandshake(&tries, &sockets, poller.epoll, now: turn.now) {
      receiveSecure(socket)
    }
  }

  mutating func receiveSecure(_ socket: SocketIndex) {
    switch tls.receive(socket, &sockets, &input, &metrics) {
    case .nothing: return
    case .records(let cursor): open(socket, cursor)
    case .ended: endSecure(socket)
    }
  }

  /// Opens the received records, delivering each before the next one.
  private mutating func open(_ socket: SocketIndex, _ cursor: TLSCursor) {
    var cursor = cursor
    var hasRecords = true
    while hasRecords, !sockets[socket].isDoomed {
      switch tls.open(socket, &cursor, &sockets, &input) {
      case .plain(let range): deliver(socket, range)
      case .established:
        metrics.handshakes.completed &+= 1
        if let time = tls.handshakeTime(socket, sockets, now: turn.now) {
          metrics.durations.handshake.add(time)
        }
        tls.noteEstablished(socket, &sockets, now: turn.now)
      case .needMoreBytes: hasRecords = false
      case .closed:
        // Our own close_notify follows at the end, see `linger`.
        if case .webSocket(let connection) = sockets[socket].phase {
          engine.connections.peerEnded(connection)
        }
        sockets.doom(socket)
      case .failed(let fault): fail(socket, fault)
      }
    }
    tls.noteUnsent(socket, &sockets, &metrics)
  }

  /// An alert, if there is one, is sent before the socket is closed.
  private mutating func fail(_ socket: SocketIndex, _ fault: TLSFault) {
    metrics.faults.count(.tls, fault.reason)
    if fault == .plainHTTP {
      tls.fallBackToHTTP(socket, &sockets, now: turn.now)
      http.answer(
        socket, HTTPResponse.problem(400, "This port speaks HTTPS. Use https://."), &sockets,
        &metrics, turn)
      return
    }
    if case .webSocket(let connection) = sockets[socket].phase {
      engine.connections.peerEnded(connection)
    }
    sockets.doom(socket)
  }

  private mutating func endSecure(_ socket: SocketIndex) {
    switch sockets[socket].phase {
    case .hello, .helloQueued, .handshake:
      metrics.faults.count(.tls, "ended during the handshake")
    // A lost network ends in the same way. Truncation is harmless: requests and frames have
    // lengths.
    case .http, .webSocket: metrics.faults.count(.tls, "ended without close_notify")
    case .lingering, .proxyHeader: break
    }
    ended(socket)
  }

  mutating func flushTLS() {
    guard !tls.unsent.isEmpty else { return }
    for id in tls.unsent.take() where sockets.contains(id) && !sockets[id.index].isDoomed {
      if !tls.flush(id.index, &sockets, poller.epoll, &metrics) { ended(id.index) }
    }
  }
}
