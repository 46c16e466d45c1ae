/// Runs `growth`: for each size, opens connections, measures them idle, then under load.
import Foundation
import Kernel
import Primitives

final class GrowthRun {
  private let options: Growth
  private let target: Target
  private let gateway: Int
  private var sizes: [Size] = []

  private struct Size {
    var connections = 0
    var bytes = 0
    var anonymousBytes = 0
    /// Share of a core.
    var idleLoad = 0.0
    /// Processor time and length of the load.
    var nanoseconds: Int64 = 0
    var loadNanoseconds = 0.0
  }

  /// Time between the opening and the first measurement.
  private static let restMilliseconds: Int64 = 2_000

  init(_ options: Growth) throws {
    self.options = options
    target = try options.gateway.target()
    guard let process = options.gateway.process(options.credentials),
      ProcessorTime.nanoseconds(of: process) != nil
    else {
      throw WorkerFailure(description: "the gateway's process is unknown: use --pid")
    }
    gateway = process
  }

  func measure() throws -> CrowdRecord {
    let largest = options.sizes.last ?? 0
    let rooms = largest / options.followers
    let credentials = try options.credentials.gather(visitors: rooms, operators: options.operators)
    let groups = ClientGroup.rooms(
      credentials, count: rooms, followers: options.followers,
      processes: options.workers.count(connections: largest))
    let plan = LoadPlan(
      target: target,
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: options.bodyBytes, ratePerSecond: options.rate, spacing: .constant, seconds: 0,
      operatorShare: 0, settleSeconds: options.workers.settleSeconds,
      drainSeconds: options.workers.drainSeconds, backoffMaxMilliseconds: 5_000,
      seed: options.workers.seed ?? Random.uint64())
    let empty = GrowthCourse(sizes: [], seconds: options.seconds)
    var works = options.workers.works(
      groups.count, plan: plan, course: .growth(empty), connections: largest,
      database: try options.credentials.database())
    for index in groups.indices {
      works[index].groups = [groups[index]]
      works[index].course = .growth(course(of: index, processes: groups.count))
    }
    let begin = ProcessSample(process: gateway)
    let workers = try WorkerGroup(works, progressSeconds: options.workers.progressSeconds) {
      [gateway, target] in
      Recorder(intervals: $0.intervals, gateway: { gateway }, target: target)
    }
    let isWhole = try conduct(workers)
    let result = try workers.results()
    var record = report(result, workers.recorder, from: begin, processes: works.count)
    if !isWhole, record.passed { record.fail("the run was ended early") }
    return record
  }

  /// Rooms are dealt in turn, so at some sizes a process has one more than another.
  private func course(of process: Int, processes: Int) -> GrowthCourse {
    GrowthCourse(
      sizes: options.sizes.map { size in
        let rooms = size / options.followers
        let own = rooms / processes + (process < rooms % processes ? 1 : 0)
        return GrowthCourse.Size(clients: own * options.followers, sessions: own)
      }, seconds: options.seconds)
  }

  /// False when the run was ended early.
  private func conduct(_ workers: WorkerGroup) throws -> Bool {
    for (number, size) in options.sizes.enumerated() {
      let step = 3 * number
      guard try workers.await(step: step, seconds: options.workers.settleSeconds + 30),
        try workers.wait(milliseconds: GrowthRun.restMilliseconds)
      else { return false }
      var found = Size(connections: size / options.followers * options.followers)
      let idleBegin = used()
      let start = SystemClock.now()
      let seconds = number == options.sizes.count - 1 ? options.idleSeconds : 0
      guard try workers.wait(milliseconds: Int64(max(options.restSeconds, seconds)) * 1000) else {
        return false
      }
      let rested = SystemClock.now().nanoseconds - start.nanoseconds
      found.idleLoad = Double(used() - idleBegin) / Double(max(1, rested))
      if let sample = ProcessSample(process: gateway) {
        found.bytes = sample.bytes
        found.anonymousBytes = sample.anonymousBytes
      }
      try workers.take()
      guard try workers.await(step: step + 1, seconds: 30) else { return false }
      let begin = used()
      let began = try workers.take()
      let limit = options.seconds + options.workers.drainSeconds + 60
      guard try workers.await(step: step + 2, seconds: limit) else { return false }
      found.nanoseconds = used() - begin
      found.loadNanoseconds = Double(SystemClock.now().nanoseconds - began.nanoseconds)
      sizes.append(found)
      try workers.take()
    }
    return true
  }

