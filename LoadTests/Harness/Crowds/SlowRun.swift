/// Runs `slow`: phases with and without slow readers, the gateway's memory in each, and the
/// verdict.
import Foundation
import Histogram
import Kernel
import Primitives

final class SlowRun {
  private let options: Slow
  private let target: Target
  private let gateway: Int?
  /// Resident memory at the end of each phase.
  private var memory: [Int] = []
  private var closedBefore = 0
  private var closed = 0

  private static let polling: Int64 = 250

  init(_ options: Slow) throws {
    self.options = options
    target = try options.gateway.target()
    gateway = options.gateway.process(options.credentials)
  }

  func measure() throws -> CrowdRecord {
    let connections = options.rooms * options.followers
    let credentials = try options.credentials.gather(
      visitors: options.rooms, operators: options.operators)
    let groups = ClientGroup.rooms(
      credentials, count: options.rooms, followers: options.followers,
      processes: options.workers.count(connections: connections),
      stopsEvery: Int((1 / options.share).rounded()))
    let slow = groups.reduce(0) { $0 + $1.members.count { $0.behaviour == .stopping } }
    let plan = LoadPlan(
      target: target,
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: options.bodyBytes, ratePerSecond: options.rate, spacing: .poisson, seconds: 0,
      operatorShare: 0, settleSeconds: options.workers.settleSeconds,
      drainSeconds: options.workers.drainSeconds, backoffMaxMilliseconds: 5_000,
      seed: options.workers.seed ?? Random.uint64())
    var works = options.workers.works(
      groups.count, plan: plan,
      course: .slow(SlowCourse(turns: options.turns, seconds: options.seconds)),
      connections: connections, database: try options.credentials.database())
    for index in groups.indices { works[index].groups = [groups[index]] }
    closedBefore = slowClosed() ?? 0
    let workers = try WorkerGroup(works, progressSeconds: options.workers.progressSeconds) {
      [gateway, target] in
      Recorder(intervals: $0.intervals, gateway: { gateway }, target: target)
    }
    let isWhole = try conduct(workers, slow)
    let result = try workers.results()
    var record = report(
      result, workers.recorder, slow: slow, connections: connections, processes: works.count)
    if !isWhole, record.passed { record.fail("the run was ended early") }
    return record
  }

  /// False when the run was ended early.
  private func conduct(_ workers: WorkerGroup, _ slow: Int) throws -> Bool {
    guard try workers.await(step: 0, seconds: options.workers.settleSeconds + 30) else {
      return false
    }
    try workers.take()
    for turn in 0..<2 * options.turns {
      guard try workers.await(step: 1 + turn, seconds: options.seconds + 60) else { return false }
      if turn > 0 { sampleMemory() }
      try workers.take()
    }
    let last = 1 + 2 * options.turns
    guard try workers.await(step: last, seconds: options.seconds + 60) else { return false }
    sampleMemory()
    let limit = SystemClock.now().advanced(byMilliseconds: Int64(options.closeSeconds) * 1000)
    while options.untilClosed, closed < slow, SystemClock.now() < limit {
      guard try workers.wait(milliseconds: SlowRun.polling) else { return false }
      closed = max(0, (slowClosed() ?? 0) - closedBefore)
    }
    try workers.take()
    return true
  }

  private func sampleMemory() {
    memory.append(gateway.flatMap { ProcessSample(process: $0)?.bytes } ?? 0)
  }

  /// The number of connections that the gateway closed with 4101.
  private func slowClosed() -> Int? {
    guard !target.isSecure else { return nil }
    return try? GatewayMetrics.read(target).slowConsumers
  }

  // MARK: The report

