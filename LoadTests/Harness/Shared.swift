/// What the loops and the thread that shows progress have in common: two flags and a few numbers.
import Primitives
import Synchronization

final class Shared: Sendable {
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
  }

  enum Phase: Int, Sendable, Codable {
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
  let finished = Atomic(0)
  let loopCount: Int
  /// The latencies of this second.
  let intervals = Intervals()
  /// How often loops have come to a step which all of them take at once, and how many steps may be
  /// taken.
  private let arrivals = Atomic(0)
  private let steps = Mutex<[Instant]>([])
  private let snapshots: Mutex<[Snapshot]>

  init(loops: Int) {
    loopCount = loops
    snapshots = Mutex(Array(repeating: Snapshot(), count: loops))
  }

  // MARK: steps that all loops take at one moment

  /// A loop is as far as its next step. Whoever knows of all loops calls `take`.
  func arrive() { arrivals.add(1, ordering: .sequentiallyConsistent) }

  /// Steps at which all loops have arrived.
  var stepsReached: Int { arrivals.load(ordering: .sequentiallyConsistent) / loopCount }

  /// The next step is taken at the moment.
  func take(at moment: Instant) { steps.withLock { $0.append(moment) } }

  /// When the step is taken; nil while it is not known.
  func moment(of step: Int) -> Instant? {
    steps.withLock { step < $0.count ? $0[step] : nil }
  }

  func publish(_ snapshot: Snapshot, loop: Int) {
    snapshots.withLock { $0[loop] = snapshot }
  }

  /// All loops together; the phase is the slowest one's.
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
      }
      return sum
    }
  }
}
