/// Several worker processes for one run: a process holds only as many connections as it may have
/// descriptors, and a load test may need more.
///
/// The parent starts copies of this program, gives each a share of the clients, lets all take each
/// step at the same moment, and merges their results. Invariant: no worker outlives the parent. The
/// parent kills its workers when it ends; when the parent is killed, their channel closes, which
/// they watch.
import Foundation
import Kernel
import Primitives
import Synchronization

struct WorkerFailure: Error, CustomStringConvertible {
  var description: String
}

final class WorkerGroup {
  /// Progress, as if the workers' loops ran in this process.
  let shared: RunState
  private var members: [WorkerHandle] = []
  private var progress: Progress
  /// Figures of every second of the run.
  let recorder: Recorder
  private var didStop = false
  /// Called often; an error ends the run.
  var watch: (() throws -> Void)?
  /// Becomes ready when a worker has sent a message.
  private let epoll: Epoll
  private var events = Events(capacity: 64)

  /// A worker that sends no message for this time counts as hung.
  private static let silenceMilliseconds: Int64 = 30_000
  /// Time between the decision and a step, so that every worker knows it in time.
  private static let noticeMilliseconds: Int64 = 30
  /// Time for the final comparison with the database.
  private static let resultMilliseconds: Int64 = 600_000
  /// Interval for checking the signals and the clock.
  private static let pauseNanoseconds: Int64 = 20_000_000

  /// The running executable, even if its file was replaced.
  static let ownExecutable = "/proc/self/exe"

  init(
    _ works: [WorkerTask], progressSeconds: Int, title: String = "", plannedSeconds: Int? = nil,
    executable: String = WorkerGroup.ownExecutable, recorder: (RunState) -> Recorder
  ) throws {
    precondition(!works.isEmpty, "a workers has members")
    SignalDescriptor.ignoreBrokenPipes()
    shared = RunState(loops: works.count)
    progress = try Progress(
      shared, everySeconds: progressSeconds, title: title, plannedSeconds: plannedSeconds)
    self.recorder = recorder(shared)
    epoll = try Epoll()
    for (number, work) in works.enumerated() {
      members.append(try WorkerHandle(number, executable: executable))
      try members[number].channel.register(in: epoll)
      try members[number].send(.work(work))
    }
    self.recorder.generators = processes.map { Int($0) }
  }

  var processes: [Int32] { members.map(\.process) }

  /// The number of processes for this number of connections: at most `limit` connections each, and
  /// at least `asked` processes.
  static func processes(connections: Int, asked: Int, limit: Int) -> Int {
    max(asked, (connections + limit - 1) / max(1, limit), 1)
  }

  /// The number of connections that a process may hold besides its own descriptors.
  static var connectionsMax: Int { max(1, DescriptorLimit.raise() - 64) }

  // MARK: Steps

  /// Waits until all workers have reached the step. Returns false when the run was ended before; a
  /// worker that fails ends it for all.
  func await(step: Int, seconds: Int) throws -> Bool {
    let limit = SystemClock.now().advanced(byMilliseconds: Int64(seconds) * 1000)
    while !members.allSatisfy({ $0.steps > step }) {
      if SystemClock.now() >= limit { throw late(step, seconds) }
      try turn(until: limit)
      if shared.stop.load(ordering: .relaxed) { return false }
    }
    return true
  }

  /// Handles the workers' messages for this time; false when the run was ended.
  func wait(milliseconds: Int64) throws -> Bool {
    let end = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while SystemClock.now() < end {
      try turn(until: end)
      if shared.stop.load(ordering: .relaxed) { return false }
    }
    return true
  }

  /// Lets all workers take the step that they have reached, at the returned moment.
  @discardableResult
  func take() throws -> Instant {
    let moment = SystemClock.now().advanced(byMilliseconds: WorkerGroup.noticeMilliseconds)
    for member in members { try member.send(.take(nanoseconds: moment.nanoseconds)) }
    return moment
  }

