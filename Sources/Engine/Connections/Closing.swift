import Chat
import Primitives
import Wire

/// The WebSocket side of a connection's end (RFC 6455 §7). The engine takes the connection out of
/// everything that it follows.
extension ConnectionTable {
  /// Sends a close frame; the peer's is awaited, at most `Limits.closeTimeoutMilliseconds`. False
  /// when the connection is closing already.
  mutating func beginClosing(
    _ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString, now: Instant
  ) -> Bool {
    guard self[connection].phase != .closing, self[connection].phase != .finished else {
      return false
    }
    FrameEncoder.appendClose(code, reason: reason, to: &self[outbox: connection])
    self[connection].closeCode = code
    self[connection].phase = .closing
    self[connection].closeDeadline = now.advanced(
      byMilliseconds: Limits.closeTimeoutMilliseconds)
    setPaused(connection, false)
    markDirty(connection)
    return true
  }

  /// §7.1.7: after a fault nothing the peer sends counts any more, so its close frame is not
  /// awaited. False when the connection has ended already.
  mutating func fail(
    _ connection: ConnectionIndex, _ code: CloseCode, _ reason: StaticString
  ) -> Bool {
    guard self[connection].phase != .finished else { return false }
    if self[connection].phase != .closing {
      FrameEncoder.appendClose(code, reason: reason, to: &self[outbox: connection])
      self[connection].closeCode = code
    }
    self[connection].decoder.finish()
    self[connection].phase = .finished
    setPaused(connection, false)
    markDirty(connection)
    return true
  }

  /// §5.5.1: the peer's close frame is answered with the same code; the server then closes the
  /// connection.
  mutating func answerClose(_ connection: ConnectionIndex, _ code: CloseCode?) {
    if self[connection].phase != .closing {
      self[connection].closeCode = code ?? .noStatus
      FrameEncoder.appendClose(code ?? .normal, to: &self[outbox: connection])
    }
    self[connection].phase = .finished
    markDirty(connection)
  }

  /// §5.5.2: a ping is answered with its own payload. A peer that sends pings and reads nothing is
  /// not read either while its answers wait (faults F27).
  mutating func answerPing(_ connection: ConnectionIndex, _ payload: RawSpan) {
    guard self[connection].phase != .closing, self[connection].phase != .finished else { return }
    FrameEncoder.appendFrame(.pong, payload: payload, to: &self[outbox: connection])
    markDirty(connection)
  }
}
