package import Chat
import Postgres
package import Primitives

/// The writer without its connection: which batch is under way, when to connect again, and what
/// each answer means (`BatchMachine`). The gateway runs it over libpq (`Writer`), the simulator
/// over a PostgreSQL that lies as its seed says.
package struct LogWriter<Connection: AppendConnection & ~Copyable>: ~Copyable {
  private enum Phase { case down, connecting, ready }

  static var connectMilliseconds: Int64 { 5_000 }

  /// nil when memory is short.
  private let open: () -> Connection?
  private var connection: Connection?
  private var phase = Phase.down
  private var backoff: Backoff
  private var deadline = Instant.zero
  private var machine: BatchMachine

  private var batch = Batch()
  private var duplicateIDs = DuplicateIDIndex()
  private var rows: [BatchMachine.Row] = []
  private var sending: [Int] = []
  private var refused: ServerRefusal?
  /// What PostgreSQL said of the rows of this batch that it will never take.
  private var poison: [Int: ServerRefusal] = [:]
  private var quarantined = QuarantinedRows()
  private var hasCompletion = false

  package private(set) var descriptor: Int32 = -1
  package private(set) var wantsWrite = false
  /// Names the database that the connection has reached; empty before the first one.
  package private(set) var store = ""
  package private(set) var registration: UInt32 = 0
  package private(set) var health = WriterHealth.connecting
  package private(set) var isReady = false

  /// Whether records are worth taking. A store that has failed is probed: it is known to work again
  /// without anybody's message.
  package var isWorthTrying: Bool { isReady || health == .ready }

  package init(seed: UInt64, open: @escaping () -> Connection?) {
    self.open = open
    backoff = Backoff(firstMilliseconds: 20, lastMilliseconds: 1_000, seed: seed)
    machine = BatchMachine(seed: seed &* 31 &+ 7)
  }

  package var nextDeadline: Instant {
    let own = phase == .ready ? Instant.never : deadline
    return min(own, machine.nextDeadline)
  }

  package mutating func submit(_ records: inout Batch, now: Instant) {
    precondition(!machine.isBusy && !hasCompletion, "one batch at a time: wait for isReady")
    swap(&batch, &records)
    records.removeAll()
    duplicateIDs.describe(batch, into: &rows)
    perform(machine.submit(rows, now: now), now)
    refreshReadiness(now)
  }

  package mutating func takeCompletion(_ body: (borrowing Batch, [Outcome]) -> Void) -> Bool {
    guard hasCompletion else { return false }
    hasCompletion = false
    body(batch, machine.outcomes)
    if !poison.isEmpty { quarantine() }
    batch.removeAll()
    isReady = phase == .ready && !machine.isBusy && !machine.isStoreFailing
    return true
  }

  /// What the last batch held that PostgreSQL will never take: for whoever keeps it, on another
  /// path than the log's.
  package mutating func takeQuarantined() -> QuarantinedRows {
    guard !quarantined.isEmpty else { return quarantined }
    defer { quarantined = QuarantinedRows() }
    return quarantined
  }

  private mutating func quarantine() {
    for (row, refusal) in poison.sorted(by: { $0.key < $1.key })
    where machine.outcomes[row].verdict == .rejected {
      quarantined.append(batch, row, refusal)
    }
    poison.removeAll(keepingCapacity: true)
  }

  package mutating func advance(now: Instant) {
    if phase == .down {
      if now >= deadline { connect(now) }
    } else {
      connection?.exchange()
      // libpq may try one address after the other, each with a socket of its own.
      if phase == .connecting { registration &+= 1 }
      while let event = connection?.next() { take(event, now) }
      if phase == .connecting, now >= deadline { disconnect(now, "no answer from the server") }
    }
    if now >= machine.nextDeadline { perform(machine.event(.tick, now: now), now) }
    refreshReadiness(now)
  }

  private mutating func refreshReadiness(_ now: Instant) {
    descriptor = connection?.descriptor ?? -1
    wantsWrite = connection?.wantsWrite ?? false
    isReady = phase == .ready && !hasCompletion && machine.accepts(at: now)
    if phase == .ready, !machine.isStoreFailing { health = .ready }
  }

  // MARK: The connection

  private mutating func connect(_ now: Instant) {
    connection = open()
    registration &+= 1
    phase = .connecting
    deadline = now.advanced(byMilliseconds: Self.connectMilliseconds)
    if connection == nil { disconnect(now, "out of memory") }
    while let event = connection?.next() { take(event, now) }
  }

  private mutating func disconnect(_ now: Instant, _ reason: String) {
    connection = nil
    registration &+= 1
    phase = .down
    isReady = false
    health = .down(reason: reason)
    deadline = backoff.next(after: now)
    perform(machine.event(.connectionLost, now: now), now)
  }

  private mutating func take(_ event: AppendEvent, _ now: Instant) {
    switch event {
    case .ready(let store):
      let isSameStore = self.store.isEmpty || store == self.store
      self.store = store
      phase = .ready
      backoff.reset()
      perform(machine.event(.connected(isSameStore: isSameStore), now: now), now)
    case .committed:
      let outcomes = connection?.outcomes ?? []
      perform(machine.event(.committed(outcomes), now: now), now)
    case .refused(let refusal):
      refused = refusal
      if machine.isProbing || Remedy(for: refusal.state) == .waitForStore {
        health = .down(reason: refusal.message)
      }
      let action = machine.event(.failed(refusal.state), now: now)
      if let row = machine.rejected { poison[row] = refusal }
      perform(action, now)
    case .lost(let reason): disconnect(now, reason)
    }
  }

  private mutating func perform(_ action: BatchMachine.Action, _ now: Instant) {
    switch action {
    case .wait: break
    case .complete: hasCompletion = true
    case .reconnect: disconnect(now, refused?.message ?? "the server does not answer")
    case .probe(let spilling):
      refused = nil
      if !(connection?.probe(spilling: spilling) ?? false) { disconnect(now, "connection lost") }
    case .run(let range):
      refused = nil
      sending.removeAll(keepingCapacity: true)
      for row in range where machine.isPending(row) { sending.append(row) }
      if !(connection?.append(batch, sending) ?? false) { disconnect(now, "connection lost") }
    }
  }
}
