import Chat
import Primitives
public import Wire

/// From events to bytes. Nothing is written to a socket here: a connection becomes dirty, and the
/// driver flushes the dirty ones once an iteration, one write each.
extension Engine {
  /// A subscription has something to send.
  mutating func markNews(_ connection: ConnectionIndex, _ subscription: Int) {
    connections.markDirty(connection)
    guard !connections[connection].mustPumpAll,
      connections[connection].subscriptions[subscription].nextWithNews == Subscription.notListed
    else { return }
    connections[connection].subscriptions[subscription].nextWithNews =
      connections[connection].firstWithNews
    connections[connection].firstWithNews = Int32(subscription)
  }

  /// Sends a close frame and waits for the peer's, at most `Limits.closeTimeoutMilliseconds`.
  mutating func close(_ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString) {
    guard connections[connection].phase != .closing, connections[connection].phase != .finished
    else { return }
    if code.isFault { counts.faults.count(.conversation, reason) }
    FrameEncoder.appendClose(code, reason: reason, to: &connections[outbox: connection])
    connections[connection].closeCode = code
    connections[connection].phase = .closing
    connections[connection].closeDeadline = now.advanced(
      byMilliseconds: Limits.closeTimeoutMilliseconds)
    leaveEverything(connection)
    connections.setPaused(connection, false)
    connections.markDirty(connection)
  }

  /// RFC 6455 §7.1.7: after a fault nothing the peer sends counts any more, so its close frame is
  /// not awaited.
  mutating func fail(_ connection: ConnectionIndex, _ fault: FrameFault) {
    fail(connection, .frame, fault.closeCode, fault.reason)
  }

  mutating func fail(
    _ connection: ConnectionIndex, _ stage: FaultCounts.Stage, _ code: CloseCode,
    _ reason: StaticString
  ) {
    guard connections[connection].phase != .finished else { return }
    counts.faults.count(stage, reason)
    if connections[connection].phase != .closing {
      FrameEncoder.appendClose(code, reason: reason, to: &connections[outbox: connection])
      connections[connection].closeCode = code
    }
    connections[connection].decoder.finish()
    connections[connection].phase = .finished
    leaveEverything(connection)
    connections.setPaused(connection, false)
    connections.markDirty(connection)
  }

  // MARK: The driver's side of a flush

  /// Spreads what happened in this iteration: subscribers of changed sessions become dirty, their
  /// followers get mail. Call it before `takeMail` and `takeDirty`.
  public mutating func settleSessions() {
    guard sessions.hasDirty else { return }
    let changed = sessions.takeDirty()
    for index in changed where sessions.isOccupied(index) {
      sessions[index].isDirty = false
      for position in 0..<sessions[index].subscribers.count {
        let subscriber = sessions[index].subscribers[position]
        markNews(subscriber.connection, subscriber.subscription)
      }
      postLog(index)
      sessions.countLog(index)
    }
    sessions.recycle(changed)
    sessions.dropRecent()
  }

  public var hasDirty: Bool { connections.hasDirty || sessions.hasDirty }

  /// Appends what the connection may send now. Call it only while the socket takes bytes.
  public mutating func collect(_ connection: ConnectionIndex, into output: inout [UInt8]) {
    guard connections.isOccupied(connection) else { return }
    connections[connection].isDirty = false
    guard !connections[connection].isBlocked else { return }
    if !connections[connection].outbox.isEmpty { connections.takeOutbox(connection, into: &output) }
    guard connections[connection].phase == .open else { return }
    let budget = output.count + Limits.backlogBytes
    let isDone =
      connections[connection].mustPumpAll
      ? pumpAll(connection, budget, into: &output) : pumpNews(connection, budget, into: &output)
    // The rest follows in the next iteration, behind everybody else's share of this one.
    if !isDone { connections.markDirty(connection) }
  }

  private mutating func pumpNews(
    _ connection: ConnectionIndex, _ budget: Int, into output: inout [UInt8]
  ) -> Bool {
    while connections[connection].firstWithNews != Subscription.noIndex {
      let index = Int(connections[connection].firstWithNews)
      pump(connection, index, budget: budget, into: &output)
      // What did not fit keeps its place.
      if output.count >= budget { return false }
      connections[connection].firstWithNews =
        connections[connection].subscriptions[index].nextWithNews
      connections[connection].subscriptions[index].nextWithNews = Subscription.notListed
    }
    return true
  }

  private mutating func pumpAll(
    _ connection: ConnectionIndex, _ budget: Int, into output: inout [UInt8]
  ) -> Bool {
    for index in 0..<connections[connection].subscriptions.count {
      pump(connection, index, budget: budget, into: &output)
      if output.count >= budget { return false }
    }
    connections[connection].mustPumpAll = false
    connections[connection].firstWithNews = Subscription.noIndex
    for index in 0..<connections[connection].subscriptions.count {
      connections[connection].subscriptions[index].nextWithNews = Subscription.notListed
    }
    return true
  }

  /// The only rule that sends entries: see `Subscription`.
  private mutating func pump(
    _ connection: ConnectionIndex, _ index: Int, budget: Int, into output: inout [UInt8]
  ) {
    let session = connections[connection].subscriptions[index].session
    var next = connections[connection].subscriptions[index].next
    let head = sessions[session].snapshot.head
    guard next <= head || !connections[connection].subscriptions[index].isLive else { return }
    let peer = connections[connection].deflate == nil ? nil : deflatePeer(connection)
    let start = next
    while next <= head && output.count < budget {
      guard next >= sessions[session].log.first, next <= sessions[session].log.last else {
        requestPage(connection, index, after: next - 1)
        break
      }
      if let peer {
        next = copyDeflated(connection, session, peer, from: next, budget: budget, into: &output)
        continue
      }
      next = sessions[session].log.copy(
        from: next, session: sessions[session].id,
        isOperator: connections[connection].isOperator, budget: budget, to: &output)
    }
    counts.delivered += UInt64(next - start)
    connections[connection].subscriptions[index].next = next
    if next > head && !connections[connection].subscriptions[index].isLive {
      connections[connection].subscriptions[index].isLive = true
      FrameEncoder.appendFrame(.text, to: &output) {
        EventEncoder.live(session: sessions[session].id, seq: head, to: &$0)
      }
    }
  }

  private mutating func requestPage(_ connection: ConnectionIndex, _ index: Int, after seq: Int64) {
    guard !connections[connection].subscriptions[index].isPageInFlight else { return }
    connections[connection].subscriptions[index].isPageInFlight = true
    let session = sessions[connections[connection].subscriptions[index].session].id
    effects.read(
      .entries(
        session: session, after: seq,
        limit: Limits.backlogPage,
        .backlog(connection: connections.id(at: connection))))
  }

  /// Removes the connection of a closed socket and returns the close code for the log.
  public mutating func release(_ connection: ConnectionIndex) -> CloseCode? {
    guard connections.isOccupied(connection) else { return nil }
    leaveEverything(connection)
    connections.dropOutbox(connection)
    let gone = connections.remove(connection)
    return gone.closeCode
  }
}
