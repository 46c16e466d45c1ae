import API
import Chat
import Directory
import Engine
import Journal
import Kernel
import Logging
import Postgres
import Primitives

/// The loop's two connections to PostgreSQL: the writer commits batches; the reader answers
/// everything else, so that a slow read never queues ahead of a commit.
struct StoreSockets {
  var isWriterReady = true
  var isReaderReady = true
  var wasReady = false
  var outage = Outage()
  /// Of the loop's own statements, by what each of them is for.
  var refusals: [PendingQueries.Purpose: Outage] = [:]
  /// Of the batch that PostgreSQL has and has not answered.
  var recordsInFlight = 0
  /// When the first of them came.
  var oldestInFlight: Instant?
  /// The database that the writer has reached; the engine takes no answer from another one.
  var store = ""
  var hasNotedScope = false
  /// What epoll was told last.
  var writer = Registration()
  var reader = Registration()

  struct Registration: Equatable {
    /// Changes with every new socket of libpq, even one of the same number.
    var serial: UInt32 = 0
    var descriptor: Int32 = -1
    var wantsWrite = false
  }
}

/// Who waits for an answer of the reader, by ticket.
struct PendingQueries {
  enum Asker {
    case engine(ReadRequest)
    /// The engine asked for a session that its workspace does not have.
    case elsewhere(Identifier)
    /// What tidies up: nobody waits for it.
    case housekeeping(Housekeeping)
    case quarantine
    case changes
    case origins
    case presence
    case claims(Statement<Set<Standing.Subject>>)
    case recheck(Statement<Set<Standing.Subject>>, count: Int)
    case revocations(Statement<Standing.Revoked>)
    case bell
    case look
    case task(CheckedContinuation<Result<Rows, QueryFailure>, Never>)
  }

  enum Housekeeping: String { case tokens, quarantine, revocations }

  /// Of the statements that a loop repeats by itself, for the log.
  enum Purpose: String {
    case forgetTokens = "forget refresh tokens"
    case forgetQuarantine = "forget quarantined messages"
    case forgetRevocations = "forget revocations"
    case quarantine, changes, origins, presence, claims, recheck, revocations, bell, look

    init(_ housekeeping: Housekeeping) {
      switch housekeeping {
      case .tokens: self = .forgetTokens
      case .quarantine: self = .forgetQuarantine
      case .revocations: self = .forgetRevocations
      }
    }
  }

  private var askers: [UInt64: Asker] = [:]
  private var last: UInt64 = 0

  /// Reads of the engine that are under way at once; the others wait in its queue.
  static let engineReadsMax = 256

  private(set) var engineReads = 0
  /// A query came since the reader was last driven.
  var hasNew = false

  mutating func add(_ asker: Asker) -> UInt64 {
    last += 1
    askers[last] = asker
    if case .engine = asker { engineReads += 1 }
    return last
  }

  /// Puts a question of the loop's own into the reader's queue, unless that is full.
  mutating func ask(
    _ query: Query, for asker: Asker, of reader: inout QueryConnection, now: Instant
  ) -> Bool {
    let ticket = add(asker)
    hasNew = true
    if reader.enqueue(query, ticket: ticket, now: now) { return true }
    _ = take(ticket)
    return false
  }

  mutating func take(_ ticket: UInt64) -> Asker? {
    let asker = askers.removeValue(forKey: ticket)
    if case .engine = asker { engineReads -= 1 }
    return asker
  }

  /// Nothing is asked any more: the tasks that wait are told so.
  mutating func end() {
    for case .task(let continuation) in askers.values {
      continuation.resume(returning: .failure(.unavailable(reason: "the gateway stops")))
    }
    askers = [:]
  }
}

extension EventLoop {
  mutating func driveStore() {
    driveWriter()
    driveReader()
    // What the answers brought may be committed in this same iteration.
    if writer.isReady && engine.hasBatch { driveWriter() }
    noteHealth()
  }

  private mutating func driveWriter() {
    let isDue = storeSockets.isWriterReady || now >= writer.nextDeadline
    storeSockets.isWriterReady = false
    let hasWork = writer.isReady && engine.hasBatch
    guard isDue || hasWork else { return }
    if isDue { writer.advance(now: now) }
    noteStore()
    settleBatches()
    while writer.isReady && engine.hasBatch {
      storeSockets.oldestInFlight = engine.oldestQueued
      engine.submitBatch { batch in
        storeSockets.recordsInFlight = batch.count
        writer.submit(&batch, now: now)
      }
      writer.advance(now: now)
      noteStore()
      settleBatches()
    }
    let socket = StoreSockets.Registration(
      serial: writer.registration, descriptor: writer.descriptor, wantsWrite: writer.wantsWrite)
    register(socket, instead: storeSockets.writer, Datum.writer)
    storeSockets.writer = socket
  }

