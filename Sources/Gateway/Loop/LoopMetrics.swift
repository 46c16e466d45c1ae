import Chat
import Engine
import Primitives
import Synchronization

/// What one loop counts and measures, for `/metrics` and `/readyz`.
struct LoopMetrics: Sendable {
  var isStoreReady = false
  var isDraining = false
  var hasEnded = false
  var sockets = 0
  var connections = 0
  var sessions = 0
  var iterations: UInt64 = 0
  var turns = TurnMeter()
  var accepted: UInt64 = 0
  var handshakes = HandshakeCounts()
  /// Faults of sockets that are not WebSockets yet; the engine counts the others.
  var faults = FaultCounts()
  var httpRequests: UInt64 = 0
  var bytesReceived: UInt64 = 0
  var bytesSent: UInt64 = 0
  var closed: [UInt16: UInt64] = [:]
  var queuedRecords = 0
  /// Of messages in memory.
  var recentBytes = 0
  var quarantine = QuarantineCounts()
  var engine = Counters()

  /// TLS handshakes of this loop.
  struct HandshakeCounts {
    /// Started and not ended.
    var underWay = 0
    /// With a complete ClientHello, waiting to be started.
    var waiting = 0
    var completed: UInt64 = 0
  }

  /// Messages that PostgreSQL refused.
  struct QuarantineCounts {
    var stored: UInt64 = 0
    /// Not stored: the quarantine had no room, or PostgreSQL did not answer.
    var dropped: UInt64 = 0
  }
}

/// The metrics of all loops, published by each of them twice a second, so that any loop can serve
/// `/metrics` and `/readyz`.
final class MetricsRegistry: Sendable {
  private let metrics: Mutex<[LoopMetrics]>

  init(loopCount: Int) { metrics = Mutex(Array(repeating: LoopMetrics(), count: loopCount)) }

  func publish(_ new: LoopMetrics, loop: Int) { metrics.withLock { $0[loop] = new } }

  func read() -> [LoopMetrics] { metrics.withLock { $0 } }

  /// Every loop has ended.
  var hasEnded: Bool { read().allSatisfy { $0.hasEnded } }

  /// `/readyz`: whether this gateway may take traffic, and if not, why.
  func readiness() -> (isReady: Bool, json: String) {
    let all = read()
    if all.contains(where: { $0.isDraining }) {
      return (false, #"{"ready":false,"reason":"draining"}"#)
    }
    guard all.allSatisfy({ $0.isStoreReady }) else {
      return (false, #"{"ready":false,"reason":"PostgreSQL does not answer"}"#)
    }
    return (true, #"{"ready":true}"#)
  }
}
