import Chat
import Engine
import Journal
import Primitives
import Synchronization

/// Counters and measurements of one loop, for `/metrics` and `/readyz`.
struct LoopMetrics: Sendable {
  var isStoreReady = false
  /// Of the two connections to PostgreSQL.
  var isWriterReady = false
  var isReaderReady = false
  var isDraining = false
  var hasEnded = false
  var sockets = 0
  var connections = 0
  var sessions = 0
  var iterations: UInt64 = 0
  var turns = TurnMeter()
  var accepted: UInt64 = 0
  var handshakes = HandshakeCounts()
  /// Faults of sockets before the upgrade; the engine counts those of WebSockets.
  var faults = FaultCounts()
  var httpRequests: UInt64 = 0
  var bytesReceived: UInt64 = 0
  var bytesSent: UInt64 = 0
  /// Closed WebSockets by close code (RFC 6455 §7.4); 1006 without a close frame.
  var closed: [UInt16: UInt64] = [:]
  /// Messages that wait for their batch.
  var queuedRecords = 0
  /// The age in nanoseconds of the oldest message without an outcome.
  var oldestRecord: Int64 = 0
  /// Queries to PostgreSQL without an answer.
  var queriesPending = 0
  /// Bytes of recent messages in memory.
  var recentBytes = 0
  var quarantine = QuarantineCounts()
  /// Of the batches whose numbers the loop brought.
  var fences = FenceCounts()
  var engine = Counters()
  var durations = Durations()

  /// The engine has those in the queue (`Counters.queueTimes`), and `turns` those of turns.
  struct Durations {
    /// From the submission of a batch to its outcome, once for each of its messages.
    var commit = DurationHistogram()
    /// From the outcome of a message until its loop has written what follows from it: the
    /// acknowledgement, copies to subscribers, and mail to other loops.
    var delivery = DurationHistogram()
    var undelivered = OpenDurations()
    /// As `commit`, once for each batch.
    var batch = DurationHistogram()
    var statements = StatementDurations()
    /// From the accept to the end of the handshake.
    var handshake = DurationHistogram()
    var requests = RequestDurations()
  }
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

  /// Whether every loop has ended.
  var hasEnded: Bool { read().allSatisfy { $0.hasEnded } }

  /// The state for `/readyz`: whether this gateway accepts traffic, and if not, why.
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
