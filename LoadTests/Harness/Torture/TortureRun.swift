/// Runs a torture: inject a fault, wait for recovery, verify, inject the next one.
import Foundation
import Kernel
import Primitives
import Synchronization

final class TortureRun {
  private let options: Torture
  private let stage: TortureProcesses
  private let plan: FaultPlan
  private let signals: SignalDescriptor
  private let seed: UInt64
  private var random: RandomStream
  private var report: TortureReport
  private var isInterrupted = false
  private let start = SystemClock.now()
  private let recorder: Recorder
  private var loadBegan: Instant?
  private var events: [RunRecord.Event] = []

  /// The whole table is compared once in this many cycles.
  private static let fullEvery = 10
  private static let warmMilliseconds: Int64 = 1_500
  private static let pauseMicroseconds: UInt32 = 2_000
  /// Tolerated growth of the gateway between start and end: connections of PostgreSQL come and go,
  /// and a burst leaves free heap behind.
  static let descriptorSlack = 16
  static let memorySlackBytes = 32 << 20

  init(_ options: Torture, seed: UInt64, folder: String) throws {
    self.options = options
    self.seed = seed
    // Before any thread starts, because a thread would receive the signals.
    signals = try SignalDescriptor([.interrupt, .terminate])
    SignalDescriptor.ignoreBrokenPipes()
    plan = FaultPlan(seed: seed, kinds: options.kinds)
    random = RandomStream(seed: seed &+ 4)
    report = TortureReport(seed: seed, folder: folder)
    let stage = try TortureProcesses(options, seed: seed, folder: folder)
    self.stage = stage
    // Outages are known from the faults, and a restarted gateway's /metrics begin at 0.
    recorder = Recorder(
      intervals: stage.shared.intervals, gateway: { stage.gateway.process.map { Int($0) } },
      target: nil)
  }

  /// Adds the figures of every second and the faults to the record.
  func fill(_ record: inout RunRecord) {
    record.events = events
    recorder.fill(
      &record, messages: report.counters.acked, deliveries: report.counters.delivered)
  }

  func run() throws -> TortureReport {
    defer { stage.close() }
    try stage.open(seed: seed)
    guard awaitAnswer(to: .settle) else {
      return conclude("not all clients could connect and subscribe")
    }
    _ = pause(until: SystemClock.now().advanced(byMilliseconds: TortureRun.warmMilliseconds))
    guard awaitAnswer(to: .recover(isFull: false, tamper: nil)) else { return conclude("no load") }
    report.before = stage.gateway.sample().map { .init($0) }
    loadBegan = SystemClock.now()
    recorder.begin(stage.shared.total().counts)
    for number in 0..<options.cycles where !isInterrupted {
      guard try cycle(number) else { return conclude(nil) }
    }
    guard awaitAnswer(to: .finish) else {
      return conclude("not all clients reached the end of the log")
    }
    report.after = stage.gateway.sample().map { .init($0) }
    report.judgeResources()
    if isInterrupted { report.problems.append("interrupted") }
    return conclude(nil)
  }

  private func conclude(_ problem: String?) -> TortureReport {
    if let problem, report.problems.isEmpty { report.problems.append(problem) }
    recorder.end(stage.shared.total().counts)
    report.seconds = Double(SystemClock.now().milliseconds(since: start)) / 1000
    report.gatewayStarts = stage.gateway.starts
    for proxy in [stage.clientProxy, stage.databaseProxy] {
      report.linksBroken += proxy.control.broken.load(ordering: .relaxed)
      report.commitsLost += proxy.control.commitsLost.load(ordering: .relaxed)
    }
    report.judge()
    return report
  }

  // MARK: One cycle

  /// False after a broken promise, which ends the run.
  private func cycle(_ number: Int) throws -> Bool {
    let faults = plan.cycle(number)
    note(faults)
    report.cycles += 1
    for fault in faults { report.faults[fault.kind.rawValue, default: 0] += 1 }
    let problemsBefore = report.problems.count
    try play(faults)
    let lifted = SystemClock.now()
    let isFull = (number + 1) % TortureRun.fullEvery == 0
    let tamper = number == options.cycles - 1 ? options.tamper : nil
    let isBack = !isInterrupted && awaitAnswer(to: .recover(isFull: isFull, tamper: tamper))
    let recovery = SystemClock.now().milliseconds(since: lifted)
    report.longestRecoveryMilliseconds = max(report.longestRecoveryMilliseconds, recovery)
    printLine(line(number + 1, faults, recovery))
    if isInterrupted { return true }
    let isWell = isBack && report.violations.isEmpty && report.problems.count == problemsBefore
    if !isWell {
      printLine("cycle \(number + 1), seed \(seed):")
      for text in report.violations.examples + report.problems { printLine("  \(text)") }
    }
    return isWell || isBack && options.keepGoing
  }

  private func note(_ faults: [Fault]) {
    guard let loadBegan else { return }
    let begin = Double(SystemClock.now().milliseconds(since: loadBegan)) / 1000
    events += faults.map { fault in
      RunRecord.Event(
        name: fault.kind.rawValue, atSeconds: rounded(begin + Double(fault.at) / 1000),
        lastsSeconds: Double(fault.lasts) / 1000)
    }
  }

