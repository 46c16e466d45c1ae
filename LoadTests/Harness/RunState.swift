/// State shared by the loops and the progress thread.
import Primitives
import Synchronization

final class RunState: Sendable {
  struct Snapshot: Sendable, Codable {
    var phase = Phase.connecting
    var clients = 0
    var online = 0
    var made = 0
    var sent = 0
    var acked = 0
    var delivered = 0
    var unsettled = 0
    var reconnects = 0
    var violations: [Violations.Kind: Int] = [:]
    /// Heartbeats answered, where they are counted (`million`).
    var pongs = 0
  }

  enum Phase: Int, Sendable, Codable {
    case connecting, warmingUp, loading, draining, closing

    var name: String {
      switch self {
      case .connecting: "connecting"
      case .warmingUp: "warming up"
      case .loading: "loading"
      case .draining: "draining"
      case .closing: "closing"
      }
    }
  }

  /// Ends the load early; messages in flight are still awaited.
  let stop = Atomic(false)
  let finished = Atomic(0)
  let loopCount: Int
  /// Latencies of the current second.
  let intervals = Intervals()
  /// Arrivals of loops at common steps, and the moments of the steps.
  private let arrivals = Atomic(0)
  private let steps = Mutex<[Instant]>([])
  private let snapshots: Mutex<[Snapshot]>

  init(loops: Int) {
    loopCount = loops
    snapshots = Mutex(Array(repeating: Snapshot(), count: loops))
  }

  // MARK: Steps that all loops take at one moment

  /// A loop has reached its next step. The process that coordinates all loops calls `take`.
  func arrive() { arrivals.add(1, ordering: .sequentiallyConsistent) }

  /// The number of steps that all loops have reached.
  var stepsReached: Int { arrivals.load(ordering: .sequentiallyConsistent) / loopCount }

  /// Sets the moment of the next step.
  func take(at moment: Instant) { steps.withLock { $0.append(moment) } }

  /// The moment of a step; nil while it is not set.
  func moment(of step: Int) -> Instant? {
    steps.withLock { step < $0.count ? $0[step] : nil }
  }

  func publish(_ snapshot: Snapshot, loop: Int) {
    snapshots.withLock { $0[loop] = snapshot }
  }

  /// The sum of all loops; the phase is that of the slowest loop.
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
        sum.reconnects += one.reconnects
        sum.violations.merge(one.violations, uniquingKeysWith: +)
        sum.pongs += one.pongs
      }
      return sum
    }
  }
}
