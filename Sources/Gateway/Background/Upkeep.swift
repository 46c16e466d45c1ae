import Attachments
import Chat
import Conversations
import Directory
import Kernel
import Logging
import Postgres
import Primitives
import Settings
import Synchronization

/// Closes and removes what is past its time, and counts conversations for analytics: of several
/// gateways on a database the oldest, in the window of the settings, in small steps. Every two
/// seconds a round takes at most `stepsMax` steps of each task that is due; each step is a
/// statement with a bound. Those that read much use the connections of `ExpensiveReaders`, so that
/// nothing waits for them. At the end of the window a round stops before its next step.
final class Upkeep: Sendable {
  /// Steps of one task in a round.
  static let stepsMax = 8
  /// Changes of conversations that one step counts, in some 50 ms. A conversation with several of
  /// them is counted once, so that smaller steps cost more: 500 nearly twice as much.
  static let countedMax: Int64 = 2_000
  /// Conversations that one step erases.
  static let erasedMax: Int64 = 20
  /// Between two thorough cleanings of attachments.
  static let thoroughMilliseconds: Int64 = 86_400_000
  /// Between two reads of the runs of other gateways.
  static let readMilliseconds: Int64 = 10_000

  /// The settings that matter here.
  struct Rules: Sendable, Equatable {
    var maintenance: MaintenanceSettings
    /// Of the tables' owner, as far as it is known.
    var ownerURL: String
    var statementSeconds: Int

    init(_ settings: Settings, databaseURL: String) {
      maintenance = settings.maintenance
      ownerURL = settings.migrationsURL ?? settings.databaseDirectURL ?? databaseURL
      statementSeconds = settings.limits.expensiveSeconds
    }

    func includes(_ task: UpkeepTask) -> Bool {
      switch task {
      case .resting, .deleted, .analytics, .attachments: true
      case .retention: maintenance.conversationDays > 0
      case .audit: maintenance.auditDays > 0
      }
    }
  }

  private struct State {
    var isRunning = false
    var rules: Rules
    /// As the oldest gateway has noted them in the database.
    var registered: Rules?
    /// When the runs of other processes are read again.
    var readAt = Instant.zero
    var records: [UpkeepTask: UpkeepRecord] = [:]
  }

  /// What a run keeps between its rounds. Only the round that runs uses it.
  private struct Runs {
    /// The end of the last page of open conversations.
    var resting = RestingConversations.Position.start
    var retention: RetentionSweep?
    var owner: OwnerDatabase?
    var cleaning: AttachmentCleaning?
    /// When the next cleaning is a thorough one.
    var thoroughAt = Instant.zero
  }

  /// Until when the window is open.
  private enum Opening { case until(Instant), closed, unknown }

  private typealias Step = RetentionSweep.Step

  private let database: any Database
  private let sessions: any Sessions
  private let statements: TimedStatements
  private let peers: Peers
  private let attachments: AttachmentFiles
  private let logger: Logger
  private let state: Mutex<State>
  private let runs = Mutex(Runs())

  init(
    database: any Database, sessions: any Sessions, peers: Peers, attachments: AttachmentFiles,
    rules: Rules, logger: Logger
  ) {
    self.database = database
    self.sessions = sessions
    self.peers = peers
    self.attachments = attachments
    self.logger = logger
    statements = TimedStatements(database: database, logger: logger)
    state = Mutex(State(rules: rules))
  }

  /// Starts a round on the first loop. Does nothing while one is running.
  func start(on executor: LoopExecutor) {
    let rules = state.withLock { state -> Rules? in
      guard !state.isRunning else { return nil }
      state.isRunning = true
      return state.rules
    }
    guard let rules else { return }
    Task(executorPreference: executor) {
      await CurrentLoop.$index.withValue(0) { await self.round(rules) }
      self.state.withLock { $0.isRunning = false }
    }
  }

  /// Takes over changed settings with the next round, in which every task is due.
  func use(_ rules: Rules) {
    state.withLock { state in
      guard state.rules != rules else { return }
      state.rules = rules
      for task in UpkeepTask.allCases { state.records[task]?.makeDue() }
    }
  }

  /// The gateway stops.
  func stop() { closeOwner() }

  private func closeOwner() { runs.withLock { $0.owner.take() }?.stop() }

  // MARK: Figures

  /// Of each task that the settings include, for `/metrics`.
  var figures: [(task: UpkeepTask, record: UpkeepRecord)] {
    state.withLock { state in
      UpkeepTask.allCases.filter(state.rules.includes).map {
        ($0, state.records[$0] ?? UpkeepRecord())
      }
    }
  }

  private func record(_ task: UpkeepTask) -> UpkeepRecord {
    state.withLock { $0.records[task] ?? UpkeepRecord() }
  }

