/// One worker process: a copy of this program that the parent controls through standard input. It
/// is not meant to be called by users.
import ArgumentParser
import Foundation
import Kernel
import Postgres
import Primitives
import Synchronization

struct Worker: ParsableCommand {
  static let name = "load-worker"

  static let configuration = CommandConfiguration(
    commandName: Worker.name, abstract: "A worker process of another chirrup-load.",
    shouldDisplay: false)

  /// Timeout for the parent's next order. A run may have 50 workers, and each wakes up so often.
  private static let waitMilliseconds: Int32 = 20
  private static let orderMilliseconds: Int32 = 30_000

  func run() throws {
    SignalDescriptor.ignoreBrokenPipes()
    let channel = try Channel(FileDescriptor(owning: STDIN_FILENO))
    guard
      case .work(let work)? = try channel.receive(
        WorkerOrder.self, milliseconds: Worker.orderMilliseconds)
    else { throw ValidationError("\(Worker.name) is only started by chirrup-load itself") }
    do {
      DescriptorLimit.raise()
      try perform(work, channel)
    } catch ChannelFailure.closed {
      // The parent has ended, so nobody needs the result.
      Glibc.exit(3)
    } catch {
      try channel.send(WorkerReport.failed("\(error)"))
    }
  }

  private func perform(_ work: WorkerTask, _ channel: Channel) throws {
    let count = work.groups.count
    let shared = RunState(loops: count)
    let outcomes = LoopResults(count)
    var threads: [ThreadBox] = []
    for index in 0..<count {
      threads.append(
        ThreadBox(
          try Thread.spawn(name: "load \(index)") {
            do {
              outcomes.set(index, try work.perform(shared: shared, index: index))
            } catch {
              outcomes.fail(index, "\(error)")
              shared.stop.store(true, ordering: .relaxed)
              shared.finished.add(1, ordering: .sequentiallyConsistent)
            }
          }))
    }
    try attend(shared, channel, everyMilliseconds: work.reportMilliseconds)
    for thread in threads { thread.join() }
    var result = LoopResult.merged(try outcomes.take())
    try audit(&result, work, shared, channel)
    try channel.send(WorkerReport.result(result))
    while true {
      if case .leave? = try channel.receive(WorkerOrder.self, milliseconds: 1_000) { return }
    }
  }

  /// Forwards orders to the loops and reports progress until every loop is done.
  private func attend(
    _ shared: RunState, _ channel: Channel, everyMilliseconds interval: Int64
  ) throws {
    var nextNews = Instant.zero
    var told = 0
    while shared.finished.load(ordering: .sequentiallyConsistent) < shared.loopCount {
      try obey(shared, channel)
      let now = SystemClock.now()
      let steps = shared.stepsReached
      if steps > told || now >= nextNews {
        nextNews = now.advanced(byMilliseconds: interval)
        told = steps
        try channel.send(report(shared))
      }
    }
  }

  private func report(_ shared: RunState) -> WorkerReport {
    .progress(steps: shared.stepsReached, shared.total(), shared.intervals.take())
  }

  private func obey(_ shared: RunState, _ channel: Channel) throws {
    switch try channel.receive(WorkerOrder.self, milliseconds: Worker.waitMilliseconds) {
    case .take(let nanoseconds): shared.take(at: Instant(nanoseconds: nanoseconds))
    case .stop: shared.stop.store(true, ordering: .relaxed)
    case .work, .leave, nil: break
    }
  }

  /// Verifies in the database while it reports progress to the parent.
  private func audit(
    _ result: inout LoopResult, _ work: WorkerTask, _ shared: RunState, _ channel: Channel
  ) throws {
    guard let url = work.databaseURL, result.didSettle else { return }
    let logs = result.logs
    let outcomes = LoopResults(1)
    let thread = ThreadBox(
      try Thread.spawn(name: "audit") {
        do {
          outcomes.set(0, try work.audit(logs, url))
        } catch {
          outcomes.fail(0, "\(error)")
        }
      })
    while !outcomes.isComplete {
      try obey(shared, channel)
      try channel.send(report(shared))
      usleep(50_000)
    }
    thread.join()
    for part in try outcomes.take() { result.add(part) }
  }
}

extension WorkerTask {
  /// Runs on its own thread.
  func perform(shared: RunState, index: Int) throws -> LoopResult {
    if case .idle(let course) = course {
      return try IdleCrowd(course, plan: plan, group: groups[index]).run(shared)
    }
    if case .million(let course) = course { return try MillionCrowd(course).run(shared) }
    let loop = try LoadLoop(plan: plan, group: groups[index], shared: shared, index: index)
    if index == 0 { loop.plannedTamper = tamper }
    switch course {
    case .chat, .idle, .million: return try loop.run()
    case .storm(let course): return try loop.storm(course)
    case .slow(let course): return try loop.slow(course)
    case .growth(let course): return try loop.growth(course)
    }
  }

  /// Compares the sessions' logs with the stored rows.
  func audit(_ logs: [Ledger.Log], _ url: String) throws -> LoopResult {
    var audit = Audit(stamp: plan.stamp, bodies: Bodies(byteCount: plan.bodyBytes))
    try audit.run(logs, on: BlockingConnection(url))
    return LoopResult(
      violations: audit.violations,
      audit: LoopResult.Audited(
        rows: audit.rowCount, ownRows: audit.ownRowCount, sessions: audit.sessionCount))
  }
}
