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
/// A turn drives it in this order: `write`, `receive`, `takeAnswer` until there is none,
/// `sendQueries`, `takeAnswer` again, `watchReader`. Answers for the engine are given to it here;
/// those for other components of the loop are returned (`StoreAnswer`).
struct StoreDriver: ~Copyable {
  private var writer: Writer
  private var reader: QueryConnection
  private var queries = PendingQueries()
  private var registrations = StoreRegistrations()
  private(set) var batch = BatchInFlight()
  private var health: StoreHealth
  private var quarantine = QuarantineReports()
  private var generation = GenerationPoll()
  /// Names the database that the writer has reached; the engine takes no answer from another one.
  private(set) var name = ""
  private let logger: Logger

  /// The batch that PostgreSQL has and has not answered.
  struct BatchInFlight {
    var recordCount = 0
    /// When the first of them came.
    var oldest: Instant?
  }

  /// - Parameters:
  ///   - seed: spreads the retries of several writers.
  ///   - listen: the statement that subscribes the reader to notifications.
  init(url: String, seed: UInt64, listen: StaticString?, logger: Logger) {
    writer = Writer(url: url, seed: seed)
    reader = QueryConnection(url: url, listen: listen)
    health = StoreHealth(logger: logger)
    self.logger = logger
  }

  /// Both connections work.
  var isReady: Bool { writer.health == .ready && reader.isReady }
  var canRead: Bool { reader.isReady }
  var nextDeadline: Instant { min(writer.nextDeadline, reader.nextDeadline) }

  /// An event of epoll is about one of the two sockets.
  mutating func note(_ datum: UInt64) {
    if datum == Datum.writer { registrations.isWriterReady = true }
    if datum == Datum.reader { registrations.isReaderReady = true }
  }

  // MARK: Writing

  /// Whether the writer takes a batch now.
  var canWrite: Bool { writer.isReady }

  /// Takes what the writer's socket brought, and submits batches for as long as they are answered
  /// at once.
  mutating func write(
    _ engine: inout Engine, _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics, now: Instant
  ) {
    let isDue = registrations.isWriterReady || now >= writer.nextDeadline
    registrations.isWriterReady = false
    guard isDue || writer.isReady && engine.hasBatch else { return }
    if isDue { writer.advance(now: now) }
    noteDatabase(&engine, now)
    settleBatches(&engine, &metrics, now)
    while writer.isReady && engine.hasBatch {
      submit(&engine, now)
      writer.advance(now: now)
      noteDatabase(&engine, now)
      settleBatches(&engine, &metrics, now)
    }
    let registration = StoreRegistrations.Registration(
      serial: writer.registration, descriptor: writer.descriptor, wantsWrite: writer.wantsWrite)
    registrations.watchWriter(registration, epoll, logger)
  }

  private mutating func submit(_ engine: inout Engine, _ now: Instant) {
    batch.oldest = engine.oldestQueued
    engine.submitBatch { records in
      batch.recordCount = records.count
      writer.submit(&records, now: now)
    }
  }

  private mutating func settleBatches(
    _ engine: inout Engine, _ metrics: inout LoopMetrics, _ now: Instant
  ) {
    // What an outcome means for the sends behind it depends on whether the store is there.
    engine.isStoreReachable = writer.isWorthTrying
    while writer.takeCompletion({ batch, outcomes in engine.committed(batch, outcomes) }) {
      batch = BatchInFlight()
      storeQuarantined(&metrics, now)
    }
  }

  /// Messages that PostgreSQL will never take go into the table `quarantine`, over the reader's
  /// connection: whether that works or not, the log does not wait for it.
  private mutating func storeQuarantined(_ metrics: inout LoopMetrics, _ now: Instant) {
    let rows = writer.takeQuarantined()
    metrics.quarantine.dropped &+= rows.dropped
    guard let first = rows.rows.first else { return }
    quarantine.report(first, logger, now: now)
    for row in rows.rows
    where !ask(Quarantine.storeQuery(row), for: .quarantine, now: now) {
      metrics.quarantine.dropped &+= 1
    }
  }

