import Chat
import Conversations
import Directory
import Engine
import Journal
import Kernel
import Logging
import Postgres
import Primitives

/// The loop's two connections to PostgreSQL: the writer commits batches; the reader answers
/// everything else, so that a slow read never queues ahead of a commit.
///
/// A turn calls in this order: `write`, `receive`, `takeAnswer` until it returns nil,
/// `sendQueries`, `takeAnswer` again, `watchReader`. The engine gets its answers here; answers for
/// other components of the loop are returned (`StoreAnswer`).
struct StoreDriver: ~Copyable {
  private var writer: Writer
  private var reader: QueryConnection
  private var queries = PendingQueries()
  private var registrations = StoreRegistrations()
  private(set) var batch = BatchInFlight()
  private var health: StoreHealth
  private var quarantine = QuarantineReports()
  private var generation = GenerationPoll()
  /// The name of the database that the writer has reached. Answers from another one are discarded.
  private(set) var name = ""
  private var url: String
  private let logger: Logger

  /// The batch that was sent to PostgreSQL and has no answer yet.
  struct BatchInFlight {
    var recordCount = 0
    /// When its first message came.
    var oldest: Instant?
    var submittedAt = Instant.zero
  }

  /// - Parameters:
  ///   - seed: spreads the retries of several writers.
  ///   - listen: the statement that subscribes the reader to notifications.
  init(url: String, seed: UInt64, listen: StaticString?, logger: Logger) {
    self.url = url
    writer = Writer(url: url, seed: seed)
    reader = QueryConnection(url: url, listen: listen)
    health = StoreHealth(logger: logger)
    self.logger = logger
  }

  /// Changes the address of PostgreSQL. Working connections are replaced when they are idle, and
  /// work of the meantime waits.
  mutating func use(url: String, now: Instant) {
    guard url != self.url else { return }
    self.url = url
    writer.use(url: url, now: now)
    reader.use(url: url, now: now)
  }

  /// Whether both connections work.
  var isReady: Bool { isWriterReady && reader.isReady }
  var isWriterReady: Bool { writer.status.health == .ready }
  var canRead: Bool { reader.isReady }
  var nextDeadline: Instant { min(writer.status.nextDeadline, reader.nextDeadline) }

  /// Records an event of epoll for one of the two sockets.
  mutating func note(_ datum: UInt64) {
    if datum == Datum.writer { registrations.isWriterReady = true }
    if datum == Datum.reader { registrations.isReaderReady = true }
  }

  // MARK: Writing

  /// Whether the writer takes a batch now.
  var canWrite: Bool { writer.status.isReady }

  /// Receives from the writer's socket, and submits batches as long as each is answered at once.
  mutating func write(
    _ engine: inout Engine, _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics, now: Instant
  ) {
    let isDue = registrations.isWriterReady || now >= writer.status.nextDeadline
    registrations.isWriterReady = false
    guard isDue || writer.status.isReady && engine.hasBatch else { return }
    if isDue { writer.advance(now: now) }
    noteDatabase(&engine, now)
    settleBatches(&engine, &metrics, now)
    while writer.status.isReady && engine.hasBatch {
      submit(&engine, now)
      writer.advance(now: now)
      noteDatabase(&engine, now)
      settleBatches(&engine, &metrics, now)
    }
    let registration = StoreRegistrations.Registration(
      serial: writer.status.registration, descriptor: writer.status.descriptor,
      wantsWrite: writer.status.wantsWrite)
    registrations.watchWriter(registration, epoll, logger)
  }

  private mutating func submit(_ engine: inout Engine, _ now: Instant) {
    batch.oldest = engine.oldestQueued
    batch.submittedAt = now
    engine.submitBatch { records in
      batch.recordCount = records.count
      writer.submit(&records, now: now)
    }
  }

  private mutating func settleBatches(
    _ engine: inout Engine, _ metrics: inout LoopMetrics, _ now: Instant
  ) {
    // Must be current before outcomes are applied: sends after an unavailable one depend on it.
    engine.isStoreReachable = writer.status.isWorthTrying
    while writer.takeCompletion({ batch, outcomes in engine.committed(batch, outcomes) }) {
      let time = now.nanoseconds &- batch.submittedAt.nanoseconds
      metrics.fences = writer.fences
      metrics.durations.batch.add(time)
      metrics.durations.commit.add(time, times: batch.recordCount)
      metrics.durations.undelivered.begin(batch.recordCount, at: now)
      batch = BatchInFlight()
      storeQuarantined(&metrics, now)
    }
  }

