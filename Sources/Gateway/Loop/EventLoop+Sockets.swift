import Chat
import Engine
import Kernel
import Logging
import OpenSSL
import Primitives
import Wire

/// Reading, writing and closing of sockets: which component handles the bytes, by the socket's
/// phase.
extension EventLoop {
  // MARK: Reading

  mutating func receive(_ socket: SocketIndex, hasHungUp: Bool) {
    guard sockets.isAlive(socket) else { return }
    switch sockets[socket].phase {
    case .proxyHeader(let header):
      return acceptor.receiveProxyHeader(
        socket, header, &sockets, &input, poller.epoll, &metrics, turn)
    case .hello(let until): return receiveHello(socket, until: until, hasHungUp: hasHungUp)
    // Read when its handshake starts.
    case .helloQueued: return
    default: break
    }
    if sockets[socket].isSecure {
      receiveSecure(socket)
      return
    }
    let outcome = sockets.receive(socket, into: &input, limit: input.count)
    switch outcome {
    case .bytes(let count):
      metrics.bytesReceived &+= UInt64(count)
      deliver(socket, 0..<count)
    case .wouldBlock: return
    case .endOfStream, .reset, .failed: ended(socket)
    }
  }

  /// Handles plain bytes of a socket, at `range` of the receive buffer.
  mutating func deliver(_ socket: SocketIndex, _ range: Range<Int>) {
    switch sockets[socket].phase {
    case .webSocket(let connection):
      if journal.taps.isOn {
        journal.taps.received(connection, input, range, engine.connections, turn)
      }
      input.withMutableRawSpan { all in
        var bytes = all._mutatingExtracting(range)
        engine.receive(connection, &bytes)
      }
    case .http:
      sockets.receiveRequest(socket, input, range, now: turn.now)
      serve(socket)
    case .lingering, .proxyHeader, .hello, .helloQueued, .handshake: return
    }
  }

  /// The peer has closed or reset the connection.
  mutating func ended(_ socket: SocketIndex) {
    if case .webSocket(let connection) = sockets[socket].phase {
      engine.connections.peerEnded(connection)
    }
    sockets.doomEnded(socket)
  }

  mutating func becameWritable(_ socket: SocketIndex) {
    let id = sockets.id(at: socket)
    switch sockets[socket].phase {
    case .webSocket(let connection):
      watch(socket, sockets[socket].interest.subtracting(.write))
      if sockets[socket].hasUnsent { tls.unsent.append(id) }
      engine.connections.writable(connection, now: engine.now)
    case .http: http.unsent.append(id)
    case .handshake: tls.unsent.append(id)
    case .lingering: if !endOutput(socket) { ended(socket) }
    case .proxyHeader, .hello, .helloQueued: return
    }
  }

  private mutating func watch(_ socket: SocketIndex, _ interest: Interest) {
    sockets.watch(socket, interest, poller.epoll)
  }

  // MARK: Flush

  /// Sends output, with one write for each connection.
  mutating func flush() {
    pulse.note(.output)
    flushResponses()
    flushTLS()
    output.fill(from: &engine)
    while let connection = output.next() {
      guard let socket = sockets.socket(ofConnection: connection) else { continue }
      flush(socket, connection)
      if turn.isOver(.output) { break }
    }
    output.trim()
    applyPauses()
  }

  private mutating func flush(_ socket: SocketIndex, _ connection: ConnectionIndex) {
    output.bytes.removeAll(keepingCapacity: true)
    engine.collect(connection, into: &output.bytes)
    if journal.taps.isOn {
      journal.taps.collected(connection, output.bytes, engine.connections, turn)
    }
    guard !sockets[socket].isDoomed else { return }
    send(socket, connection)
  }

  /// Sends a long answer at once, while it is in the processor's cache. Output that follows a
  /// commit waits for the flush, so that it leaves with one write.
  mutating func answerEarly(_ socket: SocketIndex) {
    guard sockets.isAlive(socket), case .webSocket(let connection) = sockets[socket].phase,
      engine.connections.outputByteCount(connection) >= EventLoop.earlyBytes
    else { return }
    flush(socket, connection)
  }

  /// Bytes from which an answer is sent early.
  private static let earlyBytes = 2_048

  private mutating func send(_ socket: SocketIndex, _ connection: ConnectionIndex) {
    guard !output.bytes.isEmpty || sockets[socket].hasUnsent else {
      engine.connections.flushed(connection, now: engine.now)
      return
    }
    switch output.bytes.withRawSpan({ sockets[socket].send($0, tls.workspace) }) {
    case .bytes(let count):
      metrics.bytesSent &+= UInt64(count)
      if count == output.bytes.count && !sockets[socket].hasUnsent {
        engine.connections.flushed(connection, now: engine.now)
      } else {
        engine.connections.blocked(connection, rest: output.bytes[count...], now: engine.now)
        watch(socket, sockets[socket].interest.union(.write))
      }
    case .wouldBlock:
      engine.connections.blocked(connection, rest: output.bytes[...], now: engine.now)
      watch(socket, sockets[socket].interest.union(.write))
    case .reset, .failed: ended(socket)
    }
  }