  private mutating func settleBatches() {
    // What an outcome means for the sends behind it depends on whether the store is there.
    engine.isStoreReachable = writer.isWorthTrying
    while writer.takeCompletion({ batch, outcomes in engine.committed(batch, outcomes) }) {
      storeSockets.recordsInFlight = 0
      storeSockets.oldestInFlight = nil
      keepQuarantined()
    }
  }

  /// Before any outcome is told: the writer may have reached a database whose log has gone back.
  private mutating func noteStore() {
    guard writer.store != storeSockets.store else { return }
    let isFirst = storeSockets.store.isEmpty
    storeSockets.store = writer.store
    engine.store = writer.store
    if !reader.store.isEmpty, reader.store != writer.store { reader.reconnect(now: now) }
    guard !isFirst else { return }
    logger.warning(
      "another database has taken over (fail-over or restore): all clients start anew from it")
    engine.storeReplaced()
  }

  /// Ready is whoever can write and read.
  private mutating func noteHealth() {
    engine.isStoreReachable = writer.isWorthTrying
    let isReady = isStoreReady
    if isReady != storeSockets.wasReady {
      storeSockets.wasReady = isReady
      // It may be another server, or one that has gone back.
      if isReady { nextChanges = now }
      post(metrics: true)
      if isReady {
        _ = storeSockets.outage.end()
        return logger.info("PostgreSQL answers")
      }
    }
    guard !isReady, let fault = storeFault else { return }
    switch storeSockets.outage.note(fault.reason) {
    case .begins:
      logger.warning(
        "PostgreSQL does not answer: \(fault.reason)", metadata: ["for": "\(fault.work)"])
    case .changes:
      logger.warning(
        "PostgreSQL still does not answer: \(fault.reason)", metadata: ["for": "\(fault.work)"])
    case nil: break
    }
  }

  var isStoreReady: Bool { writer.health == .ready && reader.isReady }

  /// Nil also while the first connections are made.
  private var storeFault: (work: String, reason: String)? {
    if case .down(let reason) = writer.health { return ("writing", reason) }
    return reader.fault.map { ("reading", $0) }
  }

  private mutating func driveReader() {
    let isDue = storeSockets.isReaderReady || now >= reader.nextDeadline
    storeSockets.isReaderReady = false
    if isDue { reader.advance(now: now) }
    noteScope()
    takeAnswers()
    var hasNew = false
    while queries.engineReads < PendingQueries.engineReadsMax,
      let request = engine.effects.nextRead()
    {
      ask(request)
      hasNew = true
    }
    guard isDue || hasNew || queries.hasNew else { return }
    queries.hasNew = false
    reader.advance(now: now)
    takeAnswers()
    let socket = StoreSockets.Registration(
      serial: reader.registration, descriptor: reader.descriptor, wantsWrite: reader.wantsWrite)
    register(socket, instead: storeSockets.reader, Datum.reader)
    storeSockets.reader = socket
  }

  /// Says once that row security does not bind the readers.
  private mutating func noteScope() {
    guard reader.isReady, !storeSockets.hasNotedScope else { return }
    storeSockets.hasNotedScope = true
    guard index == 0 else { return }
    if reader.isPooled {
      logger.info(
        "PostgreSQL is reached through a pooler: statements are not prepared, but parsed each time")
    }
    guard !reader.canScope else { return }
    logger.warning(
      """
      readers run as the owner of the tables: the role chirrup_reader is missing or not granted; \
      chirrup migrate verify says what mends it
      """)
  }

  /// The next iteration may ask for what the engine wants to read.
  var isReadDue: Bool {
    engine.effects.hasReads && queries.engineReads < PendingQueries.engineReadsMax
  }

