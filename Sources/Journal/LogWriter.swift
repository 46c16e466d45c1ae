public import Chat
public import Postgres
package import Primitives

/// Appends batches to the log in PostgreSQL, one transaction each, over a connection that the event
/// loop drives (`status`, `advance`). Decides when to reconnect and, by `BatchMachine`, what each
/// answer means for the batch in flight. Never blocks.
///
/// It keeps the promise of Sources/PROTOCOL.md, “The log”: a row is `.stored` or `.duplicate` only
/// after COMMIT was received. A batch with an unknown outcome is sent again after reconnecting, and
/// the ids make that exact: rows that the first attempt committed come back as `.duplicate`. So a
/// duplicate above the session's known head is new to its subscribers, like a stored row.
///
/// A batch older than `Limits.sendWaitMilliseconds` is given up: its rows come back `.unavailable`,
/// and those in flight may still have been stored. A session in memory reads its head again before
/// it trusts it.
package struct LogWriter<Connection: AppendConnection & ~Copyable>: ~Copyable {
  private enum ConnectionPhase { case down, connecting, ready }

  static var connectMilliseconds: Int64 { 5_000 }

  /// Returns nil when memory is short.
  private var open: () -> Connection?
  /// The connection was made by an earlier `open`, and is replaced once no batch is in flight.
  private var isOutdated = false
  private var connection: Connection?
  private var phase = ConnectionPhase.down
  private var backoff: Backoff
  /// Down: when to connect. Connecting: when to give up.
  private var deadline = Instant.zero
  private var machine: BatchMachine

  private var batch = Batch()
  private var duplicateIDs = DuplicateIDIndex()
  /// Reused storage: the batch's rows for `machine`, and the rows of one transaction.
  private var rows: [BatchMachine.Row] = []
  private var sending: [Int] = []
  /// The last refusal of the transaction in flight.
  private var refusal: ServerRefusal?
  /// The refusals of rows of this batch that PostgreSQL will never accept.
  private var rowRefusals: [Int: ServerRefusal] = [:]
  private var quarantined = QuarantinedRows()
  private var hasCompletion = false

  package private(set) var status = WriterStatus()
  package var fences: FenceCounts { machine.fences }

  /// Connects at the first `advance`.
  ///
  /// - Parameter seed: spreads the retries of several writers.
  package init(seed: UInt64, open: @escaping () -> Connection?) {
    self.open = open
    backoff = Backoff(firstMilliseconds: 20, lastMilliseconds: 1_000, seed: seed)
    machine = BatchMachine(seed: seed &* 31 &+ 7)
  }

  /// Connects by another `open` from now on. The batch in flight ends on the old connection; no
  /// further one is taken before the new connection works.
  package mutating func use(now: Instant, open: @escaping () -> Connection?) {
    self.open = open
    backoff.reset()
    isOutdated = phase != .down
    if phase == .down { deadline = now }
    replaceIfIdle(now)
    refreshStatus(now)
  }

  private mutating func replaceIfIdle(_ now: Instant) {
    guard isOutdated, phase == .connecting || !machine.isBusy && !hasCompletion else { return }
    isOutdated = false
    connection = nil
    status.registration &+= 1
    phase = .down
    deadline = now
    perform(machine.event(.connectionLost, now: now), now)
  }

  /// Takes the records and leaves an empty batch with storage. No batch may be in flight.
  @specialized(where Connection == PipelinedConnection)
  package mutating func submit(_ records: inout Batch, now: Instant) {
    precondition(!machine.isBusy && !hasCompletion, "one batch at a time: wait for isReady")
    swap(&batch, &records)
    records.removeAll()
    duplicateIDs.describe(batch, into: &rows)
    let isFenced = (0..<batch.count).allSatisfy { batch.head($0) != Batch.unknownHead }
    perform(machine.submit(rows, isFenced: isFenced, now: now), now)
    refreshStatus(now)
  }

  /// Lends the batch and its outcomes once, when all of its rows have one.
  ///
  /// - Returns: whether there was a completed batch.
  @specialized(where Connection == PipelinedConnection)
  package mutating func takeCompletion(_ body: (borrowing Batch, [Outcome]) -> Void) -> Bool {
    guard hasCompletion else { return false }
    hasCompletion = false
    body(batch, machine.outcomes)
    if !rowRefusals.isEmpty { quarantine() }
    batch.removeAll()
    status.isReady = phase == .ready && !isOutdated && !machine.isBusy && !machine.isStoreFailing
    if isOutdated { status.nextDeadline = .zero }
    return true
  }

  /// The rows of the last completed batch that PostgreSQL will never accept, once: see
  /// `Quarantine`.
  @specialized(where Connection == PipelinedConnection)
  package mutating func takeQuarantined() -> QuarantinedRows {
    guard !quarantined.isEmpty else { return quarantined }
    defer { quarantined = QuarantinedRows() }
    return quarantined
  }

  private mutating func quarantine() {
    for (row, refusal) in rowRefusals.sorted(by: { $0.key < $1.key })
    where machine.outcomes[row].verdict == .rejected {
      quarantined.append(batch, row, refusal)
    }
    rowRefusals.removeAll(keepingCapacity: true)
  }

  /// Exchanges bytes with the server and acts on its answers.
  @specialized(where Connection == PipelinedConnection)
  package mutating func advance(now: Instant) {
    if phase == .down {
      if now >= deadline { connect(now) }
    } else {
      connection?.exchange()
      // libpq may try one address after the other, each with a socket of its own.
      if phase == .connecting { status.registration &+= 1 }
      while let event = connection?.next() { take(event, now) }
      if phase == .connecting, now >= deadline { disconnect(now, "no answer from the server") }
    }
    if now >= machine.nextDeadline { perform(machine.event(.tick, now: now), now) }
    if isOutdated { replaceIfIdle(now) }
    refreshStatus(now)
  }

  private mutating func refreshStatus(_ now: Instant) {
    status.descriptor = connection?.descriptor ?? -1
    status.wantsWrite = connection?.wantsWrite ?? false
    status.isReady =
      phase == .ready && !isOutdated && !hasCompletion && machine.accepts(at: now)
    status.nextDeadline = min(phase == .ready ? .never : deadline, machine.nextDeadline)
    if phase == .ready, !machine.isStoreFailing { status.health = .ready }
  }

  // MARK: The connection

  private mutating func connect(_ now: Instant) {
    connection = open()
    status.registration &+= 1
    phase = .connecting
    deadline = now.advanced(byMilliseconds: Self.connectMilliseconds)
    if connection == nil { disconnect(now, "out of memory") }
    while let event = connection?.next() { take(event, now) }
  }

  private mutating func disconnect(_ now: Instant, _ reason: String) {
    isOutdated = false
    connection = nil
    status.registration &+= 1
    phase = .down
    status.isReady = false
    status.health = .down(reason: reason)
    deadline = backoff.next(after: now)
    perform(machine.event(.connectionLost, now: now), now)
  }

  private mutating func take(_ event: AppendEvent, _ now: Instant) {
    switch event {
    case .ready(let store):
      let isSameStore = status.store.isEmpty || store == status.store
      status.store = store
      phase = .ready
      backoff.reset()
      perform(machine.event(.connected(isSameStore: isSameStore), now: now), now)
    case .committed:
      status.isPostponing = false
      let outcomes = connection?.outcomes ?? []
      perform(machine.event(.committed(outcomes), now: now), now)
    case .refused(let refusal):
      self.refusal = refusal
      if machine.isProbing || Remedy(for: refusal.state) == .waitForStore {
        status.health = .down(reason: refusal.message)
      }
      let action = machine.event(.failed(refusal.state), now: now)
      if machine.hasPostponed {
        status.isPostponing = true
        status.postponement = refusal.message
      }
      if let row = machine.rejected { rowRefusals[row] = refusal }
      perform(action, now)
    case .lost(let reason): disconnect(now, reason)
    }
  }

  private mutating func perform(_ action: BatchMachine.Action, _ now: Instant) {
    switch action {
    case .wait: break
    case .complete: hasCompletion = true
    case .reconnect: disconnect(now, refusal?.message ?? "the server does not answer")
    case .probe(let spilling):
      refusal = nil
      if !(connection?.probe(spilling: spilling) ?? false) { disconnect(now, "connection lost") }
    case .run(let range): send(range, isFenced: false, now)
    case .runFenced(let range): send(range, isFenced: true, now)
    }
  }

  private mutating func send(_ range: Range<Int>, isFenced: Bool, _ now: Instant) {
    refusal = nil
    sending.removeAll(keepingCapacity: true)
    for row in range where machine.isPending(row) { sending.append(row) }
    if !(connection?.append(batch, sending, isFenced: isFenced) ?? false) {
      disconnect(now, "connection lost")
    }
  }
}