  private func used() -> Int64 { ProcessorTime.nanoseconds(of: gateway) ?? 0 }

  // MARK: The report

  private func report(
    _ result: LoopResult, _ recorder: Recorder, from begin: ProcessSample?, processes: Int
  ) -> CrowdRecord {
    var record = CrowdRecord(
      command: "growth",
      title: "Growth: \(Format.count(options.sizes.first ?? 0)) to "
        + "\(Format.count(options.sizes.last ?? 0)) connections")
    var rows: [[String]] = []
    for (number, size) in sizes.enumerated() where number < result.phases.count {
      let phase = result.phases[number]
      // The first size pays for the gateway's one-time allocations.
      let first = sizes[0]
      let more = size.connections - first.connections
      let bytes =
        more == 0 ? nil : Double(size.anonymousBytes - first.anonymousBytes) / Double(more)
      // Without the processor time of idle connections.
      let rest = size.idleLoad * size.loadNanoseconds
      let each = (Double(size.nanoseconds) - rest) / 1000 / Double(max(1, phase.delivered))
      var figures = [
        "connections": Double(size.connections), "gateway_cpu_us_per_delivery": each,
        "gateway_resident_bytes": Double(size.bytes), "idle_cores": size.idleLoad,
        "delivered": Double(phase.delivered),
        "delivery_p99_ms": at(99, phase.latencies.delivery),
      ]
      if let bytes { figures["bytes_per_connection"] = bytes }
      record.record.rounds.append(figures)
      rows.append([
        "\(size.connections)", milliseconds(each), bytes.map { "\(Int($0))" } ?? "–",
        String(format: "%.2f", size.idleLoad * 100), "\(size.bytes >> 20)",
        milliseconds(at(99, phase.latencies.delivery)), "\(phase.delivered)",
      ])
    }
    record.table(
      [
        "connections", "µs a delivery", "bytes each", "idle % of a core", "resident MiB", "p99 ms",
        "deliveries",
      ], rows)
    flatness(&record)
    if let begin { record.lines.append("at the start \(begin.bytes >> 20) MiB resident") }
    record.lines.append("clients      \(processes) processes")
    record.judge(result, hasDatabase: options.credentials.hasDatabase)
    recorder.fill(
      &record.record, messages: result.counters.acked, deliveries: result.counters.delivered)
    record.record.set("connections", options.sizes.last ?? 0)
    record.record.add(setup: "Rooms", "of \(options.followers), in \(processes) processes")
    record.record.add(
      setup: "Arrivals",
      "\(Format.number(options.rate)) a second of \(options.bodyBytes) bytes, open loop")
    return record
  }

  private func flatness(_ record: inout CrowdRecord) {
    func largestOver(_ name: String, from first: Int) -> Double? {
      guard record.record.rounds.count > first + 1, let small = record.record.rounds[first][name],
        small > 0,
        let large = record.record.rounds.last?[name]
      else { return nil }
      return large / small
    }
    record.record.set("idle_cores", record.record.rounds.last?["idle_cores"] ?? 0)
    // The memory per connection is counted from the first size on.
    for (name, figure, first, what) in [
      ("gateway_cpu_us_per_delivery", "delivery_cost_ratio", 0, "processor time of a delivery"),
      ("bytes_per_connection", "memory_ratio", 1, "memory of a connection"),
    ] {
      guard let ratio = largestOver(name, from: first) else { continue }
      record.record.set(figure, rounded(ratio))
      record.lines.append(
        "\(what): \(String(format: "%.2f", ratio)) × that at "
          + "\(Int(record.record.rounds[first]["connections"] ?? 0)) connections")
      if options.check, ratio > options.flat {
        record.fail("\(what) is \(String(format: "%.2f", ratio)) ×, more than \(options.flat)")
      }
    }
  }
}
