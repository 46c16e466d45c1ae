import Chat
import Primitives
import Wire

/// Everything that happens because time passed. One sweep over all connections, twice a second,
/// instead of a timer for each: nothing has to be kept in order. Of an idle connection the sweep
/// reads one word (`ConnectionTable.nextChecks`): 20,000 of them in some microseconds, where their
/// records would have to come from memory, line by line.
extension Engine {
  public static let sweepMilliseconds: Int64 = 500

  public mutating func sweep() {
    sweepChecks = 0
    connections.prepareSweep()
    for connection in connections.indices
    where connections.isCheckDue(connection, now) {
      sweepChecks += 1
      check(connection)
      connections.setNextCheck(connection, nextCheck(connection))
    }
    for index in sessions.indices where sessions.isOccupied(index) {
      checkSession(index)
    }
    if let oldest = queue.oldest,
      now.milliseconds(since: oldest) >= Limits.sendWaitMilliseconds
    {
      failQueue()
    }
  }

  /// Until when time alone changes nothing for a connection: the next ping, or the next word about
  /// its token. Whatever could make that earlier says something to the peer, and so makes the
  /// connection dirty, which ends its rest; a peer that is heard only makes it later.
  private func nextCheck(_ connection: ConnectionIndex) -> Instant {
    guard connections[connection].phase == .open, connections[connection].purpose == .chat,
      !connections[connection].isDirty, !connections[connection].isBlocked,
      !connections[connection].isPaused,
      connections[connection].outbox.isEmpty
    else { return .zero }
    for subscription in connections[connection].subscriptions
    where !subscription.isLive || subscription.isPageInFlight
      || subscription.next <= sessions[subscription.session].head
    {
      return .zero
    }
    let heard = connections[connection].lastHeard
    let ping =
      connections[connection].pingedAt <= heard
      ? heard.advanced(byMilliseconds: Limits.heartbeatIntervalMilliseconds)
      : connections[connection].pingedAt.advanced(
        byMilliseconds: Limits.heartbeatTimeoutMilliseconds)
    let token = connections[connection].tokenExpires.advanced(
      byMilliseconds: connections[connection].isTokenWarned
        ? Limits.tokenGraceMilliseconds : -Limits.tokenWarningMilliseconds)
    return min(ping, token)
  }

  private mutating func check(_ connection: ConnectionIndex) {
    switch connections[connection].phase {
    case .awaitingHello:
      if now.milliseconds(since: connections[connection].openedAt)
        >= Limits.helloTimeoutMilliseconds
      {
        close(connection, .helloTimeout, "no hello in time")
      }
    case .authenticating:
      // Nobody is welcome unconfirmed; the token may be good, so the client only backs off.
      if now.milliseconds(since: connections[connection].openedAt)
        >= Limits.helloTimeoutMilliseconds
      {
        close(connection, .overloaded, "the token could not be confirmed in time")
      }
    case .closing:
      if now >= connections[connection].closeDeadline { connections.doom(connection) }
    case .finished:
      if connections[connection].isBlocked, isOutputOld(connection) { connections.doom(connection) }
    case .open:
      checkOutput(connection)
      guard connections[connection].purpose == .chat, connections[connection].phase == .open else {
        return
      }
      checkHeartbeat(connection)
      checkToken(connection)
      retryBacklogs(connection)
    }
  }

  private func isOutputOld(_ connection: ConnectionIndex) -> Bool {
    connections[connection].isBlocked
      && now.milliseconds(since: connections[connection].blockedSince)
        >= Limits.outputAgeMilliseconds
  }

  /// Nothing durable is skipped for a slow peer: it is closed, and resumes from its last seq.
  private mutating func checkOutput(_ connection: ConnectionIndex) {
    let isTooMuch =
      connections[connection].purpose == .chat
      && connections[connection].outbox.count > Limits.outputHardBytes
    guard isTooMuch || isOutputOld(connection) else { return }
    connections.countSlowConsumer()
    // The rest of a frame may be in the way, so the close frame can only follow the queue; the
    // deadline cuts.
    close(connection, .tooSlow, "output is read too slowly")
  }

  private mutating func checkHeartbeat(_ connection: ConnectionIndex) {
    // A connection whose input is not read cannot be heard.
    guard !connections[connection].isPaused else { return }
    let silence = now.milliseconds(since: connections[connection].lastHeard)
    guard silence >= Limits.heartbeatIntervalMilliseconds else { return }
    if connections[connection].pingedAt <= connections[connection].lastHeard {
      connections[connection].pingedAt = now
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
        EventEncoder.ping(to: &$0)
      }
      connections.markDirty(connection)
    } else if now.milliseconds(since: connections[connection].pingedAt)
      >= Limits.heartbeatTimeoutMilliseconds
    {
      close(connection, .noPong, "no answer to ping")
    }
  }

  private mutating func checkToken(_ connection: ConnectionIndex) {
    let left = -now.milliseconds(since: connections[connection].tokenExpires)
    if left < -Limits.tokenGraceMilliseconds {
      connections.refuse(connection, .none, .tokenExpired)
      close(connection, .tokenExpired, "the token has expired")
    } else if left <= Limits.tokenWarningMilliseconds, !connections[connection].isTokenWarned,
      let member = connections[connection].member
    {
      connections[connection].isTokenWarned = true
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
        EventEncoder.tokenExpiring(at: member.expiresAt, to: &$0)
      }
      connections.markDirty(connection)
    }
  }

  private mutating func checkSession(_ index: SessionIndex) {
    if sessions[index].isOwned { storeMarks(index) }
    if sessions[index].isStale, sessions[index].phase == .ready, isStoreReachable { reread(index) }
    forgetRecent(index)
    guard sessions[index].isIdle, !sessions[index].isDirty,
      now.milliseconds(since: sessions[index].idleSince) >= Limits.sessionIdleMilliseconds
    else { return }
    evict(index)
  }

  /// The frames of a session that nobody follows are not kept for somebody who may come: they are
  /// most of its memory, and the database has them.
  private mutating func forgetRecent(_ index: SessionIndex) {
    guard sessions[index].subscribers.isEmpty, !sessions[index].log.isEmpty,
      !sessions[index].isDirty, sessions[index].phase == .ready,
      now.milliseconds(since: sessions[index].idleSince) >= Limits.recentIdleMilliseconds
    else { return }
    sessions.emptyLog(index)
  }

  // MARK: Draining

  /// Asks every client to come back at a random moment of the window.
  public mutating func announceDrain(windowMilliseconds: Int64) {
    for connection in connections.indices
    where connections.isOccupied(connection) && connections[connection].phase == .open
      && connections[connection].purpose == .chat
    {
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
        EventEncoder.drain(windowFrom: 0, to: windowMilliseconds, to: &$0)
      }
      connections.markDirty(connection)
    }
  }

  /// Says goodbye to everybody.
  public mutating func closeAll() {
    for connection in connections.indices where connections.isOccupied(connection) {
      close(
        connection, connections[connection].purpose == .echo ? .goingAway : .drain,
        "the gateway restarts")
    }
  }
}
