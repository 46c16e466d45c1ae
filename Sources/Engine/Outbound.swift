import Chat
import Primitives
public import Wire

/// From events to bytes. Nothing is written to a socket here: a connection becomes dirty, and the
/// driver flushes the dirty ones once an iteration, one write each.
extension Engine {
  @inline(__always)
  mutating func markDirty(_ slot: Int) {
    if !connections[slot].isDirty { becomeDirty(slot) }
  }

  @inline(never)
  private mutating func becomeDirty(_ slot: Int) {
    connections[slot].isDirty = true
    dirtyConnections.append(slot)
    endRest(slot)
  }

  func isOpen(_ slot: Int) -> Bool { connections[slot].phase == .open }

  /// A subscription has something to send.
  mutating func markNews(_ slot: Int, _ subscription: Int) {
    markDirty(slot)
    guard !connections[slot].mustPumpAll,
      connections[slot].subscriptions[subscription].nextWithNews == Subscription.notListed
    else { return }
    connections[slot].subscriptions[subscription].nextWithNews = connections[slot].firstWithNews
    connections[slot].firstWithNews = Int32(subscription)
  }

  mutating func refuse(
    _ slot: Int, _ ref: Reference, _ refusal: Refusal, sentence: StaticString? = nil,
    field: StaticString? = nil, retryAfter: Int64? = nil
  ) {
    counters.refused[Int(refusal.rawValue)] += 1
    FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
      EventEncoder.error(
        ref: ref, refusal, sentence: sentence, field: field, retryAfterMilliseconds: retryAfter,
        to: &$0)
    }
    markDirty(slot)
  }

  /// Sends a close frame and waits for the peer's, at most `Limits.closeTimeoutMilliseconds`.
  mutating func close(_ slot: Int, _ code: CloseCode, _ reason: StaticString) {
    guard connections[slot].phase != .closing, connections[slot].phase != .finished else { return }
    if code.isFault { counters.faults.count(.conversation, reason) }
    FrameEncoder.appendClose(code, reason: reason, to: &connections[outbox: slot])
    connections[slot].closeCode = code
    connections[slot].phase = .closing
    connections[slot].closeDeadline = now.advanced(byMilliseconds: Limits.closeTimeoutMilliseconds)
    leaveEverything(slot)
    setPaused(slot, false)
    markDirty(slot)
  }

  /// RFC 6455 §7.1.7: after a fault nothing the peer sends counts any more, so its close frame is
  /// not awaited.
  mutating func fail(_ slot: Int, _ fault: FrameFault) {
    fail(slot, .frame, fault.closeCode, fault.reason)
  }

  mutating func fail(
    _ slot: Int, _ stage: FaultCounts.Stage, _ code: CloseCode, _ reason: StaticString
  ) {
    guard connections[slot].phase != .finished else { return }
    counters.faults.count(stage, reason)
    if connections[slot].phase != .closing {
      FrameEncoder.appendClose(code, reason: reason, to: &connections[outbox: slot])
      connections[slot].closeCode = code
    }
    connections[slot].decoder.finish()
    connections[slot].phase = .finished
    leaveEverything(slot)
    setPaused(slot, false)
    markDirty(slot)
  }

  mutating func setPaused(_ slot: Int, _ isPaused: Bool) {
    guard connections[slot].isPaused != isPaused else { return }
    connections[slot].isPaused = isPaused
    pauseChanges.append(slot)
  }

  public func isPaused(_ slot: Int) -> Bool {
    connections.isOccupied(slot) && connections[slot].isPaused
  }

  /// Gives up a connection whose socket is of no use any more.
  mutating func doom(_ slot: Int) {
    connections[slot].phase = .finished
    doomed.append(slot)
  }

  // MARK: The driver's side of a flush

  /// Spreads what happened in this iteration: subscribers of changed sessions become dirty, their
  /// followers get mail. Call it before `takeMail` and `takeDirty`.
  public mutating func settleSessions() {
    guard !dirtySessions.isEmpty else { return }
    for index in dirtySessions where sessions.isOccupied(index) {
      sessions[index].isDirty = false
      for position in 0..<sessions[index].subscribers.count {
        let subscriber = sessions[index].subscribers[position]
        markNews(subscriber.connection, subscriber.subscription)
      }
      postLog(index)
      countLog(index)
    }
    dirtySessions.removeAll(keepingCapacity: true)
    dropRecent()
  }

  /// The slots to flush, in the order they became dirty.
  public mutating func takeDirty(into slots: inout [Int]) {
    slots.removeAll(keepingCapacity: true)
    swap(&slots, &dirtyConnections)
  }

  public var hasDirty: Bool { !dirtyConnections.isEmpty || !dirtySessions.isEmpty }

  /// What waits for the socket already, without what `collect` adds from the logs.
  public func outputByteCount(_ slot: Int) -> Int { connections[slot].outbox.count }

  /// Appends what the connection may send now. Call it only while the socket takes bytes.
  public mutating func collect(_ slot: Int, into output: inout [UInt8]) {
    guard connections.isOccupied(slot) else { return }
    connections[slot].isDirty = false
    guard !connections[slot].isBlocked else { return }
    if !connections[slot].outbox.isEmpty { connections.takeOutbox(slot, into: &output) }
    guard connections[slot].phase == .open else { return }
    let budget = output.count + Limits.backlogBytes
    let isDone =
      connections[slot].mustPumpAll
      ? pumpAll(slot, budget, into: &output) : pumpNews(slot, budget, into: &output)
    // The rest follows in the next iteration, behind everybody else's share of this one.
    if !isDone { markDirty(slot) }
  }

  private mutating func pumpNews(
    _ slot: Int, _ budget: Int, into output: inout [UInt8]
  ) -> Bool {
    while connections[slot].firstWithNews != Subscription.noIndex {
      let index = Int(connections[slot].firstWithNews)
      pump(slot, index, budget: budget, into: &output)
      // What did not fit keeps its place.
      if output.count >= budget { return false }
      connections[slot].firstWithNews = connections[slot].subscriptions[index].nextWithNews
      connections[slot].subscriptions[index].nextWithNews = Subscription.notListed
    }
    return true
  }

  private mutating func pumpAll(
    _ slot: Int, _ budget: Int, into output: inout [UInt8]
  ) -> Bool {
    for index in 0..<connections[slot].subscriptions.count {
      pump(slot, index, budget: budget, into: &output)
      if output.count >= budget { return false }
    }
    connections[slot].mustPumpAll = false
    connections[slot].firstWithNews = Subscription.noIndex
    for index in 0..<connections[slot].subscriptions.count {
      connections[slot].subscriptions[index].nextWithNews = Subscription.notListed
    }
    return true
  }

  /// The only rule that sends entries: see `Subscription`.
  private mutating func pump(
    _ slot: Int, _ index: Int, budget: Int, into output: inout [UInt8]
  ) {
    let session = connections[slot].subscriptions[index].session
    var next = connections[slot].subscriptions[index].next
    let head = sessions[at: session].snapshot.head
    guard next <= head || !connections[slot].subscriptions[index].isLive else { return }
    let peer = connections[slot].deflate == nil ? nil : deflatePeer(slot)
    let start = next
    while next <= head && output.count < budget {
      guard next >= sessions[at: session].log.first, next <= sessions[at: session].log.last else {
        requestPage(slot, index, after: next - 1)
        break
      }
      if let peer {
        next = copyDeflated(slot, session, peer, from: next, budget: budget, into: &output)
        continue
      }
      next = sessions[at: session].log.copy(
        from: next, session: sessions[at: session].id,
        isOperator: connections[slot].isOperator, budget: budget, to: &output)
    }
    counters.delivered += UInt64(next - start)
    connections[slot].subscriptions[index].next = next
    if next > head && !connections[slot].subscriptions[index].isLive {
      connections[slot].subscriptions[index].isLive = true
      FrameEncoder.appendFrame(.text, to: &output) {
        EventEncoder.live(session: sessions[session].id, seq: head, to: &$0)
      }
    }
  }

  private mutating func requestPage(_ slot: Int, _ index: Int, after seq: Int64) {
    guard !connections[slot].subscriptions[index].isPageInFlight else { return }
    connections[slot].subscriptions[index].isPageInFlight = true
    let session = sessions[connections[slot].subscriptions[index].session].id
    reads.append(
      .entries(
        session: session, after: seq, limit: Limits.backlogPage,
        .backlog(connection: connections.id(at: slot))))
  }

  /// The socket took everything that `collect` gave, which is nothing while it is full: then news
  /// for a peer that does not read is no sign that it reads. A connection that has said goodbye is
  /// closed once all is taken.
  public mutating func flushed(_ slot: Int) {
    guard !connections[slot].isBlocked else { return }
    startHolds(slot)
    if connections[slot].isPaused && connections[slot].phase == .open { setPaused(slot, false) }
    if connections[slot].phase == .finished && connections[slot].outbox.isEmpty { doom(slot) }
  }

  /// The socket is full; `rest` waits for `writable`. A peer that does not read is not read from
  /// either.
  public mutating func blocked(_ slot: Int, rest: ArraySlice<UInt8>) {
    connections[outbox: slot].removeAll(keepingCapacity: true)
    connections[outbox: slot].append(contentsOf: rest)
    if !connections[slot].isBlocked {
      stopHolds(slot)
      connections[slot].isBlocked = true
      connections[slot].blockedSince = now
    }
    if connections[slot].phase == .open { setPaused(slot, true) }
  }

  /// The socket takes bytes again: it is flushed in this iteration.
  public mutating func writable(_ slot: Int) {
    guard connections.isOccupied(slot), connections[slot].isBlocked else { return }
    connections[slot].isBlocked = false
    connections[slot].blockedSince = now
    connections[slot].mustPumpAll = true
    markDirty(slot)
  }

  /// The peer ended or broke the stream: whatever is left has nobody to read it.
  public mutating func peerEnded(_ slot: Int) {
    guard connections.isOccupied(slot), connections[slot].phase != .finished else { return }
    if connections[slot].closeCode == nil { connections[slot].closeCode = .abnormal }
    doom(slot)
  }

  /// Slots whose sockets are to be closed now, at the end of the iteration.
  public mutating func takeDoomed() -> [Int] {
    guard !doomed.isEmpty else { return [] }
    defer { doomed = [] }
    return doomed
  }

  /// Frees the slot of a closed socket and returns the close code for the log.
  public mutating func release(_ slot: Int) -> CloseCode? {
    guard connections.isOccupied(slot) else { return nil }
    leaveEverything(slot)
    connections.dropOutbox(slot)
    let gone = connections.remove(slot)
    return gone.closeCode
  }
}

extension Engine {
  /// Puts bytes in front of everything: the answer to the upgrade.
  public mutating func preface(_ slot: Int, _ bytes: [UInt8]) {
    connections[outbox: slot].insert(contentsOf: bytes, at: 0)
    markDirty(slot)
  }
}
