/// Runs `million`: starts everything, grows in steps, measures each, and stops everything.
import Foundation
import Histogram
import Kernel
import Postgres
import Primitives
import Synchronization

final class MillionRun {
  let options: Million
  let plan: MillionPlan
  private let folder: String
  /// Created before any thread, so that a Ctrl-C during the start ends it in order.
  private let signals: SignalDescriptor
  private var wasInterrupted = false
  private(set) var steps: [MillionStep] = []
  /// Before the first widget, with all gateways.
  private(set) var empty = MillionSample()
  /// Before anything was started.
  private let before = KernelMemory.now()
  private(set) var database = MillionDatabase.State()
  /// The reason why the growth ended; nil: every widget is held.
  private(set) var bound: String?
  private var lastWatch = Instant.zero
  private var problems: [String] = []

  /// Of the speakers, which connect beside the silent widgets.
  private static let connectingMax = 32
  private static let attendMilliseconds: Int64 = 50
  private static let watchMilliseconds: Int64 = 200
  /// Until the gateways have finished what they do after their start.
  private static let calmMilliseconds: Int64 = 5_000
  private static let stepSeconds = 120
  /// A machine that is busy opens slower than the rate.
  private static let slowness = 6.0

  init(_ options: Million) throws {
    self.options = options
    plan = options.plan
    signals = try SignalDescriptor([.interrupt, .terminate])
    folder = try options.dataDir.map { URL(filePath: $0).path } ?? MillionRun.newFolder()
    try FileManager.default.createDirectory(
      atPath: folder + "/tokens", withIntermediateDirectories: true)
  }

  /// PostgreSQL's account must have access, and a socket's path may have 107 bytes.
  private static func newFolder() throws -> String {
    let folder = "/tmp/chirrup-million-\(String(Random.uint64(), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o711])
    return folder
  }

  func measure() throws -> CrowdRecord {
    note(
      "\(Format.count(options.widgets)) widgets, \(plan.gateways) gateways, "
        + "\(plan.processes + 1) client processes; data and logs in \(folder)")
    let database = try MillionDatabase(
      url: options.databaseUrl, folder: folder, gateways: plan.gateways, loops: options.loops)
    defer { database.stop() }
    let gateways = try MillionGateways(
      plan.gateways, binary: options.chirrup, folder: folder, loops: options.loops)
    defer { gateways.stop() }
    let begin = SystemClock.now()
    try gateways.start(databaseURL: database.url) { isInterrupted() }
    note("\(plan.gateways) gateways are ready after \(seconds(since: begin)) s")
    let (result, recorder) = try conduct(database, gateways)
    problems += gateways.unexpectedEnds()
    gateways.stop()
    problems += gateways.problems
    var record = MillionReport(self, result: result).record()
    for problem in problems { record.fail(problem) }
    recorder.fill(
      &record.record, messages: result.counters.acked, deliveries: result.counters.delivered)
    if record.passed, options.dataDir == nil {
      try FileManager.default.removeItem(atPath: folder)
    }
    if record.passed, bound != nil { record.record.verdict = .missed }
    return record
  }

  // MARK: The clients

  private func conduct(
    _ database: MillionDatabase, _ gateways: MillionGateways
  ) throws -> (LoopResult, Recorder) {
    let speakers = try Credentials.make(
      chirrup: options.chirrup, kind: "visitor", count: plan.speakers(of: options.widgets),
      workspace: "demo", database: ["--database-url", database.url], lifetimeSeconds: 86_400)
    let works = works(speakers, gateways.targets, databaseURL: database.url)
    let workers = try WorkerGroup(works, progressSeconds: options.progressSeconds) {
      // The processor time and memory of all gateways are measured at each step instead.
      Recorder(intervals: $0.intervals, gateway: { nil }, target: nil)
    }
    workers.watch = { [unowned self, unowned workers] in watch(workers) }
    let stage = MillionStage(
      database: database, gateways: gateways, workers: workers, clients: workers.processes)
    guard try workers.await(step: 0, seconds: MillionRun.stepSeconds),
      try workers.wait(milliseconds: MillionRun.calmMilliseconds)
    else { return (try workers.results(), workers.recorder) }
    empty = stage.sample()
    for (number, size) in plan.sizes.enumerated() {
      guard try grow(to: size, number, stage) else { break }
    }
    self.database = try database.state()
    if bound == nil {
      try workers.take()
    } else {
      workers.shared.stop.store(true, ordering: .relaxed)
    }
    var result = try workers.results()
    // Speakers that were connecting when the memory ran short have not failed.
    if bound != nil { result.didSettle = true }
    return (result, workers.recorder)
  }

