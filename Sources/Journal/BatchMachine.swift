import Chat
import Postgres
import Primitives

/// The failure table of Sources/PROTOCOL.md (“The log”) as a pure state machine: events of a
/// connection go in, the writer's next action comes out.
///
/// Invariants: each row gets exactly one outcome; a row is sent only if all earlier rows of its
/// session have an outcome other than `.unavailable`; no row gets `.stored` or `.duplicate` without
/// a received COMMIT.
struct BatchMachine {
  /// Further attempts after a conflict (deadlock, lock timeout) before a part is split.
  static let conflictRetries = 3
  /// The same if an id is taken. If another transaction has just stored it in this workspace, the
  /// next attempt finds it; if it belongs to another workspace, no attempt does.
  static let takenRetries = 1
  /// Time without an answer after which the connection is dropped. `statement_timeout` is shorter.
  static let silenceMilliseconds: Int64 = 5_000

  enum Event {
    /// Connected to the same database as before, or to one that may lack what the old one stored.
    case connected(isSameStore: Bool)
    case connectionLost
    /// COMMIT was received; one outcome for each pending row of the part, in order.
    case committed([Outcome])
    /// The transaction failed and was rolled back.
    case failed(SQLState)
    /// Time has passed.
    case tick
  }

  enum Action: Equatable {
    case wait
    /// Send the pending rows in this range as one transaction, under locks.
    case run(Range<Int>)
    /// Send them as one transaction with the numbers that follow the known heads, see
    /// `FencedStatement`.
    case runFenced(Range<Int>)
    /// Send a transaction without rows to test the store, see `AppendConnection.probe`.
    case probe(spilling: Bool)
    /// Drop the connection and open a new one.
    case reconnect
    /// Each row has its outcome.
    case complete
  }

  struct Row {
    var session: Identifier
    /// An earlier row of this batch with the same id; such a row is not sent.
    var duplicateOf: Int?
    /// Whether both have the same session and content.
    var isSame = false
  }

  private struct Part {
    var range: Range<Int>
    var attempts = 0
    /// The next attempt brings the numbers. Only the first one does: a refusal, or a lost answer,
    /// means that somebody else may have taken them.
    var isFenced = false
  }

  private var rows: [Row] = []
  /// In the order of the rows; valid where `decided` is true.
  private(set) var outcomes: [Outcome] = []
  private var decided: [Bool] = []
  /// The parts to be sent, the next one last.
  private var parts: [Part] = []
  private var running: Part?
  private var runningSince = Instant.zero
  private var born = Instant.zero
  private var resume = Instant.zero
  private var isConnected = false
  /// Why the store cannot accept rows now (disk full, too many connections, missing table). Without
  /// a batch it is probed, to detect its recovery.
  private var storeFault: SQLState?
  private(set) var isProbing = false
  private(set) var isBusy = false
  /// The outcomes of the fenced transactions.
  private(set) var fences = FenceCounts()
  private var conflictBackoff: Backoff
  private var storeBackoff: Backoff

  init(seed: UInt64) {
    conflictBackoff = Backoff(firstMilliseconds: 10, lastMilliseconds: 200, seed: seed)
    storeBackoff = Backoff(firstMilliseconds: 100, lastMilliseconds: 2_000, seed: ~seed)
  }

  /// Whether a new batch would be sent at once.
  func accepts(at now: Instant) -> Bool {
    !isBusy && !isProbing && isConnected && now >= resume
  }

  var isStoreFailing: Bool { storeFault != nil }

  /// The row that the last event identified as the reason of the refusal.
  private(set) var rejected: Int?

  /// Whether the last event has postponed rows: attempts went on failing by a conflict.
  private(set) var hasPostponed = false

  func isPending(_ row: Int) -> Bool { !decided[row] && rows[row].duplicateOf == nil }