  /// Before any outcome is given to the engine: the writer may have reached a database whose log
  /// has gone back.
  private mutating func noteDatabase(_ engine: inout Engine, _ now: Instant) {
    guard writer.store != name else { return }
    let isFirst = name.isEmpty
    name = writer.store
    engine.store = writer.store
    if !reader.store.isEmpty, reader.store != writer.store { reader.reconnect(now: now) }
    guard !isFirst else { return }
    logger.warning(
      "another database has taken over (fail-over or restore): all clients start anew from it")
    engine.storeReplaced()
  }

  // MARK: Health

  /// Compares the state of both connections with the last turn's, and logs what changed.
  ///
  /// - Returns: whether the store became ready or ceased to be.
  mutating func noteHealth(_ engine: inout Engine, now: Instant) -> Bool {
    engine.isStoreReachable = writer.isWorthTrying
    let hasChanged = health.note(isReady: isReady)
    // It may be another server, or one that has gone back.
    if hasChanged && isReady { generation.next = now }
    if !isReady, let fault { health.note(fault.reason, work: fault.work) }
    return hasChanged
  }

  /// Nil also while the first connections are made.
  private var fault: (work: String, reason: String)? {
    if case .down(let reason) = writer.health { return ("writing", reason) }
    return reader.fault.map { ("reading", $0) }
  }

  // MARK: Reading

  /// Takes what the reader's socket brought.
  ///
  /// - Returns: whether it was due, to be given to `sendQueries`.
  mutating func receive(loop: Int, now: Instant) -> Bool {
    let isDue = registrations.isReaderReady || now >= reader.nextDeadline
    registrations.isReaderReady = false
    if isDue { reader.advance(now: now) }
    if reader.isReady {
      health.noteScope(isFirstLoop: loop == 0, reader.isPooled, canScope: reader.canScope)
    }
    return isDue
  }