  /// Stores messages that PostgreSQL will never accept in the table `quarantine`, over the reader's
  /// connection, so that the log never waits for it.
  private mutating func storeQuarantined(_ metrics: inout LoopMetrics, _ now: Instant) {
    let rows = writer.takeQuarantined()
    metrics.quarantine.dropped &+= rows.dropped
    guard let first = rows.rows.first else { return }
    quarantine.report(first, logger, now: now)
    for row in rows.rows
    where !enqueue(Quarantine.storeQuery(row), for: .quarantine, now: now) {
      metrics.quarantine.dropped &+= 1
    }
  }

  /// Detects a changed database, whose log may have gone back, before the engine gets any outcome.
  private mutating func noteDatabase(_ engine: inout Engine, _ now: Instant) {
    guard writer.status.store != name else { return }
    let isFirst = name.isEmpty
    name = writer.status.store
    engine.store = writer.status.store
    if !reader.store.isEmpty, reader.store != writer.status.store { reader.reconnect(now: now) }
    guard !isFirst else { return }
    logger.warning(
      "another database has taken over (failover or restore): all clients resynchronise with it")
    engine.storeReplaced()
  }

  // MARK: Health

  /// Compares the state of both connections with that of the last turn, and logs changes.
  ///
  /// - Returns: whether readiness has changed.
  mutating func noteHealth(_ engine: inout Engine, now: Instant) -> Bool {
    engine.isStoreReachable = writer.status.isWorthTrying
    let hasChanged = health.note(isReady: isReady)
    // It may be another server, or one that was restored.
    if hasChanged && isReady { generation.next = now }
    if !isReady, let fault { health.note(fault.reason, work: fault.work) }
    if writer.status.isPostponing != health.isPostponing {
      health.note(postponement: writer.status.isPostponing ? writer.status.postponement : nil)
    }
    return hasChanged
  }

  /// Nil without a fault, and while the first connections are being made.
  private var fault: (work: String, reason: String)? {
    if case .down(let reason) = writer.status.health { return ("writing", reason) }
    return reader.fault.map { ("reading", $0) }
  }

  // MARK: Reading

  /// Receives from the reader's socket.
  ///
  /// - Returns: whether it was due, an argument of `sendQueries`.
  mutating func receive(loop: Int, now: Instant) -> Bool {
    let isDue = registrations.isReaderReady || now >= reader.nextDeadline
    registrations.isReaderReady = false
    if isDue { reader.advance(now: now) }
    if reader.isReady {
      health.noteScope(isFirstLoop: loop == 0, reader.isPooled, canScope: reader.canScope)
    }
    return isDue
  }

  /// Sends the engine's reads and all queued queries.
  ///
  /// - Returns: whether the reader was advanced; then call `watchReader`.
  mutating func sendQueries(_ engine: inout Engine, isDue: Bool, now: Instant) -> Bool {
    var hasNew = false
    while queries.hasRoomForReads, let request = engine.effects.nextRead() {
      enqueue(request, &engine, now)
      hasNew = true
    }
    guard isDue || hasNew || queries.hasNew else { return false }
    queries.hasNew = false
    reader.advance(now: now)
    return true
  }

  mutating func watchReader(_ epoll: borrowing Epoll) {
    let registration = StoreRegistrations.Registration(
      serial: reader.registration, descriptor: reader.descriptor, wantsWrite: reader.wantsWrite)
    registrations.watchReader(registration, epoll, logger)
  }

  var pendingQueries: Int { queries.count }

  /// Whether answers or notifications are left for which the last turn had no time.
  var hasLeft: Bool { reader.hasAnswers || reader.hasNotifications }

  /// Whether the next turn can send reads of the engine.
  func isReadDue(_ engine: borrowing Engine) -> Bool {
    engine.effects.hasReads && queries.hasRoomForReads
  }

  private mutating func note(
    _ result: Result<Rows, QueryFailure>, of purpose: PendingQueries.Purpose, now: Instant
  ) {
    health.note(result, of: purpose)
    // Without a message the writer does not notice: /readyz would return 200 until the first one.
    if case .failure(.refused(.readOnlyTransaction, let message)) = result {
      reader.reconnect(now: now, because: message)
    }
  }

  // MARK: Changes of the whole database

  /// With each sweep: reads the database's generation every few seconds.
  mutating func pollGeneration(now: Instant) {
    guard now >= generation.next, reader.isReady else { return }
    generation.next = now.advanced(byMilliseconds: GenerationPoll.milliseconds)
    _ = enqueue(History.generationQuery, for: .generation, now: now)
  }

  private mutating func compareGeneration(
    _ result: Result<Rows, QueryFailure>, _ engine: inout Engine
  ) {
    guard let rows = try? result.get(), !rows.isEmpty, let current = rows.int(0, 0) else { return }
    if generation.note(current) { engine.sessions.rereadAll(&engine.effects) }
  }