  var nextDeadline: Instant {
    if running != nil || isProbing {
      return runningSince.advanced(byMilliseconds: BatchMachine.silenceMilliseconds)
    }
    guard isBusy else { return isConnected && isStoreFailing ? resume : .never }
    return min(expiry, isConnected ? resume : .never)
  }

  private var expiry: Instant { born.advanced(byMilliseconds: Limits.sendWaitMilliseconds) }

  // MARK: Events

  /// - Parameter isFenced: the head of each row's session is known.
  mutating func submit(_ rows: [Row], isFenced: Bool = false, now: Instant) -> Action {
    precondition(!isBusy, "one batch at a time")
    self.rows = rows
    outcomes.removeAll(keepingCapacity: true)
    outcomes.append(contentsOf: repeatElement(Outcome(verdict: .unavailable), count: rows.count))
    decided.removeAll(keepingCapacity: true)
    decided.append(contentsOf: repeatElement(false, count: rows.count))
    parts.removeAll(keepingCapacity: true)
    if !rows.isEmpty { parts.append(Part(range: 0..<rows.count, isFenced: isFenced)) }
    born = now
    isBusy = true
    conflictBackoff.reset()
    return next(now)
  }

  mutating func event(_ event: Event, now: Instant) -> Action {
    rejected = nil
    hasPostponed = false
    switch event {
    case .connected(let isSameStore):
      isConnected = true
      if !isSameStore { startAgain() }
      // Only a batch or a probe shows whether a fault such as a full disk remains.
      resume = .zero
      return next(now)
    case .connectionLost:
      isConnected = false
      isProbing = false
      // It is unknown whether the part was committed; the ids show it when it is sent again.
      if var part = running.take() {
        part.isFenced = false
        parts.append(part)
      }
      return next(now)
    case .committed(let results):
      if isProbing { noteWorking() } else { commit(results) }
      return next(now)
    case .failed(let state):
      return isProbing ? failProbe(state, now) : fail(state, now)
    case .tick:
      if running != nil || isProbing {
        guard now >= nextDeadline else { return .wait }
        return .reconnect
      }
      return next(now)
    }
  }

  /// The new database may lack rows that the old one stored, so all rows are sent again.
  private mutating func startAgain() {
    guard isBusy else { return }
    for row in rows.indices { decided[row] = false }
    parts = [Part(range: 0..<rows.count)]
  }

  private mutating func next(_ now: Instant) -> Action {
    guard running == nil, !isProbing else { return .wait }
    guard isBusy else { return probe(now) }
    if now >= expiry { giveUpAll() }
    while let part = parts.last {
      guard part.range.contains(where: { isPending($0) }) else {
        parts.removeLast()
        continue
      }
      guard isConnected, now >= resume else { return .wait }
      parts.removeLast()
      running = part
      runningSince = now
      return part.isFenced ? .runFenced(part.range) : .run(part.range)
    }
    resolveDuplicates()
    isBusy = false
    if !isStoreFailing { resume = .zero }
    return .complete
  }

  private mutating func probe(_ now: Instant) -> Action {
    guard let storeFault, isConnected, now >= resume else { return .wait }
    isProbing = true
    runningSince = now
    // A full disk, or a disk error, shows only when something is written.
    return .probe(spilling: ["53", "58"].contains(storeFault.errorClass))
  }

  private mutating func failProbe(_ state: SQLState, _ now: Instant) -> Action {
    isProbing = false
    storeFault = state
    resume = storeBackoff.next(after: now)
    guard Remedy(for: state) != .reconnect else {
      isConnected = false
      return .reconnect
    }
    return next(now)
  }

  private mutating func noteWorking() {
    isProbing = false
    storeFault = nil
    resume = .zero
    storeBackoff.reset()
  }