/// The gateway's writer, over libpq; the simulator runs the same code over a simulated PostgreSQL.
/// Other modules call generic functions through witness tables, so each has a copy for this
/// connection (`@specialized`).
package typealias Writer = LogWriter<PipelinedConnection>

extension LogWriter where Connection == PipelinedConnection {
  package init(url: String, seed: UInt64) {
    self.init(seed: seed) { PipelinedConnection(url: url) }
  }

  package mutating func use(url: String, now: Instant) {
    use(now: now) { PipelinedConnection(url: url) }
  }
}

/// The state of a writer that the loop reads. Valid after each of the writer's functions.
package struct WriterStatus: Sendable {
  /// -1 without a connection.
  package internal(set) var descriptor: Int32 = -1
  /// Whether epoll should report that the socket is writable.
  package internal(set) var wantsWrite = false
  /// Changes whenever `descriptor` may be another socket, even one of the same number: the loop
  /// registers it again.
  package internal(set) var registration: UInt32 = 0
  /// When `advance` has to be called without any event.
  package internal(set) var nextDeadline = Instant.zero
  /// Whether `submit` may be called and the batch would be sent at once.
  package internal(set) var isReady = false
  package internal(set) var health = WriterHealth.connecting
  /// Whether the last rows were postponed, although the store answers: another transaction holds a
  /// lock, for example.
  package internal(set) var isPostponing = false
  /// PostgreSQL's reason for the last time.
  package internal(set) var postponement = ""
  /// The name of the database that the connection has reached, empty before the first one. Another
  /// name after a reconnection means that the log may have gone back; the engine has to know before
  /// it gets any outcome.
  package internal(set) var store = ""

  /// Whether records should be accepted: the store works, or nothing is known against it. A store
  /// that has failed is probed, so that its return shows without a message.
  package var isWorthTrying: Bool { isReady || health == .ready }
}