  // MARK: Notifications

  /// Counts the reader's subscriptions; notifications between two of them are lost.
  var subscriptionCount: Int { reader.listens }
  var isListening: Bool { reader.isListening }
  /// The name of the database that the reader has reached.
  var readerDatabase: String { reader.store }

  mutating func takeNotification() -> String? { reader.takeNotification() }

  /// The loop ends: waiting tasks get an error.
  mutating func end() { queries.end() }

  // MARK: Queries and answers

  /// Queues a query of the loop itself for the reader.
  ///
  /// - Returns: false if the queue is full.
  mutating func enqueue(_ query: Query, for requester: PendingQueries.Requester, now: Instant)
    -> Bool
  {
    let ticket = queries.add(requester, at: now)
    queries.hasNew = true
    if reader.enqueue(query, ticket: ticket, now: now) { return true }
    _ = queries.take(ticket)
    return false
  }

  /// Queues a query of a task on this loop.
  mutating func enqueue(
    _ query: Query, _ continuation: CheckedContinuation<Result<Rows, QueryFailure>, Never>,
    now: Instant
  ) {
    if !enqueue(query, for: .task(continuation), now: now) {
      continuation.resume(returning: .failure(.overloaded))
    }
  }

  private mutating func enqueue(_ request: ReadRequest, _ engine: inout Engine, _ now: Instant) {
    if !enqueue(query(for: request, engine), for: .engine(request), now: now) {
      finish(request, .failure(.overloaded), &engine, now)
    }
  }

  private func query(for request: ReadRequest, _ engine: borrowing Engine) -> Query {
    switch request {
    case .session(let id):
      let hint = engine.sessions.workspace(of: id)
      return hint.map { History.sessionQuery(id, of: $0) } ?? History.sessionQuery(id)
    case .entries(let session, let after, let limit, let purpose):
      return History.entriesQuery(
        session, of: engine.sessions.workspace(of: session) ?? .zero, after: after, limit: limit,
        bytes: purpose.bytesMax)
    case .entriesBefore(let session, let before, let limit, let purpose):
      return History.entriesQuery(
        session, of: engine.sessions.workspace(of: session) ?? .zero, before: before, limit: limit,
        bytes: purpose.bytesMax)
    case .conversation(let session, let workspace):
      return conversationQuery(session, of: workspace)
    case .storeMark(_, let session, let workspace, let mark):
      return History.markQuery(
        session, of: workspace, mark.person, read: mark.read, delivered: mark.delivered)
    case .storeAvailability(_, _, let member, let workspace, let isAvailable):
      return OperatorPresence.setAvailable(member, of: workspace, isAvailable).query
    }
  }

  /// Handles the next answer, or returns it if it is for another component. Nil if there is none.
  mutating func takeAnswer(
    _ engine: inout Engine, _ metrics: inout LoopMetrics, now: Instant
  ) -> StoreAnswer? {
    guard let (ticket, result) = reader.takeAnswer() else { return nil }
    guard let (requester, since) = queries.take(ticket) else {
      preconditionFailure("the reader answered an unknown query")
    }
    metrics.durations.statements.add(
      requester.statementClass, now.nanoseconds &- since.nanoseconds)
    if let purpose = requester.purpose { note(result, of: purpose, now: now) }
    let rows = try? result.get()
    switch requester {
    case .task(let continuation): continuation.resume(returning: result)
    case .engine(let request): finish(request, result, &engine, now)
    case .otherWorkspaces(let id):
      load(id, rows, mayBeElsewhere: false, &engine, now)
    case .housekeeping: break
    case .quarantine:
      // No row was affected: the workspace has used its share of the table.
      if let rows, rows.affected > 0 {
        metrics.quarantine.stored &+= 1
      } else {
        metrics.quarantine.dropped &+= 1
      }
    case .generation: compareGeneration(result, &engine)
    case .origins:
      return .origins(rows.map(Workspace.allOrigins(limit: Origins.listedMax).answer))
    case .presence: return .presence(rows.map(OperatorPresence.beat([]).answer))
    case .departure: break
    case .absences: return .absences(rows.map(OperatorPresence.away(of: []).answer))
    case .tokenChecks(let statement): return .tokenChecks(rows.map(statement.answer))
    case .recheck(let statement, let count):
      return .recheck(count: count, rows.map(statement.answer))
    case .revocations(let statement): return .revocations(rows.map(statement.answer))
    case .notification: return .notified(rows != nil)
    case .catchUp:
      return .catchUp(
        rows.map { rows in
          (0..<rows.count).compactMap { row in
            rows.uuid(row, 0).map { SessionChange(session: $0, workspace: rows.uuid(row, 1)) }
          }
        })
    }
    return .handled
  }

