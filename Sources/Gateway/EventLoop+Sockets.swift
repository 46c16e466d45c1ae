import Engine
import Kernel
import Logging
import Primitives
import Wire

/// Reading and writing of sockets, whatever they speak.
extension EventLoop {
  mutating func receive(_ slot: Int, hasHungUp: Bool) {
    guard links.isOccupied(slot), !links[slot].isDoomed else { return }
    switch links[slot].phase {
    case .proxyHeader(let header): return receiveProxyHeader(slot, header)
    case .hello(let until): return receiveHello(slot, until: until, hasHungUp: hasHungUp)
    // Read when it is its turn.
    case .helloQueued: return
    default: break
    }
    if links[slot].isSecure {
      receiveSecure(slot)
      return
    }
    let outcome = input.withMutableRawSpan { links[slot].descriptor.receive(into: &$0) }
    switch outcome {
    case .bytes(let count):
      figures.bytesReceived &+= UInt64(count)
      deliver(slot, 0..<count)
    case .wouldBlock: return
    case .endOfStream, .reset, .failed: ended(slot)
    }
  }

  /// Plain bytes of a link, at a place in the receive buffer.
  mutating func deliver(_ slot: Int, _ range: Range<Int>) {
    switch links[slot].phase {
    case .webSocket(let connection):
      input.withMutableRawSpan { all in
        var bytes = all._mutatingExtracting(range)
        engine.receive(connection, &bytes)
      }
    case .http:
      input.withRawSpan { links[slot].exchange.receive($0.extracting(range), now: now) }
      serve(slot)
    case .lingering, .proxyHeader, .hello, .helloQueued, .handshake: return
    }
  }

  /// The peer has closed or broken the connection.
  mutating func ended(_ slot: Int) {
    if case .webSocket(let connection) = links[slot].phase { engine.peerEnded(connection) }
    links[slot].hasEnded = true
    doom(slot)
  }

  mutating func doom(_ slot: Int) {
    guard !links[slot].isDoomed else { return }
    links[slot].isDoomed = true
    doomedLinks.append(links.id(at: slot))
  }

  mutating func becameWritable(_ slot: Int) {
    switch links[slot].phase {
    case .webSocket(let connection):
      watch(slot, links[slot].interest.subtracting(.write))
      if links[slot].hasUnsent { unsentLinks.append(links.id(at: slot)) }
      engine.writable(connection)
    case .http: httpDirty.append(links.id(at: slot))
    case .handshake: unsentLinks.append(links.id(at: slot))
    case .lingering: if !endOutput(slot) { ended(slot) }
    case .proxyHeader, .hello, .helloQueued: return
    }
  }

  /// Tells epoll what to watch, where that has changed.
  mutating func watch(_ slot: Int, _ interest: Interest) {
    guard links[slot].interest != interest else { return }
    links[slot].interest = interest
    do throws(Errno) {
      try epoll.modify(
        links[slot].descriptor, interest, datum: links.id(at: slot).word)
    } catch {
      logger.error("cannot watch a socket: \(error)")
      ended(slot)
    }
  }

  func link(ofConnection slot: Int) -> Int? {
    guard slot < linkOfSlot.count, links.contains(linkOfSlot[slot]) else { return nil }
    return Int(linkOfSlot[slot].index)
  }

  mutating func note(link: SlotID, ofConnection slot: Int) {
    while linkOfSlot.count <= slot { linkOfSlot.append(SlotID(index: 0, generation: 0)) }
    linkOfSlot[slot] = link
  }

  /// A paused connection is not read: a token is being verified, or the peer does not take its
  /// answers.
  mutating func applyPauses() {
    for connection in engine.takePauseChanges() {
      guard let slot = link(ofConnection: connection) else { continue }
      let interest = links[slot].interest
      watch(
        slot, engine.isPaused(connection) ? interest.subtracting(.read) : interest.union(.read))
    }
  }

