import Chat
import Primitives
import Wire

/// Actions that time alone causes for a connection: pings, token warnings, and timeouts.
extension ConnectionTable {
  /// The reason to close a connection.
  struct Expiry {
    var code: CloseCode
    var reason: StaticString
  }

  /// Does what is due for a connection. Returns why it must be closed, or nil.
  mutating func check(
    _ connection: ConnectionIndex, _ sessions: borrowing SessionTable, now: Instant
  ) -> Expiry? {
    let age = now.milliseconds(since: self[connection].timing.openedAt)
    switch self[connection].phase {
    case .awaitingHello:
      return age >= Limits.helloTimeoutMilliseconds
        ? Expiry(code: .helloTimeout, reason: "no hello in time") : nil
    case .authenticating:
      // The token may be valid, so the code makes the client back off and not discard it.
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
    self[connection].socket.isBlocked
      && now.milliseconds(since: self[connection].socket.blockedSince)
        >= Limits.outputAgeMilliseconds
  }

  /// No durable event is skipped for a slow peer: its connection is closed, and the client resumes
  /// from its last seq. The close frame follows the waiting output, which may end within a frame;
  /// `closeDeadline` bounds the wait.
  private mutating func checkOutput(_ connection: ConnectionIndex, _ now: Instant) -> Expiry? {
    let isTooMuch =
      self[connection].purpose == .chat
      && self[connection].outbox.count > Limits.outputHardBytes
    guard isTooMuch || isOutputOld(connection, now) else { return nil }
    slowConsumers += 1
    return Expiry(code: .tooSlow, reason: "output is read too slowly")
  }

  private mutating func checkHeartbeat(_ connection: ConnectionIndex, _ now: Instant) -> Expiry? {
    // The gateway itself does not read a paused connection.
    guard !self[connection].socket.isPaused else { return nil }
    let silence = now.milliseconds(since: self[connection].timing.lastReceivedAt)
    guard silence >= Limits.heartbeatIntervalMilliseconds else { return nil }
    if self[connection].timing.pingedAt <= self[connection].timing.lastReceivedAt {
      self[connection].timing.pingedAt = now
      send(connection) { EventEncoder.ping(to: &$0) }
      return nil
    }
    return now.milliseconds(since: self[connection].timing.pingedAt)
      >= Limits.heartbeatTimeoutMilliseconds
      ? Expiry(code: .noPong, reason: "no answer to ping") : nil
  }

  private mutating func checkToken(_ connection: ConnectionIndex, _ now: Instant) -> Expiry? {
    let left = -now.milliseconds(since: self[connection].timing.tokenExpires)
    if left < -Limits.tokenGraceMilliseconds {
      refuse(connection, .none, .tokenExpired)
      return Expiry(code: .tokenExpired, reason: "the token has expired")
    }
    if left <= Limits.tokenWarningMilliseconds, !self[connection].timing.isTokenWarned,
      let member = self[connection].member
    {
      self[connection].timing.isTokenWarned = true
      send(connection) { EventEncoder.tokenExpiring(at: member.expiresAt, to: &$0) }
    }
    return nil
  }

  /// The time of the next ping or token event, zero while something else is pending. An earlier
  /// cause always produces output, which makes the connection dirty and its check due; input from
  /// the peer only delays the next ping.
  func nextCheck(_ connection: ConnectionIndex, _ sessions: borrowing SessionTable) -> Instant {
    guard self[connection].phase == .open, self[connection].purpose == .chat,
      !self[connection].socket.isDirty, !self[connection].socket.isBlocked,
      !self[connection].socket.isPaused,
      self[connection].outbox.isEmpty
    else { return .zero }
    for subscription in self[connection].subscriptions
    where !subscription.isLive || subscription.isPageInFlight
      || subscription.next <= sessions[subscription.session].head
    {
      return .zero
    }
    let lastReceivedAt = self[connection].timing.lastReceivedAt
    let ping =
      self[connection].timing.pingedAt <= lastReceivedAt
      ? lastReceivedAt.advanced(byMilliseconds: Limits.heartbeatIntervalMilliseconds)
      : self[connection].timing.pingedAt.advanced(
        byMilliseconds: Limits.heartbeatTimeoutMilliseconds)
    let token = self[connection].timing.tokenExpires.advanced(
      byMilliseconds: self[connection].timing.isTokenWarned
        ? Limits.tokenGraceMilliseconds : -Limits.tokenWarningMilliseconds)
    return min(ping, token)
  }

  /// Asks every client to reconnect at a random moment of the window.
  public mutating func announceDrain(windowMilliseconds: Int64) {
    for connection in indices
    where isOccupied(connection) && isOpen(connection) && self[connection].purpose == .chat {
      send(connection) { EventEncoder.drain(windowFrom: 0, to: windowMilliseconds, to: &$0) }
    }
  }
}