  private mutating func ask(_ request: ReadRequest) {
    let query: Query
    switch request {
    case .session(let id):
      let hint = engine.workspace(of: id)
      query = hint.map { History.sessionQuery(id, of: $0) } ?? History.sessionQuery(id)
    case .entries(let session, let after, let limit, let purpose):
      query = History.entriesQuery(
        session, of: engine.workspace(of: session) ?? .zero, after: after, limit: limit,
        bytes: purpose.bytesMax)
    case .entriesBefore(let session, let before, let limit, let purpose):
      query = History.entriesQuery(
        session, of: engine.workspace(of: session) ?? .zero, before: before, limit: limit,
        bytes: purpose.bytesMax)
    case .conversation(let session, let workspace):
      query = conversationQuery(session, of: workspace)
    case .storeMark(_, let session, let workspace, let mark):
      query = History.markQuery(
        session, of: workspace, mark.person, read: mark.read, delivered: mark.delivered)
    case .storeAvailability(_, _, let member, let workspace, let isAvailable):
      query = OperatorPresence.setAvailable(member, of: workspace, isAvailable).query
    }
    let ticket = queries.add(.engine(request))
    if !reader.enqueue(query, ticket: ticket, now: now) {
      finish(ticket, .failure(.overloaded))
    }
  }

  mutating func ask(
    _ query: Query, _ continuation: CheckedContinuation<Result<Rows, QueryFailure>, Never>
  ) {
    let ticket = queries.add(.task(continuation))
    queries.hasNew = true
    if !reader.enqueue(query, ticket: ticket, now: now) {
      finish(ticket, .failure(.overloaded))
    }
  }

  private mutating func takeAnswers() {
    while let answer = reader.takeAnswer() {
      finish(answer.ticket, answer.result)
      if isOver(.store) { return }
    }
  }

