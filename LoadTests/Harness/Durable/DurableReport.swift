/// The result of `durable`: all rounds, the ratios over them, and the record.
import Foundation
import Postgres
import Primitives

struct DurableRound: CustomStringConvertible {
  /// Acknowledged messages per second through the gateway at saturation, and their latencies.
  var gateway = 0.0
  var saturated = Report.Latency(Latencies().ack)
  var batchRows = 0.0
  var batchSessions = 0.0
  var gatewayUse = PerMessage()
  /// The generator's thread, as a share of a core.
  var generatorLoad = 0.0
  /// Share of the fills that the senders' rate limits left incomplete.
  var starved = 0.0
  /// Rows per second without a gateway.
  var direct = 0.0
  /// Messages per second by kind of peer.
  var peers: [String: Double] = [:]
  /// Half of the gateway's rate, with exponential gaps.
  var half = 0.0
  var halfAck = Report.Latency(Latencies().ack)
  var halfBatchRows = 0.0
  var halfUse = PerMessage()
  var halfGeneratorLoad = 0.0

  func over(_ kind: PeerDriver.Kind) -> Double { gateway / max(1, peers[kind.rawValue] ?? 0) }
  var overDirect: Double { gateway / max(1, direct) }

  var description: String {
    let peers = PeerDriver.Kind.allCases.map { kind in
      "\(kind.rawValue) \(Int(self.peers[kind.rawValue] ?? 0))/s"
    }
    return "gateway \(Int(gateway))/s in batches of \(one(batchRows)) rows, "
      + "\(one(batchSessions)) sessions; direct \(Int(direct))/s; "
      + peers.joined(separator: ", ")
      + "; at \(Int(half))/s ack p99 \(one(halfAck.p99)) ms"
  }
}

/// The median of the rounds, with the smallest and the largest value.
struct Spread: CustomStringConvertible {
  var median = 0.0
  var min = 0.0
  var max = 0.0

  init(_ values: [Double]) {
    let sorted = values.sorted()
    guard let first = sorted.first, let last = sorted.last else { return }
    let middle = sorted.count / 2
    median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    (min, max) = (first, last)
  }

  var description: String { "\(two(median)) (\(two(min)) to \(two(max)))" }
}

struct DurableReport {
  var machine: String
  var loops: Int
  var senders: Int
  var window: Int
  var pipeline: Int
  var bodyBytes: Int
  var rounds: [DurableRound] = []
  var ratios: [String: Spread] = [:]
  var verifiedRows = 0
  var refusals: [String: Int] = [:]
  /// Broken promises, and reasons why the run could not measure.
  var problems: [String] = []
  var missed: [String] = []
  /// Broken promises by kind.
  private(set) var violations: [String: Int] = [:]

  init(
    machine: String, loops: Int, senders: Int, window: Int, pipeline: Int, bodyBytes: Int
  ) {
    self.machine = machine
    self.loops = loops
    self.senders = senders
    self.window = window
    self.pipeline = pipeline
    self.bodyBytes = bodyBytes
  }

  private func spread(_ value: (DurableRound) -> Double) -> Spread { Spread(rounds.map(value)) }

  // MARK: The verdict

  /// Verifies that every acknowledged message is in the database once, and nothing else.
  mutating func verify(
    _ crowd: SenderPool, _ direct: DirectDriver, _ peers: PeerDriver, _ local: LocalGateway
  ) throws {
    let made = crowd.senders.map(\.made)
    crowd.ledger.close(stamp: crowd.stamp) { made[$0] }
    for (number, sender) in crowd.senders.enumerated() where !sender.flying.isEmpty {
      problems.append("sender \(number): \(sender.flying.count) messages were never answered")
    }
    var audit = Audit(stamp: crowd.stamp, bodies: crowd.bodies)
    try audit.run(crowd.ledger.logs, on: BlockingConnection(local.database))
    var found = crowd.ledger.violations
    found.add(audit.violations)
    problems += crowd.problems + found.examples
    violations = found.byName
    refusals = crowd.refusals
    verifiedRows = audit.rowCount
    let acked = crowd.ledger.logs.reduce(0) { $0 + $1.slots.count { $0.acked } }
    if acked != verifiedRows { problems.append("\(acked) acks, \(verifiedRows) rows") }
    for (name, told, found) in [
      ("direct", direct.stored, try direct.verify()), ("peers", peers.stored, try peers.verify()),
    ] where found.rows != told || found.holes > 0 {
      problems.append("\(name): \(told) told, \(found.rows) rows, \(found.holes) holes")
    }
  }

