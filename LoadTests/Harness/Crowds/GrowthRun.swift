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
    guard let process = options.gateway.process(options.who),
      ProcessorTime.nanoseconds(of: process) != nil
    else {
      throw CrewFailure(description: "the gateway's process is unknown: use --pid")
    }
    gateway = process
  }

  func measure() throws -> CrowdRecord {
    let largest = options.sizes.last ?? 0
    let rooms = largest / options.followers
    let credentials = try options.who.gather(visitors: rooms, operators: options.operators)
    let casts = Cast.rooms(
      credentials, count: rooms, followers: options.followers,
      processes: options.crew.count(connections: largest))
    let plan = LoadPlan(
      target: target,
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: options.bodyBytes, ratePerSecond: options.rate, spacing: .constant, seconds: 0,
      operatorShare: 0, settleSeconds: options.crew.settleSeconds,
      drainSeconds: options.crew.drainSeconds, backoffMaxMilliseconds: 5_000,
      seed: options.crew.seed ?? Random.uint64())
    let empty = GrowthCourse(sizes: [], seconds: options.seconds)
    var works = options.crew.works(
      casts.count, plan: plan, course: .growth(empty), connections: largest,
      database: try options.who.database())
    for index in casts.indices {
      works[index].casts = [casts[index]]
      works[index].course = .growth(course(of: index, processes: casts.count))
    }
    let begin = ProcessSample(process: gateway)
    let crew = try Crew(works, progressSeconds: options.crew.progressSeconds) { [gateway, target] in
      Recorder(intervals: $0.intervals, gateway: { gateway }, target: target)
    }
    let isWhole = try conduct(crew)
    let result = try crew.results()
    var record = report(result, crew.recorder, from: begin, processes: works.count)
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
  private func conduct(_ crew: Crew) throws -> Bool {
    for (number, size) in options.sizes.enumerated() {
      let step = 3 * number
      guard try crew.await(step: step, seconds: options.crew.settleSeconds + 30),
        try crew.wait(milliseconds: GrowthRun.restMilliseconds)
      else { return false }
      var found = Size(connections: size / options.followers * options.followers)
      let idleBegin = used()
      let start = SystemClock.now()
      let seconds = number == options.sizes.count - 1 ? options.idleSeconds : 0
      guard try crew.wait(milliseconds: Int64(max(options.restSeconds, seconds)) * 1000) else {
        return false
      }
      let rested = SystemClock.now().nanoseconds - start.nanoseconds
      found.idleLoad = Double(used() - idleBegin) / Double(max(1, rested))
      if let sample = ProcessSample(process: gateway) {
        found.bytes = sample.bytes
        found.anonymousBytes = sample.anonymousBytes
      }
      try crew.take()
      guard try crew.await(step: step + 1, seconds: 30) else { return false }
      let begin = used()
      let began = try crew.take()
      let limit = options.seconds + options.crew.drainSeconds + 60
      guard try crew.await(step: step + 2, seconds: limit) else { return false }
      found.nanoseconds = used() - begin
      found.loadNanoseconds = Double(SystemClock.now().nanoseconds - began.nanoseconds)
      sizes.append(found)
      try crew.take()
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
    record.judge(result, hasDatabase: options.who.hasDatabase)
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
