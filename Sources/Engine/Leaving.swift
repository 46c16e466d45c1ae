import Chat
import Primitives
public import Wire

/// The end of a connection: it leaves everything that it follows.
extension Engine {
  /// Sends a close frame and waits for the peer's.
  mutating func close(_ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString) {
    guard connections.beginClosing(connection, code, reason, now: now) else { return }
    if code.isFault { counts.faults.count(.conversation, reason) }
    leaveEverything(connection)
  }

  /// Ends a connection whose peer broke the protocol.
  mutating func fail(
    _ connection: ConnectionIndex, _ stage: FaultCounts.Stage, _ code: CloseCode,
    _ reason: StaticString
  ) {
    guard connections.fail(connection, code, reason) else { return }
    counts.faults.count(stage, reason)
    leaveEverything(connection)
  }

  /// Ends a connection whose login has ended, or whose visitor is blocked. Unread output is
  /// dropped; half a frame may be in the way of a close frame then.
  public mutating func revoke(_ connection: ConnectionIndex, _ reason: TokenRefusal) {
    guard connections.isOccupied(connection) else { return }
    if connections[connection].isBlocked {
      connections.dropOutbox(connection)
      connections[connection].closeCode = reason.closeCode
      leaveEverything(connection)
      connections.doom(connection)
      return
    }
    guard connections.isOpen(connection) else { return }
    connections.refuse(connection, .none, reason.refusal, sentence: reason.sentence)
    close(connection, reason.closeCode, reason.reason)
  }

  /// Closes every connection: the gateway stops.
  public mutating func closeAll() {
    for connection in connections.indices where connections.isOccupied(connection) {
      close(
        connection, connections[connection].purpose == .echo ? .goingAway : .drain,
        "the gateway restarts")
    }
  }

  /// Removes the connection of a closed socket and returns the close code for the log.
  public mutating func release(_ connection: ConnectionIndex) -> CloseCode? {
    guard connections.isOccupied(connection) else { return nil }
    leaveEverything(connection)
    connections.dropOutbox(connection)
    let gone = connections.remove(connection)
    return gone.closeCode
  }

  private mutating func leaveEverything(_ connection: ConnectionIndex) {
    while !connections[connection].subscriptions.isEmpty {
      leave(connection, connections[connection].subscriptions.count - 1)
    }
    inbox.stopWatching(connection, &connections, &effects)
  }
}