  mutating func judge(direct: Double, insert: Double, ackMilliseconds: Double) {
    ratios["gateway_over_direct"] = spread(\.overDirect)
    for kind in PeerDriver.Kind.allCases {
      ratios["gateway_over_\(kind.rawValue)"] = spread { $0.over(kind) }
    }
    let overDirect = spread(\.overDirect).median
    let overInsert = spread { $0.over(.insert) }.median
    let p99 = spread(\.halfAck.p99).median
    if overDirect < direct { missed.append("gateway / direct \(two(overDirect)) < \(two(direct))") }
    if overInsert < insert { missed.append("gateway / insert \(two(overInsert)) < \(two(insert))") }
    if ackMilliseconds > 0, p99 >= ackMilliseconds {
      missed.append("ack p99 at half load \(two(p99)) ms ≥ \(two(ackMilliseconds)) ms")
    }
  }
}

extension DurableReport {
  func fill(_ record: inout RunRecord) {
    record.problems = problems
    record.verdict = problems.isEmpty ? .passed : .failed
    record.add(setup: "Senders", "\(Format.count(senders)), each with its own session")
    record.add(setup: "In flight", "\(Format.count(window)), up to \(pipeline) of a sender at once")
    record.add(setup: "Bodies", "\(bodyBytes) bytes")
    record.add(setup: "Rounds", "\(rounds.count), all phases in turns")
    record.set("acked_per_second", rounded(spread(\.gateway).median))
    record.set("half_acked_per_second", rounded(spread(\.half).median))
    record.set("direct_per_second", rounded(spread(\.direct).median))
    record.set("batch_messages", rounded(spread(\.batchRows).median))
    record.set("rows_compared", verifiedRows)
    record.set("refused", refusals.values.reduce(0, +))
    record.set("generator_cores", rounded(spread(\.generatorLoad).median))
    record.set("gateway_cpu_us_per_message", rounded(spread(\.gatewayUse.gateway).median))
    record.set("postgres_cpu_us_per_message", rounded(spread(\.gatewayUse.postgres).median))
    record.set("generator_cpu_us_per_message", rounded(spread(\.gatewayUse.generator).median))
    let latencies: [(String, (DurableRound) -> Report.Latency)] = [
      ("ack", { $0.saturated }), ("half_ack", { $0.halfAck }),
    ]
    for (name, latency) in latencies {
      record.set("\(name)_p50_ms", rounded(spread { latency($0).p50 }.median))
      record.set("\(name)_p99_ms", rounded(spread { latency($0).p99 }.median))
      record.set("\(name)_p999_ms", rounded(spread { latency($0).p999 }.median))
      record.set("\(name)_max_ms", rounded(spread { latency($0).max }.max))
    }
    record.add(violations)
    record.rounds = rounds.map(\.figures)
    record.comparisons = comparisons
    for comparison in ratios { record.set(comparison.key, rounded(comparison.value.median)) }
    record.outcomes = refusals.isEmpty ? [:] : ["refusals": refusals]
  }

  /// Empty with `--gateway-only`.
  private var comparisons: [RunRecord.Comparison] {
    func compare(_ peer: String, _ theirs: Spread, _ ratio: Spread) -> RunRecord.Comparison {
      .init(
        label: "Messages a second, against \(peer)", unit: "/s",
        ours: rounded(spread(\.gateway).median), theirs: rounded(theirs.median), peer: peer,
        ratio: rounded(ratio.median), ratioMin: rounded(ratio.min), ratioMax: rounded(ratio.max),
        isLessBetter: false)
    }
    guard spread(\.direct).median > 0 else { return [] }
    return [compare("direct", spread(\.direct), spread(\.overDirect))]
      + PeerDriver.Kind.allCases.map { kind in
        compare(
          kind.rawValue.replacing("_", with: " "), spread { $0.peers[kind.rawValue] ?? 0 },
          spread { $0.over(kind) })
      }
  }
}

