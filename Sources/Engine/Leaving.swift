import Chat
import Primitives
import Wire

/// The end of a connection, which first ends its subscriptions and its watching.
extension Engine {
  /// Sends a close frame and waits for the peer's.
  mutating func close(
    _ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString,
    by side: Ending.Side = .gateway
  ) {
    guard connections.beginClosing(connection, code, reason, by: side, now: now) else { return }
    if code.isFault { counts.faults.count(.conversation, reason) }
    leaveEverything(connection)
  }

  /// Ends a connection whose peer violated the protocol.
  mutating func fail(
    _ connection: ConnectionIndex, _ stage: FaultCounts.Stage, _ code: CloseCode,
    _ reason: StaticString
  ) {
    guard connections.fail(connection, code, reason) else { return }
    counts.faults.count(stage, reason)
    leaveEverything(connection)
  }

  /// Ends a connection whose token is no longer valid. If output is waiting, it is discarded
  /// without a close frame, since it may end within a frame.
  public mutating func revoke(_ connection: ConnectionIndex, _ reason: TokenRefusal) {
    guard connections.isOccupied(connection) else { return }
    if connections[connection].socket.isBlocked {
      connections.dropOutbox(connection)
      connections[connection].ending = Ending(
        code: reason.closeCode, reason: reason.reason.description, side: .gateway)
      leaveEverything(connection)
      connections.doom(connection)
      return
    }
    guard connections.isOpen(connection) else { return }
    connections.refuse(connection, .none, reason.refusal, sentence: reason.sentence)
    close(connection, reason.closeCode, reason.reason)
  }

  /// Ends a connection for an administrator: its client connects again.
  ///
  /// - Parameter reason: for the journal; the peer gets a fixed text.
  public mutating func kick(_ connection: ConnectionIndex, reason: String) {
    guard connections.isOccupied(connection) else { return }
    if connections[connection].socket.isBlocked {
      connections.dropOutbox(connection)
      leaveEverything(connection)
      connections.doom(connection)
    } else {
      close(connection, .administrator, "disconnected by an administrator", by: .kick)
    }
    connections[connection].ending = Ending(code: .administrator, reason: reason, side: .kick)
  }

  /// Closes the connections whose tokens were signed by these keys, which have ended.
  public mutating func endKeys(_ keys: [UInt32]) {
    connections.noteEnded(keys)
    for connection in connections.indices where connections.isOccupied(connection) {
      if let member = connections[connection].member, connections.hasEndedKey(member) {
        revoke(connection, .keyEnded)
      }
    }
  }

  /// Closes every connection, since the gateway stops.
  public mutating func closeAll() {
    for connection in connections.indices where connections.isOccupied(connection) {
      close(
        connection, connections[connection].purpose == .echo ? .goingAway : .drain,
        "the gateway restarts", by: .shutdown)
    }
  }

  /// Removes the connection of a closed socket. Returns its last state, for the journal.
  public mutating func release(_ connection: ConnectionIndex) -> ConnectionReport? {
    guard connections.isOccupied(connection) else { return nil }
    leaveEverything(connection)
    connections.dropOutbox(connection)
    var last = report(connection)
    last.ending = last.ending ?? .lost
    _ = connections.remove(connection)
    return last
  }

  private mutating func leaveEverything(_ connection: ConnectionIndex) {
    if connections[connection].followed == nil {
      connections[connection].followed = connections[connection].followed(in: sessions)
    }
    while let subscription = connections[connection].subscriptions.indices.last {
      leave(connection, subscription)
    }
    inbox.stopWatching(connection, &connections, &effects)
  }
}
