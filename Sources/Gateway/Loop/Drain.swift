import Primitives

/// The end of a loop after SIGTERM: it stops accepting, asks its clients to reconnect at a random
/// moment, closes the remaining connections, commits the queued messages and ends. No acknowledged
/// message can be lost here; the sender sends an uncommitted one again.
struct Drain {
  private(set) var isDraining = false
  private(set) var isOver = false
  /// When the remaining connections get a close frame.
  private var closeAt = Instant.never
  /// When the loop ends even if it is not idle.
  private var endAt = Instant.never
  private var hasClosed = false

  /// - Returns: false if it had begun before.
  mutating func begin(_ milliseconds: Int64, now: Instant) -> Bool {
    guard !isDraining else { return false }
    isDraining = true
    // The rest is for close handshakes and the last batch.
    closeAt = now.advanced(byMilliseconds: milliseconds * 6 / 10)
    endAt = now.advanced(byMilliseconds: milliseconds)
    return true
  }

  /// - Returns: whether all connections are to be closed now: true once.
  mutating func isCloseDue(now: Instant) -> Bool {
    guard isDraining, now >= closeAt, !hasClosed else { return false }
    hasClosed = true
    return true
  }

  /// - Parameter isIdle: there is no connection and no message to be stored.
  mutating func endIfDue(isIdle: Bool, now: Instant) {
    if isDraining, isIdle || now >= endAt { isOver = true }
  }

  /// Ends the loop at once.
  mutating func stop() { isOver = true }
}
