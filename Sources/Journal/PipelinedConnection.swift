package import Chat
import Postgres
import Primitives

/// `AppendConnection` over libpq in pipeline mode: one fenced statement, or BEGIN, locks, rows and
/// COMMIT, and a sync are sent together, so a batch costs one round trip.
///
/// A fenced statement is a transaction of its own. PostgreSQL commits it at the sync, so that its
/// rows count as stored once the answer to the sync has come, not that to the statement.
///
/// A pooler in transaction mode (PgBouncer) keeps no session state. Statements are then sent as
/// text and parsed each time, settings end with their transaction, and each transaction reads the
/// name of its database again. Fenced statements are not used: their settings would need a
/// transaction.
package struct PipelinedConnection: ~Copyable, AppendConnection {
  private enum ConnectionPhase { case connecting, open, ended }
  /// The statement or sync to which a result belongs.
  private enum Step {
    case other, fenced, append, commit, sync, rollbackSync, identity, identitySync, setupSync, store
  }

  private var pq: PQConnection
  private var phase = ConnectionPhase.connecting
  private var steps: [Step] = []
  private var stepsTaken = 0
  /// The refusal of the transaction whose results are being received.
  private var refused: ServerRefusal?
  /// Why the connection has failed; reported after the results that came before.
  private var failure: String?
  package private(set) var outcomes: [Outcome] = []
  /// The name of the database, see `StoreIdentity`.
  private var store = ""
  /// Whether there is a pooler; known before anything is prepared.
  private var isPooled = false
  /// The present transaction, through a pooler, ran in another database.
  private var isElsewhere = false
  package private(set) var wantsWrite: Bool
  private var lockKeys: [AppendStatement.SessionKey] = []
  private var replies: [Int] = []
  private var fencedRows = FencedRows()
  /// The transaction whose results are being received is a fenced statement.
  private var isFenced = false
  private var locks = ParameterBuffer()
  private var claims = ParameterBuffer()
  private var parameters = ParameterBuffer()

  /// Nil when memory is short.
  init?(url: String) {
    guard let pq = PQConnection.start(url: url, readWrite: true) else { return nil }
    wantsWrite = pq.connectWantsWrite
    if pq.isBroken { failure = pq.errorMessage }
    self.pq = pq
  }

  package var descriptor: Int32 { pq.descriptor }

  // MARK: Sending

  package mutating func append(
    _ batch: borrowing Batch, _ rows: [Int], isFenced: Bool
  ) -> Bool {
    self.isFenced = isFenced && !isPooled
    return self.isFenced ? sendFenced(batch, rows) : send(batch, rows, spilling: false)
  }

  package mutating func probe(spilling: Bool) -> Bool {
    isFenced = false
    return send(Batch(), [], spilling: spilling)
  }

  private mutating func sendFenced(_ batch: borrowing Batch, _ rows: [Int]) -> Bool {
    outcomes.removeAll(keepingCapacity: true)
    outcomes.append(contentsOf: repeatElement(Outcome(verdict: .unavailable), count: rows.count))
    refused = nil
    fencedRows.group(batch, rows)
    parameters.removeAll()
    if rows.count == 1 {
      FencedStatement.writeOne(of: batch, fencedRows, to: &parameters)
    } else {
      FencedStatement.writeAll(of: batch, fencedRows, to: &parameters)
    }
    guard pq.execute(prepared: fencedRows.statement, parameters), pq.sync() else { return false }
    expect([.fenced, .sync])
    flush()
    return true
  }

  private mutating func send(
    _ batch: borrowing Batch, _ rows: [Int], spilling: Bool
  ) -> Bool {
    outcomes.removeAll(keepingCapacity: true)
    refused = nil
    locks.removeAll()
    AppendStatement.writeLocks(of: batch, rows, &lockKeys, to: &locks)
    claims.removeAll()
    let hasClaims = AppendStatement.writeClaims(of: batch, rows, &replies, to: &claims)
    parameters.removeAll()
    AppendStatement.writeRows(of: batch, rows, to: &parameters)
    guard isPooled ? sendAsText(hasClaims, spilling) : sendPrepared(hasClaims, spilling) else {
      return false
    }
    flush()
    return true
  }

  private mutating func sendPrepared(_ hasClaims: Bool, _ spilling: Bool) -> Bool {
    guard
      pq.execute(prepared: "begin", ParameterBuffer()),
      pq.execute(prepared: "lock", locks),
      !hasClaims || pq.execute(prepared: "claim", claims),
      !spilling || pq.execute(text: AppendStatement.spill),
      pq.execute(prepared: "append", parameters),
      pq.execute(prepared: "commit", ParameterBuffer()), pq.sync()
    else { return false }
    expect(hasClaims ? [.other, .other, .other] : [.other, .other])
    if spilling { expect([.other]) }
    expect([.append, .commit, .sync])
    return true
  }

  private mutating func sendAsText(_ hasClaims: Bool, _ spilling: Bool) -> Bool {
    isElsewhere = false
    guard
      pq.execute(text: "BEGIN"), pq.execute(text: StoreIdentity.query), pinPlans(),
      pq.execute(text: AppendStatement.lock, locks),
      !hasClaims || pq.execute(text: AppendStatement.claim, claims),
      !spilling || pq.execute(text: AppendStatement.spill),
      pq.execute(text: AppendStatement.append, parameters), pq.execute(text: "COMMIT"),
      pq.sync()
    else { return false }
    expect([.other, .store, .other, .other])
    if spilling { expect([.other]) }
    expect(hasClaims ? [.other, .append, .commit, .sync] : [.append, .commit, .sync])
    return true
  }

  private func pinPlans() -> Bool {
    var settings = ParameterBuffer()
    settings.append(.bool(isPooled))
    return pq.execute(text: AppendStatement.settings, settings)
  }

  /// Reads the name of the database, and renews its epoch if it was restored, before any session is
  /// read from it.
  private mutating func identify() {
    guard
      pq.execute(text: StoreIdentity.query), pq.execute(text: History.generationQuery.sql),
      pq.sync()
    else { return fail() }
    expect([.identity, .other, .identitySync])
    flush()
  }

  /// Applies the settings, then prepares the statements, which are planned under them.
  private mutating func setUp() {
    guard
      pinPlans(), pq.prepare("begin", "BEGIN", types: []),
      pq.prepare("lock", AppendStatement.lock, types: AppendStatement.lockTypes),
      pq.prepare("claim", AppendStatement.claim, types: AppendStatement.claimTypes),
      pq.prepare("append", AppendStatement.append, types: AppendStatement.appendTypes),
      pq.prepare("commit", "COMMIT", types: []),
      FencedStatement.all.allSatisfy({ pq.prepare($0.name, $0.sql, types: $0.types) }),
      pq.sync()
    else { return fail() }
    expect(Array(repeating: .other, count: 6 + FencedStatement.all.count) + [.setupSync])
    flush()
  }

  /// Ends the failed transaction, which is open until then. The next one may be sent without
  /// waiting.
  private mutating func rollBack() {
    guard pq.execute(text: "ROLLBACK"), pq.sync() else { return fail() }
    expect([.other, .rollbackSync])
    flush()
  }

  private mutating func expect(_ next: [Step]) {
    if stepsTaken == steps.count {
      steps.removeAll(keepingCapacity: true)
      stepsTaken = 0
    }
    steps.append(contentsOf: next)
  }

  private mutating func flush() {
    switch pq.flush() {
    case .all: wantsWrite = false
    case .some: wantsWrite = true
    case .failed: fail()
    }
  }

  private mutating func fail() {
    if failure == nil { failure = pq.errorMessage }
  }

  // MARK: Receiving

  package mutating func exchange() {
    switch phase {
    case .connecting:
      let progress = pq.advanceConnect()
      wantsWrite = pq.connectWantsWrite
      switch progress {
      case .waiting: break
      case .failed: fail()
      case .ready:
        phase = .open
        identify()
      }
    case .open:
      if !pq.receive() || pq.isBroken { fail() }
      flush()
    case .ended: break
    }
  }

  package mutating func next() -> AppendEvent? {
    if phase == .open, let event = nextResult() { return event }
    guard let failure, phase != .ended else { return nil }
    phase = .ended
    return .lost(reason: failure)
  }

  private mutating func nextResult() -> AppendEvent? {
    // libpq returns null between two statements' results; a second one means that none is left.
    var nones = 0
    while stepsTaken < steps.count, nones < 2, !pq.isBusy {
      guard let answer = pq.next() else {
        nones += 1
        continue
      }
      nones = 0
      let step = steps[stepsTaken]
      stepsTaken += 1
      switch answer.form {
      case .refused:
        if refused == nil { refused = answer.refusal }
        // The commit at the sync failed (a deferred constraint). libpq 15 may lose count of the
        // results then.
        if step == .sync { return lose(answer.refusal.message) }
      case .skipped: break
      case .done:
        if step == .append { readOutcomes(answer) }
        if step == .fenced { readStored(answer) }
        if step == .identity { read(answer.rows()) }
        if step == .store, answer.rows().text(0, 0) != store { isElsewhere = true }
        // COMMIT of a failed transaction returns the tag ROLLBACK without an error.
        if step == .commit, answer.commandTag != "COMMIT" {
          return lose("the transaction was not committed")
        }
      case .sync: if let event = finish(step) { return event }
      }
    }
    return nil
  }

  private mutating func lose(_ reason: String) -> AppendEvent {
    phase = .ended
    return .lost(reason: reason)
  }

  private mutating func finish(_ step: Step) -> AppendEvent? {
    switch step {
    case .identitySync where refused == nil && !isPooled:
      setUp()
      return nil
    case .identitySync, .setupSync:
      guard let refused else { return .ready(store: store) }
      return lose(refused.message)
    case .sync where isElsewhere:
      // The outcomes belong to another log.
      return lose("the pooler leads to another database now")
    case .sync:
      guard let refused else { return .committed }
      if !isFenced { rollBack() }
      return .refused(refused)
    case .rollbackSync, .other, .fenced, .append, .commit, .identity, .store: return nil
    }
  }

  private mutating func read(_ identity: Rows) {
    store = identity.text(0, 0) ?? ""
    isPooled = pq.isPooled(answeredBy: identity.int(0, 2))
  }

  /// The sessions that a fenced statement has stored.
  private mutating func readStored(_ answer: borrowing Answer) {
    for row in 0..<answer.rowCount {
      let place = answer.withValue(row, 0) {
        $0.byteCount == 8 ? Int(Int64(bitPattern: $0.uint64(at: 0))) - 1 : -1
      }
      let at = answer.withValue(row, 1) {
        $0.byteCount == 8 ? Int64(bitPattern: $0.uint64(at: 0)) : 0
      }
      fencedRows.settle(place, at: WallTime(microseconds: at + microsecondsTo2000), in: &outcomes)
    }
  }

  private mutating func readOutcomes(_ answer: borrowing Answer) {
    for row in 0..<answer.rowCount {
      let number = answer.withValue(row, 0) { span in
        span.byteCount == 4 ? Int32(span.uint16(at: 0)) << 16 | Int32(span.uint16(at: 2)) : -1
      }
      let seq = answer.withValue(row, 1) {
        $0.byteCount == 8 ? Int64(bitPattern: $0.uint64(at: 0)) : 0
      }
      let at = answer.withValue(row, 2) {
        $0.byteCount == 8 ? Int64(bitPattern: $0.uint64(at: 0)) : 0
      }
      guard let verdict = AppendStatement.verdict(number) else {
        preconditionFailure("the append statement returns 0 to 4")
      }
      outcomes.append(
        Outcome(verdict: verdict, seq: seq, at: WallTime(microseconds: at + microsecondsTo2000)))
    }
  }
}