  private func works(
    _ speakers: [Credential], _ targets: [Target], databaseURL: String
  ) -> [WorkerTask] {
    var plan = LoadPlan(
      target: targets[0],
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: options.bodyBytes, ratePerSecond: 1, spacing: .poisson, seconds: 0,
      operatorShare: 0, settleSeconds: openSeconds(options.widgets), drainSeconds: 30,
      backoffMaxMilliseconds: 5_000, seed: Random.uint64())
    plan.gateways = targets
    plan.isInTurn = true
    plan.connectingMax = MillionRun.connectingMax
    var works = (0..<self.plan.processes).map { process in
      WorkerTask(
        plan: plan, groups: [ClientGroup()],
        course: .million(
          MillionCourse(
            sizes: self.plan.sizes(of: process), rate: options.rate / Double(self.plan.processes),
            gateways: targets, process: process, tokens: folder + "/tokens",
            openSeconds: openSeconds(options.widgets), openingMax: self.plan.openingsOfProcess)),
        reportMilliseconds: 500)
    }
    var speaking = WorkerTask(
      plan: plan, groups: [.speakers(speakers)],
      course: .growth(
        GrowthCourse(
          sizes: self.plan.sizes.map { size in
            let count = self.plan.speakers(of: size)
            return GrowthCourse.Size(
              clients: 2 * count, sessions: count,
              rate: Double(count * options.messages) / Double(options.seconds))
          }, seconds: options.seconds, awaitsStart: true)), databaseURL: databaseURL)
    speaking.tamper = options.tamper
    works.append(speaking)
    return works
  }

  private func openSeconds(_ widgets: Int) -> Int {
    Int(Double(widgets) / options.rate * MillionRun.slowness) + MillionRun.stepSeconds
  }

  // MARK: A step

  /// False when the growth ends here.
  private func grow(to size: Int, _ number: Int, _ stage: MillionStage) throws -> Bool {
    let workers = stage.workers
    var step = MillionStep(widgets: size)
    step.opened = size - (steps.last?.widgets ?? 0)
    guard hasRoom(for: step.opened) else { return false }
    let preparation = SystemClock.now()
    let counts = (0..<plan.processes).map { process in
      let sizes = plan.sizes(of: process)
      return sizes[number] - (number == 0 ? 0 : sizes[number - 1])
    }
    let isPrepared = try MillionTokens.make(
      counts, step: number, folder: folder + "/tokens", chirrup: options.chirrup,
      databaseURL: stage.database.url
    ) { try workers.wait(milliseconds: MillionRun.attendMilliseconds) }
    guard isPrepared else { return ended() }
    step.prepareSeconds = seconds(since: preparation)
    let begin = try stage.use()
    let opening = SystemClock.now()
    try workers.take()
    guard try workers.await(step: 3 * number + 1, seconds: openSeconds(options.widgets) + 30) else {
      return ended()
    }
    step.openSeconds = seconds(since: opening)
    step.opening = try stage.use().since(begin)
    guard try workers.wait(milliseconds: Int64(options.settleSeconds) * 1000) else {
      return ended()
    }
    return try rest(step, number, stage) && speak(number, stage)
  }

  private func rest(_ found: MillionStep, _ number: Int, _ stage: MillionStage) throws -> Bool {
    var step = found
    let begin = try stage.use()
    guard try stage.workers.wait(milliseconds: Int64(options.restSeconds) * 1000) else {
      return ended()
    }
    step.rest = try stage.use().since(begin)
    step.sample = stage.sample()
    steps.append(step)
    note(MillionReport.line(step, after: empty))
    return true
  }

