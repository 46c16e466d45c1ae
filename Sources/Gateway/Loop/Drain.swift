import Primitives

/// The end of a loop. SIGTERM: stop accepting, ask the clients to reconnect at a random moment, say
/// goodbye to those who stayed, commit what was taken, end. Nothing that was acked can be lost
/// here; what was not committed is sent again by its sender.
struct Drain {
  private(set) var isDraining = false
  private(set) var isOver = false
  /// When everybody who is left gets a close frame, and when the loop ends whatever is left.
  private var closeAt = Instant.never
  private var endAt = Instant.never
  private var hasClosed = false

  /// - Returns: false when it had begun already.
  mutating func begin(_ milliseconds: Int64, now: Instant) -> Bool {
    guard !isDraining else { return false }
    isDraining = true
    // The goodbye leaves time for the close handshake and the last batch.
    closeAt = now.advanced(byMilliseconds: milliseconds * 6 / 10)
    endAt = now.advanced(byMilliseconds: milliseconds)
    return true
  }

  /// Whether all connections are to be closed now: true once.
  mutating func isCloseDue(now: Instant) -> Bool {
    guard isDraining, now >= closeAt, !hasClosed else { return false }
    hasClosed = true
    return true
  }

  /// - Parameter isIdle: nobody is connected, and everything is stored.
  mutating func endIfDue(isIdle: Bool, now: Instant) {
    if isDraining, isIdle || now >= endAt { isOver = true }
  }

  /// Ends at once, without a drain.
  mutating func stop() { isOver = true }
}