  private func report(
    _ result: LoopResult, _ recorder: Recorder, slow: Int, connections: Int, processes: Int
  ) -> CrowdRecord {
    var record = CrowdRecord(
      command: "slow", title: "Slow readers: \(slow) of \(Format.count(connections)) connections")
    var rows: [[String]] = []
    for (number, phase) in result.phases.enumerated() {
      let delivery = phase.latencies.delivery
      let perSecond = Double(delivery.totalCount) / Double(options.seconds)
      record.record.rounds.append([
        "p50_ms": at(50, delivery), "p99_ms": at(99, delivery), "p999_ms": at(99.9, delivery),
        "ack_p99_ms": at(99, phase.latencies.ack), "delivered_per_second": perSecond,
        "acked": Double(phase.acked), "gateway_resident_bytes": Double(memory(at: number)),
        "slow_readers": number % 2 == 1 ? Double(slow) : 0,
      ])
      rows.append([
        number % 2 == 0 ? "all read" : "\(slow) do not", milliseconds(at(50, delivery)),
        milliseconds(at(99, delivery)), milliseconds(at(99.9, delivery)),
        milliseconds(at(99, phase.latencies.ack)), "\(Int(perSecond))",
        memory(at: number) > 0 ? "\(memory(at: number) >> 20)" : "–",
      ])
    }
    record.table(
      [
        "delivery ms", "p50", "p99", "p99.9", "ack p99", "others' deliveries/s", "gateway MiB",
      ], rows)
    compare(&record, slow)
    record.lines.append(
      "clients      \(options.rooms) rooms of \(options.followers) in \(processes) processes; "
        + "\(milliseconds(options.rate)) messages/s of \(options.bodyBytes) bytes")
    judgeClosed(&record, slow)
    record.judge(result, hasDatabase: options.credentials.hasDatabase)
    recorder.fill(
      &record.record, messages: result.counters.acked, deliveries: result.counters.delivered)
    record.record.set("connections", connections)
    record.record.add(setup: "Connections", "\(Format.count(connections)), of them \(slow) slow")
    record.record.add(
      setup: "Rooms", "\(options.rooms) of \(options.followers), in \(processes) processes")
    record.record.add(
      setup: "Arrivals",
      "\(Format.number(options.rate)) a second of \(options.bodyBytes) bytes, open loop")
    record.record.add(
      setup: "Phases",
      "\(options.turns) times \(options.seconds) s without, \(options.seconds) s with")
    return record
  }

  private func memory(at phase: Int) -> Int { phase < memory.count ? memory[phase] : 0 }

  /// Ratios within each pair of phases, because noise affects both alike.
  private func compare(_ record: inout CrowdRecord, _ slow: Int) {
    func ratios(_ name: String) -> [Double] {
      stride(from: 0, to: record.record.rounds.count - 1, by: 2).compactMap { first in
        guard let before = record.record.rounds[first][name], before > 0 else { return nil }
        return (record.record.rounds[first + 1][name] ?? 0) / before
      }
    }
    let p99 = Spread(ratios("p99_ms"))
    let throughput = Spread(ratios("delivered_per_second"))
    let growth =
      stride(from: 0, to: record.record.rounds.count - 1, by: 2)
      .map { memory(at: $0 + 1) - memory(at: $0) }.max() ?? 0
    record.record.set("delivery_p99_ratio", p99.median)
    record.record.set("delivered_ratio", throughput.median)
    record.record.set("growth_bytes_per_slow_reader", growth / max(1, slow))
    record.lines.append(
      "ratios       p99 \(p99), deliveries \(throughput): with slow readers / without, median of "
        + "\(options.turns) (smallest to largest)")
    if gateway != nil {
      record.lines.append("memory       \(growth >> 10) KiB more at most, for \(slow) slow readers")
    }
    guard options.check else { return }
    if p99.median > options.p99Ratio {
      record.fail("the others' p99 is \(p99), more than \(options.p99Ratio)")
    }
    if throughput.median < options.throughputRatio {
      record.fail("the others' throughput is \(throughput), less than \(options.throughputRatio)")
    }
    if Double(growth) > options.memoryMib * Double(slow << 20) {
      record.fail("the gateway grew by \(growth >> 10) KiB for \(slow) slow readers")
    }
  }

  private func judgeClosed(_ record: inout CrowdRecord, _ slow: Int) {
    closed = max(closed, max(0, (slowClosed() ?? 0) - closedBefore))
    record.record.set("closed_too_slow", closed)
    if !target.isSecure { record.lines.append("closed       \(closed) with 4101") }
    if options.untilClosed, closed < slow {
      record.fail("\(slow - closed) slow readers were not closed in \(options.closeSeconds) s")
    }
  }
}
