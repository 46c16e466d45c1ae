import Chat
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
  var reader: QueryConnection
  var queries = PendingQueries()
  private var registrations = StoreRegistrations()
  private(set) var batch = BatchInFlight()
  var health: StoreHealth
  private var quarantine = QuarantineReports()
  private var generation = GenerationPoll()
  /// Names the database that the writer has reached; the engine takes no answer from another one.
  private(set) var name = ""
  let logger: Logger

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
    metrics.quarantineDropped &+= rows.dropped
    guard let first = rows.rows.first else { return }
    quarantine.report(first, logger, now: now)
    for row in rows.rows
    where !ask(Quarantine.storeQuery(row), for: .quarantine, now: now) {
      metrics.quarantineDropped &+= 1
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

  mutating func noteGeneration(_ result: Result<Rows, QueryFailure>, _ engine: inout Engine) {
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
}

/// Whether sessions were changed behind the loop's back: by an erasure, by a restore, by the
/// promotion of a standby.
private struct GenerationPoll {
  static let milliseconds: Int64 = 5_000

  var next = Instant.zero
  /// As last read from the database.
  private var known: Int64?

  /// The first answer only says where it stands.
  mutating func note(_ current: Int64) -> Bool {
    defer { known = current }
    return known != nil && known != current
  }
}

/// When the log last named a message that PostgreSQL refuses: a client that sends nothing else
/// does not fill the log of the gateway.
private struct QuarantineReports {
  private static let milliseconds: Int64 = 60_000

  private var next = Instant.zero

  mutating func report(_ row: QuarantinedRow, _ logger: Logger, now: Instant) {
    guard now >= next else { return }
    next = now.advanced(byMilliseconds: QuarantineReports.milliseconds)
    logger.warning(
      "PostgreSQL refuses a message for what is in it; chirrup quarantine show tells more",
      metadata: ["message": "\(row.record.id)", "sqlstate": "\(row.refusal.state.code)"])
  }
}