  /// Stops reading from paused connections (their token is being verified, or the peer does not
  /// read its answers), and continues with the others.
  private mutating func applyPauses() {
    guard engine.connections.hasPauseChanges else { return }
    for connection in engine.connections.takePauseChanges() {
      guard let socket = sockets.socket(ofConnection: connection) else { continue }
      let interest = sockets[socket].interest
      watch(
        socket,
        engine.connections.isPaused(connection)
          ? interest.subtracting(.read) : interest.union(.read))
    }
  }

  // MARK: Close

  /// Closes the doomed sockets, last in a turn: while an event may still name a socket, its index
  /// must not be used again.
  mutating func closeDoomed() {
    for connection in engine.connections.takeDoomed() {
      guard let socket = sockets.socket(ofConnection: connection) else {
        _ = engine.release(connection)
        continue
      }
      sockets.doom(socket)
    }
    while let id = sockets.takeDoomed() {
      close(id.index)
      // The last turn of a loop closes all of them.
      if !drain.isOver, turn.isOver(.closing) { break }
    }
  }

  private mutating func close(_ socket: SocketIndex) {
    if case .webSocket(let connection) = sockets[socket].phase {
      if let report = engine.release(connection) {
        metrics.closed[report.ending?.code.rawValue ?? 1006, default: 0] &+= 1
        journal.noteEnd(report, from: sockets[socket].caller.peer.ip, turn)
      }
    } else if case .http = sockets[socket].phase {
      http.logUnanswered(socket, &sockets)
    }
    if sockets[socket].hasEnded || drain.isOver {
      if !sockets[socket].hasEnded { tls.close(socket, &sockets) }
      remove(socket)
    } else if !linger(socket) {
      remove(socket)
    }
  }

  /// Closes the socket and frees its index.
  mutating func remove(_ socket: SocketIndex) {
    tls.endHandshake(socket, sockets)
    let closed = sockets.remove(socket)
    closed.tls?.forget(tls.workspace)
    acceptor.noteClosed(closed)
  }

  private static let lingerMilliseconds: Int64 = 2_000

  /// Waits for the peer to close too, see `ClientSocket.ProtocolPhase.lingering`.
  ///
  /// - Returns: false if the peer has gone.
  private mutating func linger(_ socket: SocketIndex) -> Bool {
    tls.close(socket, &sockets)
    tls.endHandshake(socket, sockets)
    sockets[socket].isDoomed = false
    sockets[socket].beginHTTP(turn.now)
    sockets[socket].phase = .lingering(
      until: turn.now.advanced(byMilliseconds: EventLoop.lingerMilliseconds))
    return endOutput(socket)
  }

  /// Shuts our side of a lingering socket when no sealed bytes are left.
  ///
  /// - Returns: false if the peer has gone, as browsers do after their close frame.
  private mutating func endOutput(_ socket: SocketIndex) -> Bool {
    if sockets[socket].hasUnsent { tls.close(socket, &sockets) }
    guard !sockets[socket].hasUnsent else {
      watch(socket, [.read, .write])
      return true
    }
    do throws(Errno) {
      try sockets[socket].descriptor.shutdownWrite()
    } catch {
      return false
    }
    watch(socket, .read)
    return true
  }

  // MARK: Timers

  /// Closes sockets of slow senders, idle HTTP connections, and peers that do not close.
  mutating func sweepSockets() {
    var next = sockets.next(after: nil)
    while let socket = next {
      next = sockets.next(after: socket)
      guard sockets.isAlive(socket) else { continue }
      switch sockets[socket].phase {
      case .webSocket: continue
      case .http: http.sweep(socket, &sockets, &metrics, turn)
      case .hello(let until), .helloQueued(let until): expireHandshake(socket, until)
      case .handshake(let until):
        expireHandshake(socket, tls.limit(ofHandshake: socket, until: until, sockets))
      case .proxyHeader:
        guard turn.now >= sockets[socket].exchange.deadline else { continue }
        metrics.faults.count(.connect, "no PROXY header in time")
        sockets.doomEnded(socket)
      case .lingering(let until):
        if turn.now >= until { sockets.doomEnded(socket) }
      }
    }
  }

  private mutating func expireHandshake(_ socket: SocketIndex, _ limit: Instant) {
    guard turn.now >= limit else { return }
    metrics.faults.count(.tls, "handshake not complete in time")
    sockets.doomEnded(socket)
  }
}