  private func line(_ number: Int, _ faults: [Fault], _ recovery: Int64) -> String {
    let names = faults.map { fault in
      var text = "\(fault.kind.rawValue) at \(fault.at) ms"
      if fault.lasts > 0 { text += " for \(fault.lasts) ms" }
      return text
    }
    return [
      "cycle \(number)", names.joined(separator: " + "), "recovered in \(recovery) ms",
      "\(report.counters.made) messages", "\(report.counters.acked) acked",
      "\(report.counters.delivered) shown", "\(report.violations.total) violations",
    ].joined(separator: " · ")
  }

  /// Starts and ends the faults of a cycle, each at its time.
  private func play(_ faults: [Fault]) throws {
    let begin = SystemClock.now()
    var steps = faults.flatMap { [($0.at, $0, true), ($0.ends, $0, false)] }
    // Stable order: at the same moment starts come before ends.
    steps.sort { ($0.0, $0.2 ? 0 : 1) < ($1.0, $1.2 ? 0 : 1) }
    let isAlone = faults.count == 1
    for (at, fault, begins) in steps {
      if !isInterrupted { _ = pause(until: begin.advanced(byMilliseconds: at)) }
      // Started faults are ended even after Ctrl-C.
      if begins, isInterrupted { return }
      if begins {
        try inflict(fault, isAlone: isAlone)
      } else {
        try lift(fault)
      }
    }
  }

  private func inflict(_ fault: Fault, isAlone: Bool) throws {
    switch fault.kind {
    case .killGateway: try stage.gateway.kill()
    case .drainGateway:
      let status = try stage.gateway.drain()
      // Without its database the gateway cannot store accepted messages, and may exit with an
      // error.
      if status != .exited(0), isAlone || status == nil {
        report.problems.append(
          "the gateway ended with \(status.map { "\($0)" } ?? "nothing in time") on SIGTERM")
      }
    case .killBackend, .terminateBackends:
      let backends = try stage.database.backends()
      if fault.kind == .terminateBackends { return try stage.database.terminate(backends) }
      if let one = backends.randomElement(using: &random) { Glibc.kill(one, SIGKILL) }
    case .stopDatabase: try stage.database.stopImmediately()
    case .freezeDatabase: try stage.database.freeze()
    case .cutClients, .resetClients, .stallClients, .delayClients, .throttleClients:
      stage.clientProxy.control.order(ProxyOrder(fault))
    case .cutDatabase, .resetDatabase, .stallDatabase, .throttleDatabase, .cutBatch, .loseCommit:
      stage.databaseProxy.control.order(ProxyOrder(fault))
    }
  }

  private func lift(_ fault: Fault) throws {
    switch fault.kind {
    case .killGateway, .drainGateway:
      let url = stage.databaseURLs.randomElement(using: &random) ?? ""
      try stage.gateway.start(databaseURL: url)
    case .stopDatabase: try stage.database.startAgain()
    case .freezeDatabase: stage.database.thaw()
    default: break
    }
  }

  // MARK: Waiting

  /// Sends a request to the clients and waits for the answer. False when none came in time, or a
  /// process ended unexpectedly; the report has the reason.
  private func awaitAnswer(to request: TortureRequest) -> Bool {
    stage.control.send(request)
    let limit = SystemClock.now().advanced(byMilliseconds: Int64(options.recoverySeconds) * 1000)
    while SystemClock.now() < limit {
      if let answer = stage.control.takeAnswer() {
        take(answer)
        return true
      }
      if !pause(until: SystemClock.now().advanced(byMilliseconds: 5)) {
        return false
      }
    }
    if request == .giveUp { return false }
    report.problems.append("not recovered within \(options.recoverySeconds) s")
    _ = awaitAnswer(to: .giveUp)
    return false
  }

  private func take(_ answer: TortureAnswer) {
    report.counters = answer.counters
    report.latencies = answer.latencies
    report.violations = answer.violations
    report.rowsCompared = answer.rowsCompared
    report.rowsStored = answer.rowsStored
    report.problems += answer.problems.filter { !report.problems.contains($0) }
  }

  /// False when a process ended unexpectedly, or after a signal.
  private func pause(until moment: Instant) -> Bool {
    repeat {
      if signals.next() != nil {
        if isInterrupted { exit(130) }
        isInterrupted = true
      }
      recorder.tick(stage.shared.total().counts)
      do {
        if let accident = try stage.accident() {
          if !report.problems.contains(accident) { report.problems.append(accident) }
          return false
        }
      } catch {
        report.problems.append("\(error)")
        return false
      }
      usleep(TortureRun.pauseMicroseconds)
    } while SystemClock.now() < moment
    return true
  }
}

extension ProxyOrder {
  /// The proxy's order for a network fault.
  init(_ fault: Fault) {
    share = fault.share
    switch fault.kind {
    case .cutClients, .cutDatabase: self.fault = .cut
    case .resetClients, .resetDatabase: self.fault = .reset
    case .stallClients, .stallDatabase: self.fault = .stall(milliseconds: fault.lasts)
    case .delayClients: self.fault = .delay(milliseconds: fault.lasts, atMost: 250)
    case .throttleClients, .throttleDatabase:
      self.fault = .throttle(milliseconds: fault.lasts, bytesPerSecond: fault.bytes)
    case .cutBatch:
      let cut = ProxyFault.cutAfter(bytes: fault.bytes, milliseconds: max(1, fault.lasts))
      self = ProxyOrder(fault: cut, share: 1)
    case .loseCommit:
      self = ProxyOrder(fault: .loseCommit(milliseconds: fault.lasts), share: 1)
    case .killGateway, .drainGateway, .killBackend, .terminateBackends, .stopDatabase,
      .freezeDatabase:
      preconditionFailure("\(fault.kind) is no network fault")
    }
  }
}