  private mutating func commit(_ results: [Outcome]) {
    guard var part = running.take() else { preconditionFailure("nothing was sent") }
    var result = 0
    var isLeft = false
    for row in part.range where isPending(row) {
      if part.isFenced, results[result].verdict == .unavailable {
        isLeft = true
      } else {
        decide(row, results[result])
      }
      result += 1
    }
    precondition(result == results.count, "one outcome for each row that was sent")
    if part.isFenced {
      fences.passed += isLeft ? 0 : 1
      fences.refused += isLeft ? 1 : 0
      part.isFenced = false
      if isLeft { parts.append(part) }
    }
    storeFault = nil
    storeBackoff.reset()
  }

  private mutating func fail(_ state: SQLState, _ now: Instant) -> Action {
    guard var part = running.take() else { return next(now) }
    let wasFenced = part.isFenced
    part.isFenced = false
    if wasFenced { fences.refused += 1 }
    switch Remedy(for: state) {
    case .retry where wasFenced && state == .uniqueViolation, .isolate where wasFenced:
      // A known id, or a row that PostgreSQL never accepts: the statements under locks tell which.
      parts.append(part)
    case .retry:
      let isTaken = state == .uniqueViolation
      if part.attempts < (isTaken ? BatchMachine.takenRetries : BatchMachine.conflictRetries) {
        part.attempts += 1
        parts.append(part)
        resume = conflictBackoff.next(after: now)
      } else if !split(part, attempts: part.attempts) {
        if isTaken { conclude(part.range, .conflict) } else { postpone(part.range) }
      }
    case .isolate:
      if !split(part, attempts: 0) {
        rejected = part.range.first { isPending($0) }
        conclude(part.range, .rejected)
      }
    case .reconnect:
      // `.connectionLost` follows.
      parts.append(part)
      isConnected = false
      return .reconnect
    case .waitForStore:
      parts.append(part)
      storeFault = state
      resume = storeBackoff.next(after: now)
    }
    return next(now)
  }

  // MARK: Rows

  /// Splits a part in two; the first half is sent first.
  ///
  /// - Returns: false if the part has only one row to send.
  private mutating func split(_ part: Part, attempts: Int) -> Bool {
    let pending = part.range.filter { isPending($0) }
    guard pending.count > 1 else { return false }
    let middle = pending[pending.count / 2]
    parts.append(Part(range: middle..<part.range.upperBound, attempts: attempts))
    parts.append(Part(range: part.range.lowerBound..<middle, attempts: attempts))
    return true
  }

  /// Rows that cannot be stored now, and all later rows of their sessions, become unavailable.
  /// Their senders send them again in order.
  private mutating func postpone(_ range: Range<Int>) {
    hasPostponed = true
    for row in range where isPending(row) {
      for later in row..<rows.count
      where isPending(later) && rows[later].session == rows[row].session {
        decide(later, Outcome(verdict: .unavailable))
      }
    }
  }

  private mutating func conclude(_ range: Range<Int>, _ verdict: Outcome.Verdict) {
    for row in range where isPending(row) { decide(row, Outcome(verdict: verdict)) }
  }

  private mutating func giveUpAll() {
    parts.removeAll(keepingCapacity: true)
    for row in rows.indices where isPending(row) { decide(row, Outcome(verdict: .unavailable)) }
  }

  private mutating func decide(_ row: Int, _ outcome: Outcome) {
    outcomes[row] = outcome
    decided[row] = true
  }

  /// The second of two rows with the same id is a duplicate of the first, or a conflict with it.
  private mutating func resolveDuplicates() {
    for row in rows.indices {
      guard let original = rows[row].duplicateOf else { continue }
      let first = outcomes[original]
      switch first.verdict {
      case .stored, .duplicate:
        outcomes[row] =
          rows[row].isSame
          ? Outcome(verdict: .duplicate, seq: first.seq, at: first.at) : Outcome(verdict: .conflict)
      case .conflict: outcomes[row] = first
      case .noSuchSession, .closed, .rejected, .unavailable:
        // A different row under that id was not tried, so its sender may send it again.
        outcomes[row] = rows[row].isSame ? first : Outcome(verdict: .unavailable)
      }
    }
  }
}

