import Engine
import Kernel
import Logging
import Primitives
import Wire

/// Reading and writing of sockets, whatever they speak.
extension EventLoop {
  mutating func receive(_ socket: SocketIndex, hasHungUp: Bool) {
    guard sockets.isAlive(socket) else { return }
    switch sockets[socket].phase {
    case .proxyHeader(let header): return receiveProxyHeader(socket, header)
    case .hello(let until): return receiveHello(socket, until: until, hasHungUp: hasHungUp)
    // Read when it is its turn.
    case .helloQueued: return
    default: break
    }
    if sockets[socket].isSecure {
      receiveSecure(socket)
      return
    }
    let outcome = input.withMutableRawSpan { sockets[socket].descriptor.receive(into: &$0) }
    switch outcome {
    case .bytes(let count):
      metrics.bytesReceived &+= UInt64(count)
      deliver(socket, 0..<count)
    case .wouldBlock: return
    case .endOfStream, .reset, .failed: ended(socket)
    }
  }

  /// Plain bytes of a socket, at a place in the receive buffer.
  mutating func deliver(_ socket: SocketIndex, _ range: Range<Int>) {
    switch sockets[socket].phase {
    case .webSocket(let connection):
      input.withMutableRawSpan { all in
        var bytes = all._mutatingExtracting(range)
        engine.receive(connection, &bytes)
      }
    case .http:
      input.withRawSpan { sockets[socket].exchange.receive($0.extracting(range), now: now) }
      serve(socket)
    case .lingering, .proxyHeader, .hello, .helloQueued, .handshake: return
    }
  }

  /// The peer has closed or broken the connection.
  mutating func ended(_ socket: SocketIndex) {
    if case .webSocket(let connection) = sockets[socket].phase {
      engine.connections.peerEnded(connection)
    }
    sockets[socket].hasEnded = true
    doom(socket)
  }

  mutating func doom(_ socket: SocketIndex) { sockets.doom(socket) }

  mutating func becameWritable(_ socket: SocketIndex) {
    switch sockets[socket].phase {
    case .webSocket(let connection):
      watch(socket, sockets[socket].interest.subtracting(.write))
      if sockets[socket].hasUnsent { unsentSockets.append(sockets.id(at: socket)) }
      engine.connections.writable(connection, now: engine.now)
    case .http: httpDirty.append(sockets.id(at: socket))
    case .handshake: unsentSockets.append(sockets.id(at: socket))
    case .lingering: if !endOutput(socket) { ended(socket) }
    case .proxyHeader, .hello, .helloQueued: return
    }
  }

  /// Tells epoll what to watch, where that has changed.
  mutating func watch(_ socket: SocketIndex, _ interest: Interest) {
    sockets.watch(socket, interest, epoll)
  }

  /// A paused connection is not read: a token is being verified, or the peer does not take its
  /// answers.
  mutating func applyPauses() {
    for connection in engine.connections.takePauseChanges() {
      guard let socket = sockets.socket(ofConnection: connection) else { continue }
      let interest = sockets[socket].interest
      watch(
        socket,
        engine.connections.isPaused(connection)
          ? interest.subtracting(.read) : interest.union(.read))
    }
  }

  /// One write for every connection with something to say.
  mutating func flush() {
    flushAnswers()
    flushUnsent()
    if dirtyFlushed == dirty.count {
      engine.connections.takeDirty(into: &dirty)
      dirtyFlushed = 0
    }
    while dirtyFlushed < dirty.count {
      let connection = dirty[dirtyFlushed]
      dirtyFlushed += 1
      guard let socket = sockets.socket(ofConnection: connection) else { continue }
      flush(socket, connection)
      if isOver(.output) { break }
    }
    // A burst of large answers is not kept for ever.
    if output.capacity > 4 * 1_048_576 { output = [] }
    applyPauses()
  }

  private mutating func flushAnswers() {
    guard !httpDirty.isEmpty else { return }
    let served = httpDirty
    httpDirty.removeAll(keepingCapacity: true)
    for (position, id) in served.enumerated() where sockets.contains(id) {
      flushHTTP(id.index)
      if isOver(.output) {
        httpDirty.insert(contentsOf: served[(position + 1)...], at: 0)
        return
      }
    }
  }