  /// The merged result of all workers, after a load of `seconds`.
  func results(afterSeconds seconds: Int = 0) throws -> LoopResult {
    let limit = SystemClock.now().advanced(
      byMilliseconds: Int64(seconds) * 1000 + WorkerGroup.resultMilliseconds)
    while members.contains(where: { $0.result == nil }) {
      if SystemClock.now() >= limit { throw WorkerFailure(description: "no result in time") }
      try turn(until: limit)
    }
    progress.finish(recorder)
    for member in members { try member.dismiss() }
    return LoopResult.merged(members.compactMap(\.result))
  }

  private func late(_ step: Int, _ seconds: Int) -> WorkerFailure {
    let late = members.filter { $0.steps <= step }.map { "\($0.number)" }
    return WorkerFailure(
      description: "process \(late.joined(separator: ", ")) did not reach step \(step) in "
        + "\(seconds) s")
  }

  private func turn(until limit: Instant) throws {
    for member in members {
      for report in try member.receive() { try consider(report, member) }
      let silence = SystemClock.now().milliseconds(since: member.lastReceivedAt)
      guard member.result != nil || silence < WorkerGroup.silenceMilliseconds else {
        throw WorkerFailure(description: "process \(member.number) sends no progress")
      }
    }
    progress.tick(recorder)
    try watch?()
    if shared.stop.load(ordering: .relaxed), !didStop {
      didStop = true
      for member in members { try member.send(.stop) }
    }
    let left = max(0, limit.nanoseconds - SystemClock.now().nanoseconds)
    try epoll.wait(into: &events, timeoutNanoseconds: min(left, WorkerGroup.pauseNanoseconds))
  }

  private func consider(_ report: WorkerReport, _ member: WorkerHandle) throws {
    switch report {
    case .progress(let steps, let snapshot, let latencies):
      for (name, histogram) in latencies {
        var taken = histogram
        shared.intervals.move(name, &taken)
      }
      member.steps = max(member.steps, steps)
      shared.publish(snapshot, loop: member.number)
    case .result(let result):
      member.result = result
      shared.finished.add(1, ordering: .sequentiallyConsistent)
      // The worker could not begin; the others do not wait for it.
      if !result.didSettle || !result.problems.isEmpty {
        shared.stop.store(true, ordering: .relaxed)
      }
    case .failed(let why):
      throw WorkerFailure(description: "process \(member.number): \(why)")
    }
  }
}

/// A worker process as the parent sees it. Releasing it kills the process.
private final class WorkerHandle {
  let number: Int
  var steps = 0
  var result: LoopResult?
  private(set) var lastReceivedAt = SystemClock.now()
  private var child: ChildProcess
  let channel: Channel

  private static let endMilliseconds: Int64 = 5_000

  init(_ number: Int, executable: String) throws {
    self.number = number
    var command = Command(executable, [Worker.name])
    command.input = .socket
    command.output = .discard
    // Ctrl-C must reach only the parent, which stops the workers.
    command.hasOwnGroup = true
    var child = try ChildProcess.spawn(command)
    guard let socket = child.takeSocket() else { throw ChannelFailure.closed }
    channel = try Channel(socket)
    self.child = child
  }

  var process: Int32 { child.processIdentifier }

  func send(_ order: WorkerOrder) throws {
    do {
      try channel.send(order)
    } catch ChannelFailure.closed {
      throw try ended()
    }
  }

  func receive() throws -> [WorkerReport] {
    var all: [WorkerReport] = []
    do {
      while let report = try channel.receive(WorkerReport.self, milliseconds: 0) {
        all.append(report)
      }
    } catch ChannelFailure.closed {
      if all.isEmpty, result == nil { throw try ended() }
    }
    if !all.isEmpty { lastReceivedAt = SystemClock.now() }
    return all
  }

  /// The result has arrived: the process may exit.
  func dismiss() throws {
    try? channel.send(WorkerOrder.leave)
    _ = try child.wait(milliseconds: WorkerHandle.endMilliseconds)
  }

  private func ended() throws -> WorkerFailure {
    if let status = try child.wait(milliseconds: WorkerHandle.endMilliseconds) {
      return WorkerFailure(description: "process \(number) ended: \(status)")
    }
    return WorkerFailure(description: "process \(number) has closed its channel")
  }
}