  /// Sends the engine's reads and whatever else was queued.
  ///
  /// - Returns: whether there was something to send: then `watchReader` follows.
  mutating func sendQueries(_ engine: inout Engine, isDue: Bool, now: Instant) -> Bool {
    var hasNew = false
    while queries.hasRoomForReads, let request = engine.effects.nextRead() {
      ask(request, &engine, now)
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

  /// Answers wait that the last turn had no time for.
  var hasAnswers: Bool { reader.hasAnswers }

  /// The next turn may send what the engine wants to read.
  func isReadDue(_ engine: borrowing Engine) -> Bool {
    engine.effects.hasReads && queries.hasRoomForReads
  }

  // MARK: Changes of the whole database

  /// With each sweep: asks now and then whether sessions were changed behind the loop's back.
  mutating func pollGeneration(now: Instant) {
    guard now >= generation.next, reader.isReady else { return }
    generation.next = now.advanced(byMilliseconds: GenerationPoll.milliseconds)
    _ = ask(History.generationQuery, for: .generation, now: now)
  }

  private mutating func noteGeneration(_ result: Result<Rows, QueryFailure>, _ engine: inout Engine)
  {
    guard let rows = try? result.get(), !rows.isEmpty, let current = rows.int(0, 0) else { return }
    if generation.note(current) { engine.rereadAll() }
  }

  // MARK: Notifications

  /// How often the reader has subscribed: notifications of the time in between are lost.
  var subscriptionCount: Int { reader.listens }
  var isListening: Bool { reader.isListening }
  /// Names the database that the reader has reached.
  var readerDatabase: String { reader.store }

  mutating func takeNotification() -> String? { reader.takeNotification() }

  /// The loop ends: the tasks that wait get an error.
  mutating func end() { queries.end() }

  // MARK: Questions and answers

  /// Puts a question of the loop's own into the reader's queue, unless that is full.
  mutating func ask(_ query: Query, for requester: PendingQueries.Requester, now: Instant) -> Bool {
    let ticket = queries.add(requester)
    queries.hasNew = true
    if reader.enqueue(query, ticket: ticket, now: now) { return true }
    _ = queries.take(ticket)
    return false
  }

  /// A question of a task on this loop.
  mutating func ask(
    _ query: Query, _ continuation: CheckedContinuation<Result<Rows, QueryFailure>, Never>,
    now: Instant
  ) {
    if !ask(query, for: .task(continuation), now: now) {
      continuation.resume(returning: .failure(.overloaded))
    }
  }

  private mutating func ask(_ request: ReadRequest, _ engine: inout Engine, _ now: Instant) {
    if !ask(query(for: request, engine), for: .engine(request), now: now) {
      finish(request, .failure(.overloaded), &engine, now)
    }
  }

  private func query(for request: ReadRequest, _ engine: borrowing Engine) -> Query {
    switch request {
    case .session(let id):
      let hint = engine.workspace(of: id)
      return hint.map { History.sessionQuery(id, of: $0) } ?? History.sessionQuery(id)
    case .entries(let session, let after, let limit, let purpose):
      return History.entriesQuery(
        session, of: engine.workspace(of: session) ?? .zero, after: after, limit: limit,
        bytes: purpose.bytesMax)
    case .entriesBefore(let session, let before, let limit, let purpose):
      return History.entriesQuery(
        session, of: engine.workspace(of: session) ?? .zero, before: before, limit: limit,
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

  /// The next answer; those that are for other components are the caller's to deal with.
  mutating func takeAnswer(
    _ engine: inout Engine, _ metrics: inout LoopMetrics, now: Instant
  ) -> StoreAnswer? {
    guard let (ticket, result) = reader.takeAnswer() else { return nil }
    guard let requester = queries.take(ticket) else {
      preconditionFailure("the reader answered a question that nobody asked")
    }
    if let purpose = requester.purpose { health.note(result, of: purpose) }
    let rows = try? result.get()
    switch requester {
    case .task(let continuation): continuation.resume(returning: result)
    case .engine(let request): finish(request, result, &engine, now)
    case .otherWorkspaces(let id):
      health.note(result)
      load(id, rows, mayBeElsewhere: false, &engine, now)
    case .housekeeping: break
    case .quarantine:
      // No row was touched: the workspace has its share in the table already.
      if let rows, rows.affected > 0 {
        metrics.quarantine.stored &+= 1
      } else {
        metrics.quarantine.dropped &+= 1
      }
    case .generation: noteGeneration(result, &engine)
    case .origins:
      return .origins(rows.map(Workspace.allOrigins(limit: Origins.listedMax).answer))
    case .presence: return .presence(rows.map(OperatorPresence.beat([]).answer))
    case .tokenChecks(let statement): return .tokenChecks(rows.map(statement.answer))
    case .recheck(let statement, let count):
      return .recheck(count: count, rows.map(statement.answer))
    case .revocations(let statement): return .revocations(rows.map(statement.answer))
    case .notification: return .notified(rows != nil)
    case .catchUp:
      return .catchUp(rows.map { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } })
    }
    return .handled
  }

  // MARK: The engine's reads

  private mutating func finish(
    _ request: ReadRequest, _ result: Result<Rows, QueryFailure>, _ engine: inout Engine,
    _ now: Instant
  ) {
    health.note(result)
    // What the reader says of another database than the writer's is no answer.
    let isSameStore = name.isEmpty || reader.store == name
    if !isSameStore { reader.reconnect(now: now) }
    let rows = isSameStore ? try? result.get() : nil
    switch request {
    case .session(let id):
      load(id, rows, mayBeElsewhere: engine.workspace(of: id) != nil, &engine, now)
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
    case .storeMark:
      engine.markStored(request, isStored: StoreDriver.isSettled(result, isSameStore))
    case .storeAvailability:
      engine.availabilityStored(request, isStored: StoreDriver.isSettled(result, isSameStore))
    }
  }

  /// Stored, or refused for good: a statement that PostgreSQL refuses it would refuse again.
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

  /// The first to ask for a session may belong to another workspace than the session; others who
  /// wait for it must get it all the same. The only statement that looks in all workspaces.
  private mutating func loadFromAnyWorkspace(
    _ id: Identifier, _ engine: inout Engine, _ now: Instant
  ) {
    if !ask(History.sessionQuery(id), for: .otherWorkspaces(id), now: now) {
      engine.sessionLoaded(id, .failure(.unavailable))
    }
  }
}
