import Chat
import Primitives
import Wire

/// What time alone does to a connection: pings, warnings about its token, and its end.
extension ConnectionTable {
  /// Why a connection is to be closed.
  struct Expiry {
    var code: CloseCode
    var reason: StaticString
  }

  /// Does what is due for a connection. Answers why it is to be closed, if it is.
  mutating func check(
    _ connection: ConnectionIndex, _ sessions: borrowing SessionTable, now: Instant
  ) -> Expiry? {
    let age = now.milliseconds(since: self[connection].openedAt)
    switch self[connection].phase {
    case .awaitingHello:
      return age >= Limits.helloTimeoutMilliseconds
        ? Expiry(code: .helloTimeout, reason: "no hello in time") : nil
    case .authenticating:
      // The token may be good although it could not be confirmed, so the client only backs off.
      return age >= Limits.helloTimeoutMilliseconds
        ? Expiry(code: .overloaded, reason: "the token could not be confirmed in time") : nil
    case .closing:
      if now >= self[connection].closeDeadline { doom(connection) }
    case .finished:
      if isOutputOld(connection, now) { doom(connection) }
    case .open:
      if let expiry = checkOutput(connection, now) { return expiry }
      guard self[connection].purpose == .chat else { return nil }
      if let expiry = checkHeartbeat(connection, now) { return expiry }
      if let expiry = checkToken(connection, now) { return expiry }
      retryBacklog(connection, sessions)
    }
    return nil
  }

  private func isOutputOld(_ connection: ConnectionIndex, _ now: Instant) -> Bool {
    self[connection].isBlocked
      && now.milliseconds(since: self[connection].blockedSince) >= Limits.outputAgeMilliseconds
  }

  /// Nothing durable is skipped for a slow peer: it is closed, and resumes from its last seq. The
  /// rest of a frame may be in the way, so the close frame can only follow the queue; the deadline
  /// cuts.
  private mutating func checkOutput(_ connection: ConnectionIndex, _ now: Instant) -> Expiry? {
    let isTooMuch =
      self[connection].purpose == .chat
      && self[connection].outbox.count > Limits.outputHardBytes
    guard isTooMuch || isOutputOld(connection, now) else { return nil }
    countSlowConsumer()
    return Expiry(code: .tooSlow, reason: "output is read too slowly")
  }

  private mutating func checkHeartbeat(_ connection: ConnectionIndex, _ now: Instant) -> Expiry? {
    // A connection whose input is not read is silent for that reason.
    guard !self[connection].isPaused else { return nil }
    let silence = now.milliseconds(since: self[connection].lastHeard)
    guard silence >= Limits.heartbeatIntervalMilliseconds else { return nil }
    if self[connection].pingedAt <= self[connection].lastHeard {
      self[connection].pingedAt = now
      send(connection) { EventEncoder.ping(to: &$0) }
      return nil
    }
    return now.milliseconds(since: self[connection].pingedAt)
      >= Limits.heartbeatTimeoutMilliseconds
      ? Expiry(code: .noPong, reason: "no answer to ping") : nil
  }

  private mutating func checkToken(_ connection: ConnectionIndex, _ now: Instant) -> Expiry? {
    let left = -now.milliseconds(since: self[connection].tokenExpires)
    if left < -Limits.tokenGraceMilliseconds {
      refuse(connection, .none, .tokenExpired)
      return Expiry(code: .tokenExpired, reason: "the token has expired")
    }
    if left <= Limits.tokenWarningMilliseconds, !self[connection].isTokenWarned,
      let member = self[connection].member
    {
      self[connection].isTokenWarned = true
      send(connection) { EventEncoder.tokenExpiring(at: member.expiresAt, to: &$0) }
    }
    return nil
  }

  /// When time alone changes something for a connection next: the next ping, or the next word about
  /// its token. Whatever could make that earlier sends something to the peer, and so makes the
  /// connection dirty, which ends its rest; input from the peer only makes it later.
  func nextCheck(_ connection: ConnectionIndex, _ sessions: borrowing SessionTable) -> Instant {
    guard self[connection].phase == .open, self[connection].purpose == .chat,
      !self[connection].isDirty, !self[connection].isBlocked, !self[connection].isPaused,
      self[connection].outbox.isEmpty
    else { return .zero }
    for subscription in self[connection].subscriptions
    where !subscription.isLive || subscription.isPageInFlight
      || subscription.next <= sessions[subscription.session].head
    {
      return .zero
    }
    let heard = self[connection].lastHeard
    let ping =
      self[connection].pingedAt <= heard
      ? heard.advanced(byMilliseconds: Limits.heartbeatIntervalMilliseconds)
      : self[connection].pingedAt.advanced(byMilliseconds: Limits.heartbeatTimeoutMilliseconds)
    let token = self[connection].tokenExpires.advanced(
      byMilliseconds: self[connection].isTokenWarned
        ? Limits.tokenGraceMilliseconds : -Limits.tokenWarningMilliseconds)
    return min(ping, token)
  }

  /// Asks every client to come back at a random moment of the window.
  public mutating func announceDrain(windowMilliseconds: Int64) {
    for connection in indices
    where isOccupied(connection) && isOpen(connection) && self[connection].purpose == .chat {
      send(connection) { EventEncoder.drain(windowFrom: 0, to: windowMilliseconds, to: &$0) }
    }
  }
}
