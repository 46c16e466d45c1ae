import Engine
import Kernel
import Logging
import Primitives

/// The end of a loop. SIGTERM: stop accepting, ask the clients to reconnect at a random moment, say
/// goodbye to those who stayed, commit what was taken, end. Nothing that was acked can be lost
/// here; what was not committed is sent again by its sender.
struct Drain {
  var isDraining = false
  var isOver = false
  var areListenersPaused = false
  /// The shortage that paused them was logged; it is told again when it returns after this.
  var exhaustionLoggedUntil = Instant.zero
  /// When everybody who is left is told goodbye, and when the loop ends whatever is left.
  var closeAt = Instant.never
  var endAt = Instant.never
  var hasClosed = false
}

extension EventLoop {
  mutating func beginDrain(_ milliseconds: Int64) {
    guard !drain.isDraining else { return }
    drain.isDraining = true
    drain.areListenersPaused = false
    for listener in listeners {
      try? epoll.remove(rawValue: listener.rawDescriptor)
    }
    listeners = []
    // The goodbye leaves time for the close handshake and the last batch.
    drain.closeAt = now.advanced(byMilliseconds: milliseconds * 6 / 10)
    drain.endAt = now.advanced(byMilliseconds: milliseconds)
    engine.connections.announceDrain(windowMilliseconds: milliseconds / 2)
    postMetrics()
    nextSweep = now
  }

  mutating func advanceDrain() {
    guard drain.isDraining, !drain.isOver else { return }
    if now >= drain.closeAt && !drain.hasClosed {
      drain.hasClosed = true
      engine.closeAll()
    }
    let unstored = engine.queuedRecords + store.batch.recordCount
    let isIdle = engine.connections.count == 0 && unstored == 0
    guard isIdle || now >= drain.endAt else { return }
    drain.isOver = true
    guard unstored > 0 else { return }
    logger.warning(
      """
      \(unstored) messages are not stored: PostgreSQL did not answer in time; none of them was \
      acknowledged, and their senders send them again
      """)
  }
}
