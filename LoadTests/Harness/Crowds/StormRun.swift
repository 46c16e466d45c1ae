/// Runs a storm: calm, the cut, the return, and the gateway's processor time.
import EmbeddedPostgres
import Foundation
import Histogram
import Kernel
import Primitives

final class StormRun {
  private let options: Storm
  private let stage: StormServers
  private var rounds: [Round] = []

  private struct Round {
    var gatewayMicroseconds: Double?
    var steady = Latencies.empty
  }

  private static let steadyVisitors = 64

  init(_ options: Storm) throws {
    self.options = options
    stage = try StormServers(options)
  }

  func measure() throws -> CrowdRecord {
    defer { stage.close() }
    let target = try stage.target()
    // A few more credentials: the steady connections need their own.
    let credentials = try options.credentials.gather(
      visitors: options.visitors + options.steady, operators: options.operators,
      database: stage.databaseURL)
    let visitors = credentials.filter { $0.kind == .visitor }
    let operators = credentials.filter { $0.kind == .operator_ }
    let groups = split(Array(visitors.prefix(options.visitors)) + operators)
    let connections = groups.reduce(0) { $0 + $1.members.count }
    var works = options.workers.works(
      groups.count, plan: plan(target, connections), course: course, connections: connections,
      database: try stage.databaseURL ?? options.credentials.database())
    for index in groups.indices { works[index].groups = [groups[index]] }
    let workers = try WorkerGroup(works, progressSeconds: options.workers.progressSeconds) {
      stage.recorder($0, target)
    }
    let probe =
      options.steady == 0
      ? nil
      : try DelayProbe(
        target: stage.steadyTarget(), tokens: visitors.suffix(options.steady).map(\.token))
    defer { probe?.stop() }
    try conduct(workers, probe)
    let result = try workers.results()
    return report(result, workers.recorder, connections: connections, processes: works.count)
  }

  private func split(_ credentials: [Credential]) -> [ClientGroup] {
    let clients = options.visitors + options.visitors / options.subscriptions + options.operators
    return ClientGroup.split(
      credentials, loops: options.workers.count(connections: clients),
      subscriptionsMax: options.subscriptions
    ).filter { !$0.members.isEmpty }
  }

  private var course: RunKind {
    .storm(
      StormCourse(
        rounds: options.rounds, resets: options.how == .reset,
        returnSeconds: options.returnSeconds))
  }

  private func plan(_ target: Target, _ connections: Int) -> LoadPlan {
    LoadPlan(
      target: target,
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: options.bodyBytes, ratePerSecond: options.rate, spacing: .poisson, seconds: 0,
      operatorShare: 0.3, settleSeconds: options.workers.settleSeconds,
      drainSeconds: options.workers.drainSeconds,
      backoffMaxMilliseconds: options.backoffSeconds * 1000,
      seed: options.workers.seed ?? Random.uint64(),
      // Without a common queue: each client connects after its own delay.
      connectingMax: connections)
  }

  // MARK: The rounds

  private func conduct(_ workers: WorkerGroup, _ probe: DelayProbe?) throws {
    guard try workers.await(step: 0, seconds: options.workers.settleSeconds + 30) else { return }
    try workers.take()
    for number in 0..<options.rounds {
      guard try workers.await(step: 1 + 2 * number, seconds: 30),
        try workers.wait(milliseconds: Int64(options.calmSeconds) * 1000)
      else { return }
      _ = probe?.take()
      let begin = stage.processorNanoseconds()
      let moment = try workers.take()
      _ = try workers.wait(milliseconds: moment.milliseconds(since: SystemClock.now()))
      try stage.cutOff(options.how)
      guard try workers.await(step: 2 + 2 * number, seconds: options.returnSeconds + 30) else {
        return
      }
      var round = Round()
      if let end = stage.processorNanoseconds() {
        // A restarted gateway counts from 0.
        let used = options.how == .kill ? end : end - (begin ?? end)
        round.gatewayMicroseconds = Double(used) / 1000
      }
      if let probe { round.steady = probe.take() }
      rounds.append(round)
      try workers.take()
    }
  }

  // MARK: The report

  private func report(
    _ result: LoopResult, _ recorder: Recorder, connections: Int, processes: Int
  ) -> CrowdRecord {
    var record = CrowdRecord(
      command: "storm",
      title: "Storm: \(Format.count(connections)) connections, \(options.how.rawValue)")
    var rows: [[String]] = []
    var recovery = Latencies.empty
    var steady = Latencies.empty
    for (number, round) in rounds.enumerated() where number < result.phases.count {
      let phase = result.phases[number]
      let each = round.gatewayMicroseconds.map { $0 / Double(max(1, phase.recovery.totalCount)) }
      var figures: [String: Double] = [:]
      for (name, percentile) in [("p50", 50.0), ("p90", 90), ("p99", 99), ("max", 100)] {
        figures["recovery_\(name)_ms"] = rounded(at(percentile, phase.recovery))
      }
      if let each { figures["gateway_cpu_us_per_reconnect"] = rounded(each) }
      figures["steady_max_ms"] = rounded(at(100, round.steady))
      figures["steady_p99_ms"] = rounded(at(99, round.steady))
      figures["generator_cpu_ms"] = rounded(Double(phase.busyNanoseconds) / 1e6)
      record.record.rounds.append(figures)
      recovery.add(phase.recovery)
      steady.add(round.steady)
      rows.append(
        [
          "round \(number + 1)", "\(phase.recovery.totalCount)",
          milliseconds(at(50, phase.recovery)),
          milliseconds(at(90, phase.recovery)), milliseconds(at(99, phase.recovery)),
          milliseconds(at(100, phase.recovery)), each.map { milliseconds($0) } ?? "–",
          milliseconds(at(99, round.steady)), milliseconds(at(100, round.steady)),
        ])
    }
    record.table(
      [
        "live after ms", "clients", "50 %", "90 %", "99 %", "100 %", "gateway µs each",
        "steady p99 ms", "max",
      ], rows)
    record.record.add(latency: "recovery", recovery)
    if recovery.totalCount > 0 { record.record.set("recovery_p90_ms", at(90, recovery)) }
    record.record.add(latency: "steady", steady)
    let costs = record.record.rounds.compactMap { $0["gateway_cpu_us_per_reconnect"] }
    if !costs.isEmpty { record.record.set("gateway_cpu_us_per_reconnect", Spread(costs).median) }
    record.record.set("connections", connections)
    record.record.add(
      setup: "Clients",
      "\(Format.count(options.visitors)) visitors, \(options.operators) operators, "
        + "\(Format.count(connections)) connections in \(processes) processes")
    record.record.add(setup: "Cut off by", options.how.rawValue)
    record.record.add(setup: "Arrivals", "\(Format.number(options.rate)) a second, open loop")
    record.lines.append(
      "clients      \(options.visitors) visitors, \(options.operators) operators, \(connections) "
        + "connections in \(processes) processes; \(milliseconds(options.rate)) messages/s")
    record.judge(result, hasDatabase: stage.databaseURL != nil || options.credentials.hasDatabase)
    recorder.fill(
      &record.record, messages: result.counters.acked, deliveries: result.counters.delivered)
    if rounds.count < options.rounds, record.passed { record.fail("the run was ended early") }
    return record
  }
}