  // MARK: The engine's reads

  private mutating func finish(
    _ request: ReadRequest, _ result: Result<Rows, QueryFailure>, _ engine: inout Engine,
    _ now: Instant
  ) {
    // Data of another database than the writer's is discarded.
    let isSameStore = name.isEmpty || reader.store == name
    if !isSameStore { reader.reconnect(now: now) }
    let rows = isSameStore ? try? result.get() : nil
    switch request {
    case .session(let id):
      load(id, rows, mayBeElsewhere: engine.sessions.workspace(of: id) != nil, &engine, now)
    case .entries(_, _, let limit, let purpose), .entriesBefore(_, _, let limit, let purpose):
      engine.entriesLoaded(
        request, rows.map { History.decodePage($0, limit: limit, bytes: purpose.bytesMax) })
    case .conversation(let session, let workspace):
      guard let rows else {
        engine.conversationLoaded(session, workspace, .failure(.unavailable))
        return
      }
      let json = decodeConversation(rows).map { conversation in
        var json: [UInt8] = []
        appendConversationJSON(conversation, to: &json)
        return json
      }
      engine.conversationLoaded(session, workspace, .success(json))
    case .storeMark, .storeAvailability:
      engine.stored(request, isStored: StoreDriver.isSettled(result, isSameStore))
    }
  }

  /// Stored, or refused in a way that another attempt would not change.
  private static func isSettled(
    _ result: Result<Rows, QueryFailure>, _ isSameStore: Bool
  ) -> Bool {
    switch result {
    case .success: isSameStore
    case .failure(.refused(let state, _)): ["22", "23", "42"].contains(state.errorClass)
    case .failure: false
    }
  }

  private mutating func load(
    _ id: Identifier, _ rows: Rows?, mayBeElsewhere: Bool, _ engine: inout Engine, _ now: Instant
  ) {
    guard let rows else {
      engine.sessionLoaded(id, .failure(.unavailable))
      return
    }
    if let snapshot = History.decodeSession(rows) {
      engine.sessionLoaded(id, .success(snapshot))
    } else if mayBeElsewhere {
      loadFromAnyWorkspace(id, &engine, now)
    } else {
      engine.sessionLoaded(id, .failure(.noSuchSession))
    }
  }

  /// The first connection that needs a session may belong to another workspace than the session,
  /// but other connections that wait for it must get it. The only statement that searches all
  /// workspaces.
  private mutating func loadFromAnyWorkspace(
    _ id: Identifier, _ engine: inout Engine, _ now: Instant
  ) {
    if !enqueue(History.sessionQuery(id), for: .otherWorkspaces(id), now: now) {
      engine.sessionLoaded(id, .failure(.unavailable))
    }
  }
}

/// The registrations of libpq's sockets in epoll, and which of them are ready. libpq opens and
/// closes its sockets itself; the kernel removes a closed one from epoll.
struct StoreRegistrations {
  /// Both are initially ready, so that the first turn connects them.
  var isWriterReady = true
  var isReaderReady = true
  private var writer = Registration()
  private var reader = Registration()

  struct Registration: Equatable {
    /// Changes with every new socket of libpq, even one of the same number.
    var serial: UInt32 = 0
    var descriptor: Int32 = -1
    var wantsWrite = false
  }

  mutating func watchWriter(
    _ registration: Registration, _ epoll: borrowing Epoll, _ logger: Logger
  ) {
    StoreRegistrations.watch(registration, instead: writer, Datum.writer, epoll, logger)
    writer = registration
  }

  mutating func watchReader(
    _ registration: Registration, _ epoll: borrowing Epoll, _ logger: Logger
  ) {
    StoreRegistrations.watch(registration, instead: reader, Datum.reader, epoll, logger)
    reader = registration
  }

  private static func watch(
    _ new: Registration, instead old: Registration, _ datum: UInt64, _ epoll: borrowing Epoll,
    _ logger: Logger
  ) {
    guard new != old, new.descriptor >= 0 else { return }
    let interest: Interest = new.wantsWrite ? [.read, .write] : .read
    do throws(Errno) {
      // A new serial is a new socket, perhaps with the same number, or the same socket after a step
      // of connecting.
      try epoll.modify(rawValue: new.descriptor, interest, datum: datum)
    } catch  where error == .noEntry {
      do throws(Errno) {
        try epoll.add(rawValue: new.descriptor, interest, datum: datum)
      } catch {
        logger.error("cannot watch the socket to PostgreSQL: \(error)")
      }
    } catch {
      logger.error("cannot watch the socket to PostgreSQL: \(error)")
    }
  }
}