/// The state of the writer's connection and of its store.
package enum WriterHealth: Sendable, Equatable {
  case connecting
  case ready
  case down(reason: String)
}

/// A row that PostgreSQL will never accept, and its refusal. The bytes may be no valid UTF-8.
public struct QuarantinedRow: Sendable {
  public var record: Record
  public var senderName: [UInt8]
  public var body: [UInt8]
  public var payload: [UInt8]
  public var refusal: ServerRefusal
}

/// The refused rows of one batch, at most `Quarantine.rowsPerBatch`; further ones are counted.
public struct QuarantinedRows: Sendable {
  public private(set) var rows: [QuarantinedRow] = []
  /// Refused rows that are not in `rows`.
  public private(set) var dropped: UInt64 = 0

  var isEmpty: Bool { rows.isEmpty && dropped == 0 }

  mutating func append(_ batch: borrowing Batch, _ row: Int, _ refusal: ServerRefusal) {
    guard rows.count < Quarantine.rowsPerBatch else {
      dropped += 1
      return
    }
    rows.append(
      QuarantinedRow(
        record: batch.record(row), senderName: batch.withSenderName(row) { Array(copying: $0) },
        body: batch.withBody(row) { Array(copying: $0) },
        payload: batch.withPayload(row) { Array(copying: $0) }, refusal: refusal))
  }
}

extension Array where Element == UInt8 {
  fileprivate init(copying span: RawSpan) {
    self = []
    append(span)
  }
}
