/// What the loops and the thread that shows progress have in common: two flags and a few numbers.
import Primitives
import Synchronization

final class Shared: Sendable {
  struct Snapshot: Sendable {
    var phase = Phase.connecting
    var clients = 0
    var online = 0
    var made = 0
    var sent = 0
    var acked = 0
    var delivered = 0
    var unsettled = 0
    var violations = 0
    /// Milliseconds, of the acks since the last snapshot.
    var ackP99: Double?
  }

  enum Phase: Int, Sendable {
    case connecting, loading, draining, closing

    var name: String {
      switch self {
      case .connecting: "connecting"
      case .loading: "loading"
      case .draining: "draining"
      case .closing: "closing"
      }
    }
  }

  /// Set to end the load early; what is in flight is still awaited.
  let stop = Atomic(false)
  /// How many loops are ready: the load begins when all are.
  let ready = Atomic(0)
  let finished = Atomic(0)
  let loopCount: Int
  private let snapshots: Mutex<[Snapshot]>

  init(loops: Int) {
    loopCount = loops
    snapshots = Mutex(Array(repeating: Snapshot(), count: loops))
  }

  func publish(_ snapshot: Snapshot, loop: Int) {
    snapshots.withLock { $0[loop] = snapshot }
  }

  /// All loops together; the phase is the slowest one's, the p99 the worst.
  func total() -> Snapshot {
    snapshots.withLock { all in
      var sum = Snapshot(phase: .closing)
      for one in all {
        if one.phase.rawValue < sum.phase.rawValue { sum.phase = one.phase }
        sum.clients += one.clients
        sum.online += one.online
        sum.made += one.made
        sum.sent += one.sent
        sum.acked += one.acked
        sum.delivered += one.delivered
        sum.unsettled += one.unsettled
        sum.violations += one.violations
        if let p99 = one.ackP99 { sum.ackP99 = max(p99, sum.ackP99 ?? 0) }
      }
      return sum
    }
  }
}
