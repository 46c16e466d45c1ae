import Chat
import Primitives
import Wire

/// Everything that happens because time passed. One sweep over all slots, twice a second, instead
/// of a timer for each connection: nothing has to be kept in order. Of a connection to which
/// nothing happens the sweep reads one word, see `rests`: 20,000 of them in some microseconds,
/// where their records would have to come from memory, line by line.
extension Engine {
  public static let sweepMilliseconds: Int64 = 500

  public mutating func sweep() {
    sweepChecks = 0
    while rests.count < connections.endIndex { rests.append(.zero) }
    for slot in 0..<connections.endIndex
    where now >= rests[slot] && connections.isOccupied(slot) {
      sweepChecks += 1
      check(slot)
      rests[slot] = restEnds(slot)
    }
    for index in 0..<sessions.endIndex where sessions.isOccupied(index) {
      checkSession(index)
    }
    if let oldest = queue.oldest,
      now.milliseconds(since: oldest) >= Limits.sendWaitMilliseconds
    {
      failQueue()
    }
  }

  /// Something happens to the connection: the next sweep looks at it.
  mutating func endRest(_ slot: Int) {
    if slot < rests.count { rests[slot] = .zero }
  }

  /// Until when time alone changes nothing for a connection: the next ping, or the next word about
  /// its token. Whatever could make that earlier says something to the peer, and so makes the
  /// connection dirty, which ends its rest; a peer that is heard only makes it later.
  private func restEnds(_ slot: Int) -> Instant {
    guard connections[slot].phase == .open, connections[slot].purpose == .chat,
      !connections[slot].isDirty, !connections[slot].isBlocked, !connections[slot].isPaused,
      connections[slot].outbox.isEmpty
    else { return .zero }
    for subscription in connections[slot].subscriptions
    where !subscription.isLive || subscription.isPageInFlight
      || subscription.next <= sessions[subscription.session].head
    {
      return .zero
    }
    let heard = connections[slot].lastHeard
    let ping =
      connections[slot].pingedAt <= heard
      ? heard.advanced(byMilliseconds: Limits.heartbeatIntervalMilliseconds)
      : connections[slot].pingedAt.advanced(
        byMilliseconds: Limits.heartbeatTimeoutMilliseconds)
    let token = connections[slot].tokenExpires.advanced(
      byMilliseconds: connections[slot].isTokenWarned
        ? Limits.tokenGraceMilliseconds : -Limits.tokenWarningMilliseconds)
    return min(ping, token)
  }

  private mutating func check(_ slot: Int) {
    switch connections[slot].phase {
    case .awaitingHello:
      if now.milliseconds(since: connections[slot].openedAt) >= Limits.helloTimeoutMilliseconds {
        close(slot, .helloTimeout, "no hello in time")
      }
    case .authenticating:
      // Nobody is welcome unconfirmed; the token may be good, so the client only backs off.
      if now.milliseconds(since: connections[slot].openedAt) >= Limits.helloTimeoutMilliseconds {
        close(slot, .overloaded, "the token could not be confirmed in time")
      }
    case .closing:
      if now >= connections[slot].closeDeadline { doom(slot) }
    case .finished:
      if connections[slot].isBlocked, isOutputOld(slot) { doom(slot) }
    case .open:
      checkOutput(slot)
      guard connections[slot].purpose == .chat, connections[slot].phase == .open else { return }
      checkHeartbeat(slot)
      checkToken(slot)
      retryBacklogs(slot)
    }
  }

  private func isOutputOld(_ slot: Int) -> Bool {
    connections[slot].isBlocked
      && now.milliseconds(since: connections[slot].blockedSince) >= Limits.outputAgeMilliseconds
  }

  /// Nothing durable is skipped for a slow peer: it is closed, and resumes from its last seq.
  private mutating func checkOutput(_ slot: Int) {
    let isTooMuch =
      connections[slot].purpose == .chat && connections[slot].outbox.count > Limits.outputHardBytes
    guard isTooMuch || isOutputOld(slot) else { return }
    counters.slowConsumers += 1
    // The rest of a frame may be in the way, so the close frame can only follow the queue; the
    // deadline cuts.
    close(slot, .tooSlow, "output is read too slowly")
  }

  private mutating func checkHeartbeat(_ slot: Int) {
    // A connection whose input is not read cannot be heard.
    guard !connections[slot].isPaused else { return }
    let silence = now.milliseconds(since: connections[slot].lastHeard)
    guard silence >= Limits.heartbeatIntervalMilliseconds else { return }
    if connections[slot].pingedAt <= connections[slot].lastHeard {
      connections[slot].pingedAt = now
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) { EventEncoder.ping(to: &$0) }
      markDirty(slot)
    } else if now.milliseconds(since: connections[slot].pingedAt)
      >= Limits.heartbeatTimeoutMilliseconds
    {
      close(slot, .noPong, "no answer to ping")
    }
  }

  private mutating func checkToken(_ slot: Int) {
    let left = -now.milliseconds(since: connections[slot].tokenExpires)
    if left < -Limits.tokenGraceMilliseconds {
      refuse(slot, .none, .tokenExpired)
      close(slot, .tokenExpired, "the token has expired")
    } else if left <= Limits.tokenWarningMilliseconds, !connections[slot].isTokenWarned,
      let member = connections[slot].member
    {
      connections[slot].isTokenWarned = true
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
        EventEncoder.tokenExpiring(at: member.expiresAt, to: &$0)
      }
      markDirty(slot)
    }
  }

  private mutating func checkSession(_ index: Int) {
    if sessions[index].isOwned { storeMarks(index) }
    if sessions[index].isStale, sessions[index].phase == .ready, isStoreReachable { reread(index) }
    forgetRecent(index)
    guard sessions[index].isIdle, !sessions[index].isDirty,
      now.milliseconds(since: sessions[index].idleSince) >= Limits.sessionIdleMilliseconds
    else { return }
    cool(index)
  }

  /// The frames of a session that nobody follows are not kept for somebody who may come: they are
  /// most of its memory, and the database has them.
  private mutating func forgetRecent(_ index: Int) {
    guard sessions[index].subscribers.isEmpty, !sessions[index].log.isEmpty,
      !sessions[index].isDirty, sessions[index].phase == .ready,
      now.milliseconds(since: sessions[index].idleSince) >= Limits.recentIdleMilliseconds
    else { return }
    emptyLog(index)
  }

  // MARK: Draining

  /// Asks every client to come back at a random moment of the window.
  public mutating func announceDrain(windowMilliseconds: Int64) {
    for slot in 0..<connections.endIndex
    where connections.isOccupied(slot) && connections[slot].phase == .open
      && connections[slot].purpose == .chat
    {
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
        EventEncoder.drain(windowFrom: 0, to: windowMilliseconds, to: &$0)
      }
      markDirty(slot)
    }
  }

  /// Says goodbye to everybody.
  public mutating func closeAll() {
    for slot in 0..<connections.endIndex where connections.isOccupied(slot) {
      close(slot, connections[slot].purpose == .echo ? .goingAway : .drain, "the gateway restarts")
    }
  }
}