/// Transactions that brought the numbers of their rows.
package struct FenceCounts: Sendable, Equatable {
  /// They stored all of their rows.
  package internal(set) var passed: UInt64 = 0
  /// They stored none of them, or those of some sessions only.
  package internal(set) var refused: UInt64 = 0

  package init() {}
}

/// The reaction to an SQLSTATE (PostgreSQL manual, appendix A; Sources/PROTOCOL.md, “The log”).
enum Remedy: Equatable {
  /// A conflict with another transaction: try again after a pause.
  case retry
  /// PostgreSQL will never accept one of the rows: find it by splitting.
  case isolate
  /// The connection cannot be used any longer.
  case reconnect
  /// The store cannot accept rows now.
  case waitForStore

  init(for state: SQLState) {
    switch state.code {
    // Serialization failure, deadlock, lock not available, statement timeout; unique violation: an
    // id that another transaction has just stored, which the next attempt finds.
    case "40001", "40P01", "55P03", "57014", "23505": self = .retry
    // Read-only transaction (a former primary), aborted transaction, idle timeout, missing or
    // outdated prepared statement, shutdown.
    case "25006", "25P02", "25P03", "26000", "0A000", "57P01", "57P02", "57P03": self = .reconnect
    default:
      switch state.errorClass {
      // Data exception, integrity violation, program limit; and errors of an administrator's
      // triggers or views (RAISE EXCEPTION, WITH CHECK OPTION). Such a row must not block the other
      // rows.
      case "22", "23", "54", "09", "27", "38", "39", "44", "P0": self = .isolate
      case "40": self = .retry
      case "08": self = .reconnect
      default: self = .waitForStore
      }
    }
  }
}

/// Finds rows of a batch with the id of an earlier row: a client repeated a message before the
/// first attempt was answered. A reused hash table with open addressing.
struct DuplicateIDIndex {
  /// Twice the rows of the largest batch, a power of two.
  private static let slots = 1_024
  private var table = [UInt16](repeating: 0, count: DuplicateIDIndex.slots)

  mutating func describe(_ batch: borrowing Batch, into rows: inout [BatchMachine.Row]) {
    precondition(batch.count * 2 <= DuplicateIDIndex.slots)
    rows.removeAll(keepingCapacity: true)
    for slot in table.indices { table[slot] = 0 }
    for index in 0..<batch.count {
      let record = batch.record(index)
      var row = BatchMachine.Row(session: record.session, duplicateOf: nil)
      // The low half of an id of version 7 is random. Chosen collisions only lengthen the probing
      // within 1,024 slots.
      var slot = Int(
        truncatingIfNeeded: (record.id.low ^ record.id.high) % UInt64(DuplicateIDIndex.slots))
      while table[slot] != 0 {
        let other = Int(table[slot]) - 1
        if batch.record(other).id == record.id {
          row.duplicateOf = other
          row.isSame = DuplicateIDIndex.isSame(batch, other, index)
          break
        }
        slot = (slot + 1) % DuplicateIDIndex.slots
      }
      if row.duplicateOf == nil { table[slot] = UInt16(index + 1) }
      rows.append(row)
    }
  }

  /// Compares the sessions and what the content's hash covers.
  private static func isSame(_ batch: borrowing Batch, _ first: Int, _ second: Int) -> Bool {
    let one = batch.record(first)
    let other = batch.record(second)
    guard one.session == other.session, one.kind == other.kind else { return false }
    return batch.withBody(first) { a in batch.withBody(second) { areEqual(a, $0) } }
      && batch.withPayload(first) { a in batch.withPayload(second) { areEqual(a, $0) } }
  }

  private static func areEqual(_ a: RawSpan, _ b: RawSpan) -> Bool {
    guard a.byteCount == b.byteCount else { return false }
    for offset in 0..<a.byteCount where a.byte(at: offset) != b.byte(at: offset) { return false }
    return true
  }
}