extension DurableRound {
  var figures: [String: Double] {
    [
      "acked_per_second": gateway, "batch_messages": batchRows, "direct_per_second": direct,
      "half_acked_per_second": half, "half_ack_p50_ms": halfAck.p50, "half_ack_p99_ms": halfAck.p99,
      "half_ack_p999_ms": halfAck.p999, "ack_p50_ms": saturated.p50, "ack_p99_ms": saturated.p99,
      "gateway_cpu_us_per_message": gatewayUse.gateway,
      "postgres_cpu_us_per_message": gatewayUse.postgres,
      "generator_cpu_us_per_message": gatewayUse.generator, "generator_cores": generatorLoad,
    ].merging(peers.map { ("\($0.key)_per_second", $0.value) }) { first, _ in first }
      .mapValues { rounded($0) }
  }
}

extension DurableReport: CustomStringConvertible {
  var description: String {
    func use(_ use: (DurableRound) -> PerMessage) -> String {
      "gateway \(one(spread { use($0).gateway }.median)), "
        + "PostgreSQL \(one(spread { use($0).postgres }.median)), "
        + "generator \(one(spread { use($0).generator }.median)) µs a message"
    }
    var lines = [
      "medians of \(rounds.count) rounds (smallest to largest)",
      "gateway           \(spread(\.gateway)) acked/s at saturation, batches of "
        + "\(one(spread(\.batchRows).median)) rows in \(one(spread(\.batchSessions).median)) "
        + "sessions; ack p50 \(one(spread(\.saturated.p50).median)) ms",
      "  processor       \(use(\.gatewayUse)); generator's thread "
        + "\(Int(spread(\.generatorLoad).median * 100)) % of a core; window not full "
        + "\(Int(spread(\.starved).median * 100)) % of the time",
      "direct            \(spread(\.direct)) rows/s over \(loops) connections",
      "  gateway / it    \(spread(\.overDirect))",
    ]
    for kind in PeerDriver.Kind.allCases {
      let name = kind.rawValue.padding(toLength: 18, withPad: " ", startingAt: 0)
      lines.append(
        "\(name)\(spread { $0.peers[kind.rawValue] ?? 0 }) messages/s over "
          + "\(kind.connections) connections")
      lines.append("  gateway / it    \(spread { $0.over(kind) })")
    }
    lines += [
      "half load         \(spread(\.half)) messages/s, poisson, batches of "
        + "\(one(spread(\.halfBatchRows).median)) rows",
      "  ack ms          p50 \(spread(\.halfAck.p50)), p99 \(spread(\.halfAck.p99)), "
        + "p99.9 \(spread(\.halfAck.p999)), max \(spread(\.halfAck.max).max)",
      "  processor       \(use(\.halfUse)); generator's thread "
        + "\(Int(spread(\.halfGeneratorLoad).median * 100)) % of a core",
      "senders           \(senders), window \(window), \(pipeline) at once, \(bodyBytes) bytes",
      "database          \(verifiedRows) acknowledged rows compared",
      "machine           \(machine)",
    ]
    if !refusals.isEmpty { lines.append("refused           \(refusals)") }
    lines += problems.map { "problem           \($0)" }
    lines += missed.map { "missed            \($0)" }
    lines.append(problems.isEmpty ? missed.isEmpty ? "PASS" : "MISSED" : "FAIL")
    return lines.joined(separator: "\n")
  }
}

private func one(_ value: Double) -> String { String(format: "%.1f", value) }
private func two(_ value: Double) -> String {
  value >= 1000 ? String(Int(value)) : String(format: "%.2f", value)
}
