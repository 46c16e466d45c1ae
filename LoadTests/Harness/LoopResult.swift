/// The result of a loop, and the merge of several loops' and processes' results. Counters are added
/// and histograms merged, so that a percentile is that of all clients together.
import Histogram
import Primitives

struct LoopResult: Sendable, Codable {
  var counters = Counters()
  var violations = Violations()
  var latencies = Latencies()
  /// Not encoded: each process compares its own sessions with the database.
  var logs: [Ledger.Log] = []
  var audit: Audited?
  /// Messages without an answer at the end.
  var unsettled = 0
  /// Messages of this run that every subscriber of their session received.
  var shownToAll = 0
  /// Whether all clients connected and subscribed at the start.
  var didSettle = true
  var loadNanoseconds: Int64 = 0
  /// From the start of the load to its end, or to the last ack or delivery if that came later.
  var activeNanoseconds: Int64 = 0
  /// Processor time of the busiest loop during the load.
  var busyNanoseconds: Int64 = 0
  var phases: [LoopPhase] = []
  var problems: [String] = []

  struct Audited: Sendable, Codable {
    var rows = 0
    /// The rows whose ids this run made.
    var ownRows = 0
    var sessions = 0
  }

  private enum CodingKeys: CodingKey {
    case counters, violations, latencies, audit, unsettled, shownToAll, didSettle
    case loadNanoseconds, activeNanoseconds, busyNanoseconds, phases, problems
  }

  /// Share of a core, 0 to 1.
  var load: Double {
    loadNanoseconds > 0 ? Double(busyNanoseconds) / Double(loadNanoseconds) : 0
  }

  var problem: String? {
    didSettle ? nil : "not all clients could connect and subscribe: \(counters.closes)"
  }

  mutating func add(_ other: LoopResult) {
    counters.add(other.counters)
    violations.add(other.violations)
    latencies.add(other.latencies)
    logs += other.logs
    if let more = other.audit {
      let known = audit ?? Audited()
      audit = Audited(
        rows: known.rows + more.rows, ownRows: known.ownRows + more.ownRows,
        sessions: known.sessions + more.sessions)
    }
    unsettled += other.unsettled
    shownToAll += other.shownToAll
    if let problem = other.problem { problems.append(problem) }
    problems += other.problems
    if other.load > load {
      (busyNanoseconds, loadNanoseconds) = (other.busyNanoseconds, other.loadNanoseconds)
    }
    activeNanoseconds = max(activeNanoseconds, other.activeNanoseconds)
    for (index, phase) in other.phases.enumerated() {
      if index < phases.count { phases[index].add(phase) } else { phases.append(phase) }
    }
  }

  static func merged(_ all: [LoopResult]) -> LoopResult {
    var sum = LoopResult()
    for one in all { sum.add(one) }
    return sum
  }
}

/// The figures of one phase of a run.
struct LoopPhase: Sendable, Codable {
  var made = 0
  var acked = 0
  var delivered = 0
  var latencies = Latencies()
  /// Processor time of all loops together.
  var busyNanoseconds: Int64 = 0
  /// From the cut of each client's connection until it is live again.
  var recovery = Latencies.empty

  mutating func add(_ other: LoopPhase) {
    made += other.made
    acked += other.acked
    delivered += other.delivered
    busyNanoseconds += other.busyNanoseconds
    latencies.add(other.latencies)
    recovery.add(other.recovery)
  }
}

/// Times until each client is live again after a simultaneous cut.
struct Recovery {
  let began: Instant
  private var isBack: [Bool]
  private(set) var missing: Int
  private(set) var times = Latencies.empty

  init(at moment: Instant, clients: Int) {
    began = moment
    isBack = Array(repeating: false, count: clients)
    missing = clients
  }

  mutating func cameBack(_ client: Int, at now: Instant) {
    guard !isBack[client] else { return }
    isBack[client] = true
    missing -= 1
    times.record(Latencies.microseconds(from: began, to: now))
  }
}