  private mutating func finish(_ ticket: UInt64, _ result: Result<Rows, QueryFailure>) {
    switch queries.take(ticket) {
    case .task(let continuation): continuation.resume(returning: result)
    case .engine(let request): finish(request, result)
    case .elsewhere(let id):
      note(result)
      load(id, try? result.get(), mayBeElsewhere: false)
    case .housekeeping(let what): note(result, of: PendingQueries.Purpose(what))
    case .quarantine:
      note(result, of: .quarantine)
      noteQuarantined(result)
    case .changes: noteChanges(result)
    case .origins:
      note(result, of: .origins)
      finishOrigins((try? result.get()).map(Workspace.allOrigins(limit: Origins.listedMax).answer))
    case .presence:
      note(result, of: .presence)
      finishBeat((try? result.get()).map(OperatorPresence.beat([]).answer))
    case .claims(let statement):
      note(result, of: .claims)
      finishClaims((try? result.get()).map(statement.answer))
    case .recheck(let statement, let count):
      note(result, of: .recheck)
      finishRecheck(of: count, (try? result.get()).map(statement.answer))
    case .revocations(let statement):
      note(result, of: .revocations)
      finishRevocations((try? result.get()).map(statement.answer))
    case .bell:
      note(result, of: .bell)
      bell.isUnderWay = false
      if case .failure = result { bellFailed() }
    case .look:
      note(result, of: .look)
      finishLook(
        (try? result.get()).map { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } })
    case nil: preconditionFailure("the reader answered a question that nobody asked")
    }
  }

  /// A statement that PostgreSQL refuses is a mistake of ours, whoever asked.
  private func note(_ result: Result<Rows, QueryFailure>) {
    guard case .failure(.refused(let state, let message)) = result else { return }
    logger.error("PostgreSQL refused a statement: \(state.code) \(message)")
  }

  /// The same for one that comes again and again.
  private mutating func note(
    _ result: Result<Rows, QueryFailure>, of purpose: PendingQueries.Purpose
  ) {
    switch result {
    case .success:
      guard !storeSockets.refusals.isEmpty,
        storeSockets.refusals.removeValue(forKey: purpose) != nil
      else { return }
      logger.info("PostgreSQL takes the statement again", metadata: ["for": "\(purpose.rawValue)"])
    case .failure(.refused(let state, let message)):
      let reason = "\(state.code) \(message)"
      guard storeSockets.refusals[purpose, default: Outage()].note(reason) != nil else { return }
      logger.error(
        "PostgreSQL refused a statement: \(reason)", metadata: ["for": "\(purpose.rawValue)"])
    case .failure: break
    }
  }

  /// How often a loop asks whether sessions were changed behind its back: by an erasure, by a
  /// restore, by the promotion of a standby.
  static let changesMilliseconds: Int64 = 5_000

  mutating func askForChanges() {
    guard now >= nextChanges, reader.isReady else { return }
    nextChanges = now.advanced(byMilliseconds: EventLoop.changesMilliseconds)
    let ticket = queries.add(.changes)
    queries.hasNew = true
    if !reader.enqueue(History.generationQuery, ticket: ticket, now: now) {
      _ = queries.take(ticket)
    }
  }

  /// The first answer only says where it stands.
  private mutating func noteChanges(_ result: Result<Rows, QueryFailure>) {
    note(result, of: .changes)
    guard let rows = try? result.get(), !rows.isEmpty, let generation = rows.int(0, 0) else {
      return
    }
    if let known = knownGeneration, known != generation { engine.rereadAll() }
    knownGeneration = generation
  }

  static let housekeepingMilliseconds: Int64 = 60_000
  /// Rows that one round of housekeeping removes.
  private static let housekeepingRows = 1_000

  /// Secrets of visitors who never came back. One loop does it for all.
  mutating func keepHouse() {
    guard index == 0, now >= nextHousekeeping, reader.isReady else { return }
    nextHousekeeping = now.advanced(byMilliseconds: EventLoop.housekeepingMilliseconds)
    let query = RefreshToken.forgetExpired(
      now: engine.wall, limit: EventLoop.housekeepingRows
    ).query
    _ = queries.ask(query, for: .housekeeping(.tokens), of: &reader, now: now)
    _ = queries.ask(
      Quarantine.forgetQuery(limit: EventLoop.housekeepingRows), for: .housekeeping(.quarantine),
      of: &reader, now: now)
    _ = queries.ask(
      Standing.forgetRevocations(limit: EventLoop.housekeepingRows),
      for: .housekeeping(.revocations), of: &reader, now: now)
  }

  private mutating func finish(_ request: ReadRequest, _ result: Result<Rows, QueryFailure>) {
    note(result)
    // What the reader says of another database than the writer's is no answer.
    let isSameStore = storeSockets.store.isEmpty || reader.store == storeSockets.store
    if !isSameStore { reader.reconnect(now: now) }
    let rows = isSameStore ? try? result.get() : nil
    switch request {
    case .session(let id):
      load(id, rows, mayBeElsewhere: engine.workspace(of: id) != nil)
    case .entries(_, _, let limit, let purpose), .entriesBefore(_, _, let limit, let purpose):
      engine.entriesLoaded(
        request,
        rows.map { History.decodePage($0, limit: limit, bytes: purpose.bytesMax) })
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
    case .storeMark: engine.markStored(request, isStored: isSettled(result, isSameStore))
    case .storeAvailability:
      engine.availabilityStored(request, isStored: isSettled(result, isSameStore))
    }
  }

  /// Told, or refused for good: a statement that PostgreSQL refuses it would refuse again.
  private func isSettled(_ result: Result<Rows, QueryFailure>, _ isSameStore: Bool) -> Bool {
    switch result {
    case .success: isSameStore
    case .failure(.refused(let state, _)): ["22", "23", "42"].contains(state.errorClass)
    case .failure: false
    }
  }

  /// Who asked for a session may belong to another workspace than it does; others who wait for it
  /// must get it all the same. The only statement that looks in all workspaces.
  private mutating func lookElsewhere(_ id: Identifier) {
    let ticket = queries.add(.elsewhere(id))
    queries.hasNew = true
    if !reader.enqueue(History.sessionQuery(id), ticket: ticket, now: now) {
      finish(ticket, .failure(.overloaded))
    }
  }

  private mutating func load(_ id: Identifier, _ rows: Rows?, mayBeElsewhere: Bool) {
    guard let rows else {
      engine.sessionLoaded(id, .failure(.unavailable))
      return
    }
    if let snapshot = History.decodeSession(rows) {
      engine.sessionLoaded(id, .success(snapshot))
    } else if mayBeElsewhere {
      lookElsewhere(id)
    } else {
      engine.sessionLoaded(id, .failure(.noSuchSession))
    }
  }

  /// libpq opens and closes its sockets as it likes; a closed one has left epoll by itself.
  private mutating func register(
    _ socket: StoreSockets.Registration, instead old: StoreSockets.Registration, _ datum: UInt64
  ) {
    guard socket != old, socket.descriptor >= 0 else { return }
    let interest: Interest = socket.wantsWrite ? [.read, .write] : .read
    do throws(Errno) {
      // A new serial may be a new socket of the same number, or the same socket after a step of
      // connecting.
      try epoll.modify(rawValue: socket.descriptor, interest, datum: datum)
    } catch  where error == .noEntry {
      do throws(Errno) {
        try epoll.add(rawValue: socket.descriptor, interest, datum: datum)
      } catch {
        logger.error("cannot watch the socket of PostgreSQL: \(error)")
      }
    } catch {
      logger.error("cannot watch the socket of PostgreSQL: \(error)")
    }
  }
}