  private func change(_ task: UpkeepTask, _ body: (inout UpkeepRecord) -> Void) {
    state.withLock { body(&$0.records[task, default: UpkeepRecord()]) }
  }

  // MARK: A round

  private func round(_ rules: Rules) async {
    let isOldest = peers.isOldest
    await readRuns(rules, isOldest)
    await work(rules, isOldest)
    await storeRuns(rules)
  }

  private func work(_ rules: Rules, _ isOldest: Bool) async {
    // A gateway that is no longer the oldest stops as at the end of a window.
    for task in UpkeepTask.allCases where !isOldest || !rules.includes(task) {
      await interrupt(task)
    }
    let now = SystemClock.now()
    let due = UpkeepTask.allCases.filter { rules.includes($0) && record($0).isDue(now) }
    guard isOldest, !due.isEmpty else { return }
    let opening = await opening(of: rules.maintenance.window)
    for task in due {
      switch opening {
      case .until(let end): await work(task, rules, steps: Upkeep.stepsMax, until: end)
      case _ where !task.keepsToWindow: await work(task, rules, steps: 1, until: .never)
      case .closed: await interrupt(task)
      case .unknown: await end(task, .failed)
      }
    }
  }

  private func opening(of window: MaintenanceWindow?) async -> Opening {
    guard let window else { return .until(.never) }
    let statement = LocalTime.secondOfDay(in: window.zone)
    guard let second = await statements.answer(statement, for: "time in maintenance.window") else {
      return .unknown
    }
    guard let left = window.secondsLeft(at: second) else { return .closed }
    return .until(SystemClock.now().advanced(byMilliseconds: left * 1_000))
  }

  private func work(
    _ task: UpkeepTask, _ rules: Rules, steps: Int, until end: Instant
  ) async {
    change(task) { $0.beginUnlessUnderWay(SystemClock.now()) }
    for _ in 0..<steps {
      guard SystemClock.now() < end else { return await interrupt(task) }
      switch await step(of: task, rules) {
      case .more(let rows): change(task) { $0.add(rows) }
      case .done: return await self.end(task, .done)
      case .failed: return await self.end(task, .failed)
      }
    }
  }

  private func interrupt(_ task: UpkeepTask) async {
    guard record(task).isUnderWay else { return }
    await end(task, .interrupted)
  }

  private func end(_ task: UpkeepTask, _ outcome: UpkeepRun.Outcome) async {
    if task == .retention, let sweep = runs.withLock({ $0.retention.take() }), outcome != .done {
      _ = await sweep.announce(statements, on: database)
    }
    if task == .audit { closeOwner() }
    let pause = task.pauseMilliseconds
    change(task) {
      $0.end(outcome, pause: pause, now: SystemClock.now(), wall: SystemClock.wallTime())
    }
    log(task, outcome)
  }

  /// Analytics have too many runs for the log.
  private func log(_ task: UpkeepTask, _ outcome: UpkeepRun.Outcome) {
    guard let run = record(task).lastRun, task.keepsToWindow,
      outcome == .interrupted || run.rows > 0
    else { return }
    let text =
      switch outcome {
      case .done: "upkeep has finished a task"
      case .failed: "upkeep could not finish a task, and tries again in a minute"
      case .interrupted: "upkeep stops before a task is done, and goes on in the next window"
      }
    logger.info(
      "\(text)",
      metadata: [
        "task": "\(task.rawValue)", "rows": .stringConvertible(run.rows),
        "duration_ms": .stringConvertible(run.milliseconds),
      ])
  }

  // MARK: The database

  /// The runs of other gateways, and of this one before it was started. The oldest gateway notes
  /// which tasks its settings include.
  private func readRuns(_ rules: Rules, _ isOldest: Bool) async {
    let now = SystemClock.now()
    let isRegistration = isOldest && state.withLock { $0.registered != rules }
    guard isRegistration || state.withLock({ now >= $0.readAt }) else { return }
    let names = UpkeepTask.allCases.filter(rules.includes).map(\.rawValue)
    let others = UpkeepTask.allCases.filter { !rules.includes($0) }.map(\.rawValue)
    let statement =
      isRegistration
      ? UpkeepRun.register(names, excluding: others, now: SystemClock.wallTime()) : UpkeepRun.all
    guard let runs = await statements.answer(statement, for: "the last runs of upkeep") else {
      return
    }
    state.withLock { state in
      state.readAt = now.advanced(byMilliseconds: Upkeep.readMilliseconds)
      if isRegistration { state.registered = rules }
      for run in runs {
        guard let task = UpkeepTask(rawValue: run.task) else { continue }
        state.records[task, default: UpkeepRecord()].take(run)
      }
    }
  }

