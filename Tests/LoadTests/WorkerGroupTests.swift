import Foundation
import Histogram
import Kernel
import Primitives
import Testing

@testable import chirrup_load

/// Several processes of one run.
@Suite struct WorkerGroupTests {
  /// The program beside the test bundle.
  static var executable: String {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: own).deletingLastPathComponent().appending(path: "chirrup-load").path
  }

  /// A port without a listener.
  static func work(settleSeconds: Int) throws -> WorkerTask {
    let closed = try Sockets.listen(on: .loopback, port: 0).localPort()
    let target = try #require(Target("ws://127.0.0.1:\(closed)"))
    let stamp = Stamp(nonce: 1, wall: SystemClock.wallTime(), now: SystemClock.now())
    var work = WorkerTask(
      plan: LoadPlan(
        target: target, stamp: stamp, bodyBytes: 64, ratePerSecond: 1, spacing: .poisson,
        seconds: 1, operatorShare: 0, settleSeconds: settleSeconds, drainSeconds: 1,
        backoffMaxMilliseconds: 1_000, seed: 1), course: .chat)
    var group = ClientGroup()
    group.sessions = [Scene.session]
    group.members = [ClientGroup.Member(number: 0, role: .visitor, token: "no", sessions: [0])]
    work.groups = [group]
    return work
  }

  // MARK: The channel

  static func channels() throws -> (Channel, Channel) {
    var pair: SocketPair? = try Sockets.pair()
    guard let (near, far) = try pair.take()?.channels() else { throw ChannelFailure.closed }
    return (near, far)
  }

  @Test func `a channel carries messages whole and in order`() throws {
    let (near, far) = try WorkerGroupTests.channels()
    let texts = ["", "a", String(repeating: "é", count: 20_000)]
    for text in texts { try near.send(WorkerReport.failed(text)) }
    for text in texts {
      guard case .failed(text)? = try far.receive(WorkerReport.self, milliseconds: 1_000) else {
        Issue.record("the worker sent another message")
        return
      }
    }
    #expect(try far.receive(WorkerReport.self, milliseconds: 0) == nil)
  }

  @Test func `a channel reports the end of the other process`() throws {
    let near = try WorkerGroupTests.halfClosed()
    // Messages sent before are still received.
    #expect(try near.receive(WorkerReport.self, milliseconds: 0) != nil)
    #expect(throws: ChannelFailure.self) {
      _ = try near.receive(WorkerReport.self, milliseconds: 0)
    }
  }

  /// The other end has sent a message and closed.
  static func halfClosed() throws -> Channel {
    let (near, far) = try channels()
    try far.send(WorkerReport.failed("last words"))
    return near
  }

  // MARK: Merged results

  @Test func `messages that were due in the warm-up are not measured, also if they come later`() {
    var latencies = Latencies(since: Instant(nanoseconds: 1_000))
    for due: Int64 in [0, 999, 1_000, 2_000] {
      latencies.ack(from: Instant(nanoseconds: due), to: Instant(nanoseconds: 3_000))
      latencies.delivery(from: Instant(nanoseconds: due), to: Instant(nanoseconds: 3_000))
    }
    #expect(latencies.ack.totalCount == 2 && latencies.delivery.totalCount == 2)
  }

  /// The percentile of all is not the mean of the parts' percentiles.
  @Test func `histograms are merged and not averaged`() throws {
    var all = Latencies()
    var parts = [LoopResult(), LoopResult()]
    for number in 0..<1_000 {
      let due = Instant(nanoseconds: 0)
      let now = Instant(nanoseconds: Int64(number < 990 ? number : 1_000_000) * 1_000)
      all.ack(from: due, to: now)
      all.delivery(from: due, to: now)
      // All slow messages are in one part.
      let part = number < 500 ? 0 : 1
      parts[part].latencies.ack(from: due, to: now)
      parts[part].latencies.delivery(from: due, to: now)
    }
    let sent = try parts.map {
      try JSONDecoder().decode(LoopResult.self, from: JSONEncoder().encode($0))
    }
    let merged = LoopResult.merged(sent).latencies
    for percentile in [0, 50, 90, 99, 99.5, 99.9, 100.0] {
      #expect(
        merged.ack.valueAtPercentile(percentile) == all.ack.valueAtPercentile(percentile))
      #expect(
        merged.delivery.valueAtPercentile(percentile)
          == all.delivery.valueAtPercentile(percentile))
    }
    #expect(merged.ack.totalCount == 1_000)
    #expect(merged.ack.max == all.ack.max)
    let averaged = sent.map { $0.latencies.ack.valueAtPercentile(99) }.reduce(0, +) / 2
    #expect(averaged != merged.ack.valueAtPercentile(99))
  }

  @Test func `violations of every part are counted`() throws {
    var parts = [LoopResult(), LoopResult(), LoopResult()]
    parts[1].violations.note(.lost, count: 2, "two")
    parts[2].violations.note(.lost, "one")
    parts[2].violations.note(.holes, "a hole")
    parts[2].didSettle = false
    parts[0].audit = LoopResult.Audited(rows: 5, sessions: 1)
    parts[2].audit = LoopResult.Audited(rows: 7, sessions: 2)
    let sent = try parts.map {
      try JSONDecoder().decode(LoopResult.self, from: JSONEncoder().encode($0))
    }
    let merged = LoopResult.merged(sent)
    #expect(merged.violations[.lost] == 3)
    #expect(merged.violations[.holes] == 1)
    #expect(merged.violations.examples.count == 3)
    #expect(merged.audit?.rows == 12)
    #expect(merged.problems.count == 1)
  }

  @Test func `phases are added one by one`() {
    var parts = [LoopResult(), LoopResult()]
    parts[0].phases = [LoopPhase(made: 1), LoopPhase(made: 10)]
    parts[1].phases = [LoopPhase(made: 2), LoopPhase(made: 20)]
    parts[1].phases[1].recovery.record(7)
    let merged = LoopResult.merged(parts)
    #expect(merged.phases.map(\.made) == [3, 30])
    #expect(merged.phases[1].recovery.totalCount == 1)
  }

  // MARK: Steps

  @Test func `a step is reached by all loops and taken on the parent's order`() {
    let shared = RunState(loops: 2)
    shared.arrive()
    #expect(shared.stepsReached == 0)
    shared.arrive()
    #expect(shared.stepsReached == 1)
    #expect(shared.moment(of: 0) == nil)
    shared.take(at: Instant(nanoseconds: 5))
    #expect(shared.moment(of: 0) == Instant(nanoseconds: 5))
    #expect(shared.moment(of: 1) == nil)
  }

  @Test func `a run has as many processes as its descriptors need`() {
    #expect(WorkerGroup.processes(connections: 100, asked: 0, limit: 19_000) == 1)
    #expect(WorkerGroup.processes(connections: 19_000, asked: 0, limit: 19_000) == 1)
    #expect(WorkerGroup.processes(connections: 19_001, asked: 0, limit: 19_000) == 2)
    #expect(WorkerGroup.processes(connections: 60_000, asked: 2, limit: 19_000) == 4)
    #expect(WorkerGroup.processes(connections: 100, asked: 3, limit: 19_000) == 3)
  }

  // MARK: Processes

  @Test func `a wait ends with the process, after its time, or with another event`() throws {
    var child = try ChildProcess.spawn(Command("sleep", ["600"]))
    let descriptor = try ProcessDescriptor(child.processIdentifier)
    #expect(try child.wait(milliseconds: 20) == nil)
    let news = try Sockets.pair()
    let word: [UInt8] = [1]
    #expect(word.withRawSpan { news.second.send($0) } == .bytes(1))
    let endless: Int64 = 3_600_000
    #expect(try child.wait(milliseconds: endless, orReadable: news.first.rawValue) == nil)
    #expect(try !descriptor.awaitEnd(milliseconds: 0))
    try child.send(.kill)
    #expect(try child.wait(milliseconds: endless) == .signaled(9))
    #expect(try descriptor.awaitEnd(milliseconds: 0))
    let gone = child.processIdentifier
    #expect(throws: Errno.self) { _ = try ProcessDescriptor(gone) }
  }

  /// Two workers that cannot connect: each reports it, and both end.
  @Test func `two processes have one result`() throws {
    let works = [
      try WorkerGroupTests.work(settleSeconds: 1), try WorkerGroupTests.work(settleSeconds: 1),
    ]
    let workers = try WorkerGroup(
      works, progressSeconds: 60, executable: WorkerGroupTests.executable
    ) {
      Recorder(intervals: $0.intervals, gateway: { nil }, target: nil)
    }
    #expect(try !workers.await(step: 0, seconds: 30))
    let result = try workers.results()
    #expect(!result.problems.isEmpty)
    #expect((result.counters.closes["ECONNREFUSED"] ?? 0) > 0)
    for process in workers.processes { #expect(kill(process, 0) != 0) }
  }

  @Test func `a killed worker ends the run`() throws {
    let works = [
      try WorkerGroupTests.work(settleSeconds: 60), try WorkerGroupTests.work(settleSeconds: 60),
    ]
    var processes: [Int32] = []
    do {
      let workers = try WorkerGroup(
        works, progressSeconds: 60, executable: WorkerGroupTests.executable
      ) {
        Recorder(intervals: $0.intervals, gateway: { nil }, target: nil)
      }
      processes = workers.processes
      kill(processes[1], SIGKILL)
      let failure = #expect(throws: WorkerFailure.self) { try workers.await(step: 0, seconds: 30) }
      #expect(failure?.description.contains("process 1") == true)
    }
    for process in processes { #expect(kill(process, 0) != 0) }
  }

  /// When the parent is killed, the channel closes, and the worker ends.
  @Test func `no worker outlives the parent`() throws {
    var command = Command(WorkerGroupTests.executable, [Worker.name])
    command.input = .socket
    command.output = .discard
    var child = try ChildProcess.spawn(command)
    do {
      guard let socket = child.takeSocket() else { throw ChannelFailure.closed }
      let channel = try Channel(socket)
      try channel.send(WorkerOrder.work(WorkerGroupTests.work(settleSeconds: 3_600)))
      // The worker is running.
      while try channel.receive(WorkerReport.self, milliseconds: 1_000) == nil {}
    }
    #expect(try child.wait() == .exited(3))
  }
}

extension SocketPair {
  consuming func channels() throws -> (Channel, Channel) {
    let near = try Channel(first)
    return (near, try Channel(second))
  }
}
