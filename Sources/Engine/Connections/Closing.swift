import Chat
import Primitives
import Wire

/// The WebSocket side of closing a connection (RFC 6455 §7). `Engine` ends its subscriptions.
extension ConnectionTable {
  /// Sends a close frame and waits for the peer's, at most `Limits.closeTimeoutMilliseconds`.
  /// Returns false when the connection is closing already.
  mutating func beginClosing(
    _ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString,
    by side: Ending.Side, now: Instant
  ) -> Bool {
    guard self[connection].phase != .closing, self[connection].phase != .finished else {
      return false
    }
    FrameEncoder.appendClose(code, reason: reason, to: &self[outbox: connection])
    self[connection].ending = Ending(code: code, reason: reason.description, side: side)
    self[connection].phase = .closing
    self[connection].closeDeadline = now.advanced(
      byMilliseconds: Limits.closeTimeoutMilliseconds)
    setPaused(connection, false)
    markDirty(connection)
    return true
  }

  /// §7.1.7: input after a protocol fault is ignored, so the peer's close frame is not awaited.
  /// Returns false when the connection has ended already.
  mutating func fail(
    _ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString
  ) -> Bool {
    guard self[connection].phase != .finished else { return false }
    if self[connection].phase != .closing {
      FrameEncoder.appendClose(code, reason: reason, to: &self[outbox: connection])
      self[connection].ending = Ending(code: code, reason: reason.description, side: .gateway)
    }
    self[connection].decoder.finish()
    self[connection].phase = .finished
    setPaused(connection, false)
    markDirty(connection)
    return true
  }

  /// §5.5.1: a close frame is answered with the same code, and the server closes the connection.
  mutating func answerClose(_ connection: ConnectionIndex, _ code: CloseCode?) {
    if self[connection].phase != .closing {
      self[connection].ending = .byPeer(code)
      FrameEncoder.appendClose(code ?? .normal, to: &self[outbox: connection])
    }
    self[connection].phase = .finished
    markDirty(connection)
  }

  /// §5.5.2: a ping is answered with its own payload. While the answers wait for a full socket, the
  /// connection is not read (faults F27).
  mutating func answerPing(_ connection: ConnectionIndex, _ payload: RawSpan) {
    guard self[connection].phase != .closing, self[connection].phase != .finished else { return }
    FrameEncoder.appendFrame(.pong, payload: payload, to: &self[outbox: connection])
    markDirty(connection)
  }
}