  private mutating func flush(_ socket: SocketIndex, _ connection: ConnectionIndex) {
    output.removeAll(keepingCapacity: true)
    engine.collect(connection, into: &output)
    guard !sockets[socket].isDoomed else { return }
    send(socket, connection)
  }

  /// A long answer to what was just received leaves while it is in the processor's cache. What a
  /// connection is told after a commit waits for the flush, so that it leaves with one write.
  mutating func answerEarly(_ socket: SocketIndex) {
    guard sockets.isAlive(socket), case .webSocket(let connection) = sockets[socket].phase,
      engine.connections.outputByteCount(connection) >= EventLoop.earlyBytes
    else { return }
    flush(socket, connection)
  }

  /// Bytes of an answer that is long.
  private static let earlyBytes = 2_048

  private mutating func send(_ socket: SocketIndex, _ connection: ConnectionIndex) {
    guard !output.isEmpty || sockets[socket].hasUnsent else {
      engine.connections.flushed(connection, now: engine.now)
      return
    }
    switch output.withRawSpan({ sockets[socket].send($0, tlsWorkspace) }) {
    case .bytes(let count):
      metrics.bytesSent &+= UInt64(count)
      if count == output.count && !sockets[socket].hasUnsent {
        engine.connections.flushed(connection, now: engine.now)
      } else {
        engine.connections.blocked(connection, rest: output[count...], now: engine.now)
        watch(socket, sockets[socket].interest.union(.write))
      }
    case .wouldBlock:
      engine.connections.blocked(connection, rest: output[...], now: engine.now)
      watch(socket, sockets[socket].interest.union(.write))
    case .reset, .failed: ended(socket)
    }
  }

  /// The last act of an iteration: no socket is used again while an event may still name it.
  mutating func closeDoomed() {
    for connection in engine.connections.takeDoomed() {
      guard let socket = sockets.socket(ofConnection: connection) else {
        _ = engine.release(connection)
        continue
      }
      doom(socket)
    }
    while let id = sockets.takeDoomed() {
      close(id)
      // A loop that ends has no next turn.
      if !drain.isOver, isOver(.closing) { break }
    }
  }

  private mutating func close(_ id: SocketID) {
    let socket = id.index
    if case .webSocket(let connection) = sockets[socket].phase {
      let code = engine.release(connection)?.rawValue ?? 1006
      metrics.closed[code, default: 0] &+= 1
      logger.debug(
        "connection closed",
        metadata: ["code": "\(code)", "peer": "\(sockets[socket].caller.peer.ip)"])
    }
    if sockets[socket].hasEnded || drain.isOver {
      if !sockets[socket].hasEnded { closeSecure(socket) }
      remove(id)
    } else if !linger(socket) {
      remove(id)
    }
  }

  private static let lingerMilliseconds: Int64 = 2_000

  /// False when there is nobody to linger for.
  private mutating func linger(_ socket: SocketIndex) -> Bool {
    closeSecure(socket)
    endHandshake(socket)
    sockets[socket].isDoomed = false
    sockets[socket].beginHTTP(now)
    sockets[socket].phase = .lingering(
      until: now.advanced(byMilliseconds: EventLoop.lingerMilliseconds))
    return endOutput(socket)
  }

  /// Shuts our side of a lingering socket, once nothing sealed is left. False when the peer has
  /// gone already, as browsers do behind their close frame.
  private mutating func endOutput(_ socket: SocketIndex) -> Bool {
    if sockets[socket].hasUnsent { closeSecure(socket) }
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

  /// Slow senders, idle connections, and peers that do not close.
  mutating func sweepSockets() {
    var next = sockets.next(after: nil)
    while let socket = next {
      next = sockets.next(after: socket)
      guard sockets.isAlive(socket) else { continue }
      switch sockets[socket].phase {
      case .webSocket: continue
      case .http: sweepHTTP(socket)
      case .hello(let until), .helloQueued(let until): sweepHandshake(socket, until: until)
      case .handshake(let until): sweepHandshake(socket, until: patience(socket, until))
      case .proxyHeader:
        guard now >= sockets[socket].exchange.deadline else { continue }
        metrics.faults.count(.connect, "no PROXY header in time")
        sockets[socket].hasEnded = true
        doom(socket)
      case .lingering(let until):
        guard now >= until else { continue }
        sockets[socket].hasEnded = true
        doom(socket)
      }
    }
  }
}