  /// One write for every connection with something to say.
  mutating func flush() {
    flushAnswers()
    flushUnsent()
    if dirtyFlushed == dirty.count {
      engine.takeDirty(into: &dirty)
      dirtyFlushed = 0
    }
    while dirtyFlushed < dirty.count {
      let connection = dirty[dirtyFlushed]
      dirtyFlushed += 1
      guard let slot = link(ofConnection: connection) else { continue }
      flush(slot, connection)
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
    for (position, id) in served.enumerated() where links.contains(id) {
      flushHTTP(Int(id.index))
      if isOver(.output) {
        httpDirty.insert(contentsOf: served[(position + 1)...], at: 0)
        return
      }
    }
  }

  private mutating func flush(_ slot: Int, _ connection: Int) {
    output.removeAll(keepingCapacity: true)
    engine.collect(connection, into: &output)
    guard !links[slot].isDoomed else { return }
    send(slot, connection)
  }

  /// A long answer to what was just received leaves while it is in the processor's cache. What a
  /// connection is told after a commit waits for the flush, so that it leaves with one write.
  mutating func answerEarly(_ slot: Int) {
    guard links.isOccupied(slot), case .webSocket(let connection) = links[slot].phase,
      engine.outputByteCount(connection) >= EventLoop.earlyBytes
    else { return }
    flush(slot, connection)
  }

  /// Bytes of an answer that is long.
  private static let earlyBytes = 2_048

  private mutating func send(_ slot: Int, _ connection: Int) {
    guard !output.isEmpty || links[slot].hasUnsent else {
      engine.flushed(connection)
      return
    }
    switch output.withRawSpan({ links[slot].send($0, tlsWorkspace) }) {
    case .bytes(let count):
      figures.bytesSent &+= UInt64(count)
      if count == output.count && !links[slot].hasUnsent {
        engine.flushed(connection)
      } else {
        engine.blocked(connection, rest: output[count...])
        watch(slot, links[slot].interest.union(.write))
      }
    case .wouldBlock:
      engine.blocked(connection, rest: output[...])
      watch(slot, links[slot].interest.union(.write))
    case .reset, .failed: ended(slot)
    }
  }

  /// The last act of an iteration: no slot is used again while an event may still name it.
  mutating func closeDoomed() {
    for connection in engine.takeDoomed() {
      guard let slot = link(ofConnection: connection) else {
        _ = engine.release(connection)
        continue
      }
      doom(slot)
    }
    var closed = 0
    while closed < doomedLinks.count {
      close(doomedLinks[closed])
      closed += 1
      // A loop that ends has no next turn.
      if !drain.isOver, isOver(.closing) { break }
    }
    doomedLinks.removeFirst(closed)
  }

  private mutating func close(_ id: SlotID) {
    guard links.contains(id) else { return }
    let slot = Int(id.index)
    if case .webSocket(let connection) = links[slot].phase {
      let code = engine.release(connection)?.rawValue ?? 1006
      figures.closed[code, default: 0] &+= 1
      logger.debug(
        "connection closed",
        metadata: ["code": "\(code)", "peer": "\(links[slot].caller.peer.ip)"])
    }
    if links[slot].hasEnded || drain.isOver {
      if !links[slot].hasEnded { closeSecure(slot) }
      remove(id)
    } else if !linger(slot) {
      remove(id)
    }
  }

  private static let lingerMilliseconds: Int64 = 2_000

  /// False when there is nobody to linger for.
  private mutating func linger(_ slot: Int) -> Bool {
    closeSecure(slot)
    endHandshake(slot)
    links[slot].isDoomed = false
    links[slot].beginHTTP(now)
    links[slot].phase = .lingering(
      until: now.advanced(byMilliseconds: EventLoop.lingerMilliseconds))
    return endOutput(slot)
  }

  /// Shuts our side of a lingering link, once nothing sealed is left. False when the peer has gone
  /// already, as browsers do behind their close frame.
  private mutating func endOutput(_ slot: Int) -> Bool {
    if links[slot].hasUnsent { closeSecure(slot) }
    guard !links[slot].hasUnsent else {
      watch(slot, [.read, .write])
      return true
    }
    do throws(Errno) {
      try links[slot].descriptor.shutdownWrite()
    } catch {
      return false
    }
    watch(slot, .read)
    return true
  }

  /// Slow senders, idle connections, and peers that do not close.
  mutating func sweepLinks() {
    for slot in 0..<links.endIndex where links.isOccupied(slot) && !links[slot].isDoomed {
      switch links[slot].phase {
      case .webSocket: continue
      case .http: sweepHTTP(slot)
      case .hello(let until), .helloQueued(let until): sweepHandshake(slot, until: until)
      case .handshake(let until): sweepHandshake(slot, until: patience(slot, until))
      case .proxyHeader:
        guard now >= links[slot].exchange.deadline else { continue }
        figures.faults.count(.connect, "no PROXY header in time")
        links[slot].hasEnded = true
        doom(slot)
      case .lingering(let until):
        guard now >= until else { continue }
        links[slot].hasEnded = true
        doom(slot)
      }
    }
  }
}