  private func storeRuns(_ rules: Rules) async {
    for task in UpkeepTask.allCases where rules.includes(task) {
      let record = record(task)
      guard let end = record.unstored(SystemClock.now()) else { continue }
      let statement = UpkeepRun.store(end, of: task.rawValue, succeededAt: record.lastSuccessAt)
      switch await statements.answer(statement, for: "the last runs of upkeep") {
      case true?: change(task) { $0.noteStored(end, SystemClock.now()) }
      // A restore has taken its row away.
      case false?: state.withLock { $0.registered = nil }
      case nil: break
      }
    }
  }

  // MARK: The tasks

  private func step(of task: UpkeepTask, _ rules: Rules) async -> Step {
    switch task {
    case .resting: return await closeResting()
    case .attachments: return await clean()
    case .deleted:
      // Most runs find nothing, and need no connection for expensive statements.
      let question = ConversationDeletion.isErasureDue
      let purpose = "search for deleted conversations"
      guard let isDue = await statements.answer(question, for: purpose) else { return .failed }
      guard isDue else { return .done }
      let erased = await statements.answer(
        ConversationDeletion.erase(limit: Upkeep.erasedMax),
        for: "erasure of deleted conversations", on: database.forExpensiveStatements)
      return counted(task, erased, of: Upkeep.erasedMax)
    case .analytics:
      let purpose = "figures of conversations"
      guard let isPending = await statements.answer(Analytics.isPending, for: purpose) else {
        return .failed
      }
      guard isPending else { return .done }
      // Nil while another session counts.
      let count = Analytics.count(limit: Upkeep.countedMax)
      let counted = await statements.answer(
        count, for: purpose, on: database.forExpensiveStatements)
      return self.counted(task, counted.map { $0 ?? 0 }, of: Upkeep.countedMax)
    case .retention:
      let days = rules.maintenance.conversationDays
      // The days may have changed since.
      let started = runs.withLock { $0.retention }.flatMap { $0.days == days ? $0 : nil }
      var sweep = started ?? RetentionSweep(days: days)
      let step = await sweep.step(statements, on: database.forExpensiveStatements)
      let next = sweep
      runs.withLock { $0.retention = next }
      return step
    case .audit:
      guard let owner = owner(rules) else { return .failed }
      let pruned = await statements.answer(
        AuditLog.prune(
          days: rules.maintenance.auditDays, workspace: nil, author: "rule"),
        for: "removal of old entries of the audit log", on: owner)
      return counted(task, pruned, of: AuditLog.prunedPerBatch)
    }
  }

  private func clean() async -> Step {
    let now = SystemClock.now()
    var cleaning = runs.withLock { runs in
      runs.cleaning ?? AttachmentCleaning(isThorough: now >= runs.thoroughAt)
    }
    let step = await cleaning.step(attachments, statements, on: database)
    let next = cleaning
    runs.withLock { runs in
      if case .more = step { return runs.cleaning = next }
      runs.cleaning = nil
      guard step == .done, next.isThorough else { return }
      runs.thoroughAt = now.advanced(byMilliseconds: Upkeep.thoroughMilliseconds)
    }
    return step
  }

  /// Closes what rests in the next page of open conversations.
  private func closeResting() async -> Step {
    let position = runs.withLock { $0.resting }
    let page = await statements.answer(
      RestingConversations.close(after: position), for: "close of resting conversations")
    guard let page else { return .failed }
    for item in page.closed {
      sessions.changed(session: item.session, of: item.workspace)
      sessions.happened(
        WorkspaceNews(workspace: item.workspace, session: item.session, kind: .closed))
    }
    let rows = Int64(page.closed.count)
    runs.withLock { $0.resting = page.next ?? .start }
    guard page.next == nil else { return .more(rows: rows) }
    change(.resting) { $0.add(rows) }
    return .done
  }

  /// A step that found fewer rows than it may take has found the last ones.
  private func counted(_ task: UpkeepTask, _ rows: Int64?, of limit: Int64) -> Step {
    guard let rows else { return .failed }
    guard rows < limit else { return .more(rows: rows) }
    change(task) { $0.add(rows) }
    return .done
  }

  private func owner(_ rules: Rules) -> OwnerDatabase? {
    runs.withLock { runs in
      if let open = runs.owner { return open }
      runs.owner = try? OwnerDatabase(
        url: rules.ownerURL, seconds: rules.statementSeconds, logger: logger)
      return runs.owner
    }
  }
}

/// A connection as the owner of the tables, for the time of one run.
struct OwnerDatabase: Database {
  private let readers: ExpensiveReaders

  init(url: String, seconds: Int, logger: Logger) throws(Errno) {
    readers = try ExpensiveReaders(url: url, count: 1, seconds: seconds, logger: logger)
  }

  func run(_ query: Query) async throws(QueryFailure) -> Rows { try await readers.run(query).get() }

  func stop() { readers.stop() }
}
