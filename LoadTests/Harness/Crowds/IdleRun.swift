/// Runs `idle`: opens a few connections, then all, and measures the gateway's memory between them.
import Foundation
import Kernel
import Primitives

final class IdleRun {
  private let options: Idle

  private static let warmMilliseconds: Int64 = 2_000
  private static let openSeconds = 330

  private struct Sample {
    var memory: ProcessSample
    var nanoseconds: Int64
    var at = SystemClock.now()
  }

  init(_ options: Idle) { self.options = options }

  func measure() throws -> CrowdRecord {
    let target = try options.trust.target(options.url)
    let credentials =
      target.isEcho ? [] : try options.credentials.all(visitors: options.connections, operators: 0)
    let count = options.workers.count(connections: options.connections)
    let plan = LoadPlan(
      target: target,
      stamp: Stamp(nonce: 0, wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: Bodies.byteCountMin, ratePerSecond: 0, spacing: .constant, seconds: 0,
      operatorShare: 0, settleSeconds: 0, drainSeconds: 0, backoffMaxMilliseconds: 0, seed: 0)
    let empty = IdleCourse(
      warm: 0, connections: 0, offersDeflate: options.deflate, subscribes: options.subscribe,
      rate: 0)
    var works = options.workers.works(
      count, plan: plan, course: .idle(empty), connections: options.connections, database: nil)
    for index in works.indices {
      var course = empty
      course.warm = share(Idle.warmCount, index, count)
      course.connections = share(options.connections, index, count)
      course.rate = options.rate == 0 ? 0 : max(1, share(options.rate, index, count))
      works[index].course = .idle(course)
      works[index].groups = [group(credentials, index, count)]
    }
    let pid = options.pid
    let workers = try WorkerGroup(works, progressSeconds: options.workers.progressSeconds) {
      Recorder(intervals: $0.intervals, gateway: { pid }, target: nil)
    }
    return try conduct(workers)
  }

  private func share(_ total: Int, _ index: Int, _ count: Int) -> Int {
    total * (index + 1) / count - total * index / count
  }

  private func group(_ credentials: [Credential], _ index: Int, _ count: Int) -> ClientGroup {
    var group = ClientGroup()
    // Each process needs at least one credential.
    let step = credentials.count < count ? 1 : count
    for number in stride(from: step == 1 ? 0 : index, to: credentials.count, by: step) {
      let credential = credentials[number]
      var member = ClientGroup.Member(
        number: number, role: .visitor, token: credential.token, sessions: [])
      if let session = credential.session {
        member.sessions = [group.sessions.count]
        group.sessions.append(session)
      }
      group.members.append(member)
    }
    return group
  }

  private func conduct(_ workers: WorkerGroup) throws -> CrowdRecord {
    var record = CrowdRecord(
      command: "idle", title: "Idle: \(Format.count(options.connections)) connections")
    record.lines.append(headline)
    guard try workers.await(step: 0, seconds: IdleRun.openSeconds),
      try workers.wait(milliseconds: IdleRun.warmMilliseconds)
    else { return try unfinished(workers, record) }
    let begin = try sample()
    try workers.take()
    guard try workers.await(step: 1, seconds: IdleRun.openSeconds) else {
      return try unfinished(workers, record)
    }
    let opened = try sample()
    guard try workers.wait(milliseconds: Int64(options.seconds) * 1000) else {
      return try unfinished(workers, record)
    }
    let end = try sample()
    try workers.take()
    guard try workers.await(step: 2, seconds: IdleRun.openSeconds) else {
      return try unfinished(workers, record)
    }
    try workers.take()
    fill(&record, begin, opened, end)
    return try finish(workers, record)
  }

  private var headline: String {
    options.url + (options.deflate ? " with permessage-deflate" : "")
      + (options.subscribe ? ", subscribed" : "")
  }

  private func sample() throws -> Sample {
    guard let memory = ProcessSample(process: options.pid),
      let nanoseconds = ProcessorTime.nanoseconds(of: options.pid)
    else { throw WorkerFailure(description: "no process has the id \(options.pid)") }
    return Sample(memory: memory, nanoseconds: nanoseconds)
  }

  private func fill(
    _ record: inout CrowdRecord, _ begin: Sample, _ opened: Sample, _ end: Sample
  ) {
    let count = options.connections - Idle.warmCount
    let seconds = Double(opened.at.nanoseconds - begin.at.nanoseconds) / 1e9
    let each = Double(opened.nanoseconds - begin.nanoseconds) / 1000 / Double(count)
    let rest = Double(max(1, end.at.nanoseconds - opened.at.nanoseconds))
    let idle = Double(end.nanoseconds - opened.nanoseconds) / rest
    let memory = [
      ("resident", begin.memory.bytes, end.memory.bytes),
      ("anonymous", begin.memory.anonymousBytes, end.memory.anonymousBytes),
    ]
    record.record.set("connections", options.connections)
    record.record.set("open_seconds", rounded(seconds))
    record.record.set("gateway_cpu_us_per_connection", rounded(each))
    record.record.set("idle_cores", rounded(idle, places: 5))
    record.record.set("gateway_resident_bytes", end.memory.bytes)
    for (name, before, after) in memory {
      record.record.set(
        name == "resident" ? "resident_bytes_per_connection" : "bytes_per_connection",
        (after - before) / count)
    }
    record.record.add(
      setup: "Connections", "\(Format.count(options.connections)) to \(options.url)")
    record.record.add(
      setup: "Not counted", "the first \(Idle.warmCount), which pay for one-time allocations")
    if options.deflate { record.record.add(setup: "Offered", "permessage-deflate") }
    if options.subscribe { record.record.add(setup: "Subscribed", "each to its session") }
    record.lines.append(
      "\(options.connections) connections open, \(count) of them in \(one(seconds)) s, "
        + "\(one(each)) µs of the gateway's processor time each")
    for (name, before, after) in memory {
      let bytes = (after - before) / count
      record.lines.append(
        name.padding(toLength: 9, withPad: " ", startingAt: 0)
          + " \(before >> 10) KiB → \(after >> 10) KiB: \(bytes) bytes a connection")
    }
    record.lines.append("idle       \(String(format: "%.2f", idle * 100)) % of a core")
  }

  private func finish(_ workers: WorkerGroup, _ record: CrowdRecord) throws -> CrowdRecord {
    var record = record
    for problem in try workers.results().problems { record.fail(problem) }
    return record
  }

  private func unfinished(_ workers: WorkerGroup, _ record: CrowdRecord) throws -> CrowdRecord {
    var record = try finish(workers, record)
    if record.passed { record.fail("the run was ended early") }
    return record
  }

  private func one(_ value: Double) -> String { String(format: "%.1f", value) }
}