  private func speak(_ number: Int, _ stage: MillionStage) throws -> Bool {
    let limit = options.seconds + MillionRun.stepSeconds
    try stage.workers.take()
    guard try stage.workers.await(step: 3 * number + 2, seconds: limit) else { return ended() }
    try stage.workers.take()
    guard try stage.workers.await(step: 3 * number + 3, seconds: limit) else { return ended() }
    let online = stage.workers.shared.total()
    guard online.online == online.clients else {
      bound =
        "lost connections: \(Format.count(online.online)) of "
        + "\(Format.count(online.clients)) are left"
      return false
    }
    return true
  }

  private func hasRoom(for more: Int) -> Bool {
    let available = KernelMemory.available()
    let each =
      steps.last.map { last in
        let used = empty.kernel.availableBytes - last.sample.kernel.availableBytes
        return max(used / max(1, last.widgets), MillionPlan.bytesAssumed / 2)
      } ?? MillionPlan.bytesAssumed
    bound = MillionPlan.shortage(
      more: more, bytesEach: each, available: available, floor: options.floorMebibytes << 20)
    return bound == nil
  }

  /// A worker, Ctrl-C or the watch over the memory has ended the run.
  private func ended() -> Bool {
    if bound == nil { problems.append("the run was ended early") }
    return false
  }

  /// Called often while the workers run.
  private func watch(_ workers: WorkerGroup) {
    let now = SystemClock.now()
    guard bound == nil, now.milliseconds(since: lastWatch) >= MillionRun.watchMilliseconds else {
      return
    }
    lastWatch = now
    bound = MillionPlan.alarm(
      available: KernelMemory.available(), floor: options.floorMebibytes << 20)
    if bound != nil { workers.shared.stop.store(true, ordering: .relaxed) }
  }

  private func isInterrupted() -> Bool {
    if signals.next() != nil { wasInterrupted = true }
    return wasInterrupted
  }

  private func seconds(since begin: Instant) -> Double {
    rounded(Double(SystemClock.now().nanoseconds - begin.nanoseconds) / 1e9, places: 1)
  }

  private func note(_ line: String) {
    FileHandle.standardError.write(Data((line + "\n").utf8))
  }
}

/// The processes that run during `million`, and their measurements.
struct MillionStage {
  let database: MillionDatabase
  let gateways: MillionGateways
  let workers: WorkerGroup
  let clients: [Int32]
  private let postmaster: Int?

  init(
    database: MillionDatabase, gateways: MillionGateways, workers: WorkerGroup, clients: [Int32]
  ) {
    self.database = database
    self.gateways = gateways
    self.workers = workers
    self.clients = clients
    postmaster = database.postmaster
  }

  func sample() -> MillionSample {
    var sample = MillionSample()
    sample.kernel = KernelMemory.now()
    sample.gateways = GroupMemory(gateways.processes)
    sample.clients = GroupMemory(clients.map { Int($0) })
    if let postmaster {
      sample.postgres = GroupMemory([postmaster] + LocalGateway.children(of: postmaster))
    }
    return sample
  }

  func use() throws -> MillionUse {
    var use = MillionUse()
    use.gateways = seconds(of: gateways.processes)
    use.clients = seconds(of: clients.map { Int($0) })
    use.postgres = postmaster.map { LocalGateway.family(of: $0) } ?? 0
    use.transactions = try database.state().transactions
    use.pongs = workers.shared.total().pongs
    return use
  }

  private func seconds(of processes: [Int]) -> Double {
    processes.reduce(0) { $0 + Double(ProcessorTime.nanoseconds(of: $1) ?? 0) / 1e9 }
  }
}

extension ClientGroup {
  /// Each visitor in two tabs, which a plan with several gateways opens at different ones.
  static func speakers(_ credentials: [Credential]) -> ClientGroup {
    var group = ClientGroup()
    for credential in credentials {
      guard let session = credential.session else { continue }
      group.sessions.append(session)
      for _ in 0..<2 {
        group.members.append(
          Member(
            number: group.members.count, role: .visitor, token: credential.token,
            sessions: [group.sessions.count - 1]))
      }
    }
    return group
  }
}
