public import Chat
import Postgres
public import Primitives

/// Appends batches to the log in PostgreSQL, one pipelined transaction each, over a connection that
/// the event loop drives (as `QueryConnection`: `descriptor`, `wantsWrite`, `registration`,
/// `nextDeadline`, `advance`). Never waits.
///
/// What it promises is protocol.md, “The log”: a row is `.stored` or `.duplicate` only after COMMIT
/// was received. A batch whose outcome is unknown is sent again after reconnecting and its ids make
/// that exact: rows that the first attempt had committed then come back as `.duplicate`. So a
/// duplicate above the session's known head is news for its subscribers, like a stored row.
///
/// A batch older than `Limits.sendWaitMilliseconds` is not tried any more: its rows come back
/// `.unavailable`, and those of them that were under way may yet turn out to be stored; whoever
/// keeps a session in memory reads its head again before trusting it.
public struct Writer: ~Copyable {
  public enum Health: Sendable, Equatable {
    case connecting
    case ready
    case down(reason: String)
  }

  private enum Phase { case down, connecting, preparing, ready }
  /// What each result is the answer to.
  private enum Step { case other, append, commit, sync, rollbackSync, setupSync }

  static let connectMilliseconds: Int64 = 5_000

  private let url: String
  private var link: Link?
  private var phase = Phase.down
  private var backoff: Backoff
  private var deadline = Instant.zero
  private var machine: BatchMachine
  private var steps: [Step] = []
  private var stepsTaken = 0

  private var batch = Batch()
  private var twins = TwinTable()
  private var rows: [BatchMachine.Row] = []
  private var sending: [Int] = []
  private var results: [Outcome] = []
  private var refused: ServerRefusal?
  private var hasCompletion = false
  private var locks = ParameterBuffer()
  private var parameters = ParameterBuffer()

  /// -1 when there is none.
  public private(set) var descriptor: Int32 = -1
  public private(set) var wantsWrite = false
  /// Changes whenever `descriptor` may be another socket, even one of the same number: the loop
  /// registers it anew.
  public private(set) var registration: UInt32 = 0
  public private(set) var health = Health.connecting
  /// Whether `submit` may be called and would be tried at once.
  public private(set) var isReady = false

  /// Connects at the first `advance`. `seed` spreads the retries of several writers.
  public init(url: String, seed: UInt64) {
    self.url = url
    backoff = Backoff(firstMilliseconds: 20, lastMilliseconds: 1_000, seed: seed)
    machine = BatchMachine(seed: seed &* 31 &+ 7)
  }

  /// When `advance` has to be called even if nothing happens.
  public var nextDeadline: Instant {
    let own = phase == .ready ? Instant.never : deadline
    return min(own, machine.nextDeadline)
  }

  /// Takes the records and leaves an empty batch with storage. There must be no batch under way.
  public mutating func submit(_ records: inout Batch, now: Instant) {
    precondition(!machine.isBusy && !hasCompletion, "one batch at a time: wait for isReady")
    swap(&batch, &records)
    records.removeAll()
    twins.describe(batch, into: &rows)
    perform(machine.submit(rows, now: now), now)
    refreshReadiness(now)
  }

  /// Lends the batch and its outcomes once, after the last of its rows has one.
  public mutating func takeCompletion(_ body: (borrowing Batch, [Outcome]) -> Void) -> Bool {
    guard hasCompletion else { return false }
    hasCompletion = false
    body(batch, machine.outcomes)
    batch.removeAll()
    isReady = phase == .ready && !machine.isBusy && !machine.isStoreFailing
    return true
  }

  public mutating func advance(now: Instant) {
    switch phase {
    case .down: if now >= deadline { connect(now) }
    case .connecting: advanceConnect(now)
    case .preparing, .ready: exchange(now)
    }
    if now >= machine.nextDeadline { perform(machine.event(.tick, now: now), now) }
    refreshReadiness(now)
  }

  private mutating func refreshReadiness(_ now: Instant) {
    isReady = phase == .ready && !hasCompletion && machine.accepts(at: now)
    if phase == .ready, !machine.isStoreFailing { health = .ready }
  }

  // MARK: Connecting

  private mutating func connect(_ now: Instant) {
    link = Link.start(url: url, readWrite: true)
    phase = .connecting
    noteSocket()
    deadline = now.advanced(byMilliseconds: Writer.connectMilliseconds)
    if link?.isBroken ?? true { disconnect(now, link?.errorMessage ?? "out of memory") }
  }

  private mutating func advanceConnect(_ now: Instant) {
    let progress = link?.advanceConnect() ?? .failed
    noteSocket()
    switch progress {
    case .waiting:
      if now >= deadline { disconnect(now, "no answer from the server") }
    case .failed:
      disconnect(now, link?.errorMessage ?? "out of memory")
    case .ready:
      phase = .preparing
      steps.removeAll(keepingCapacity: true)
      stepsTaken = 0
      refused = nil
      // Settings first: the plans are made under them.
      let accepted =
        (link?.execute(text: AppendStatement.settings) ?? false)
        && (link?.prepare("begin", "BEGIN", types: []) ?? false)
        && (link?.prepare("lock", AppendStatement.lock, types: AppendStatement.lockTypes) ?? false)
        && (link?.prepare("append", AppendStatement.append, types: AppendStatement.appendTypes)
          ?? false)
        && (link?.prepare("commit", "COMMIT", types: []) ?? false) && (link?.sync() ?? false)
      guard accepted else { return disconnect(now, link?.errorMessage ?? "out of memory") }
      expect([.other, .other, .other, .other, .other, .setupSync])
      flush(now)
    }
  }

  private mutating func noteSocket() {
    descriptor = link?.descriptor ?? -1
    wantsWrite = link?.connectWantsWrite ?? false
    registration &+= 1
  }

  private mutating func disconnect(_ now: Instant, _ reason: String) {
    link = nil
    descriptor = -1
    wantsWrite = false
    registration &+= 1
    phase = .down
    isReady = false
    health = .down(reason: reason)
    deadline = backoff.next(after: now)
    steps.removeAll(keepingCapacity: true)
    stepsTaken = 0
    perform(machine.event(.connectionLost, now: now), now)
  }

  // MARK: One transaction

  private mutating func perform(_ action: BatchMachine.Action, _ now: Instant) {
    switch action {
    case .wait: break
    case .complete: hasCompletion = true
    case .reconnect: disconnect(now, refused?.message ?? "the server does not answer")
    case .run(let range): send(range, now)
    }
  }

  private mutating func send(_ range: Range<Int>, _ now: Instant) {
    sending.removeAll(keepingCapacity: true)
    for row in range where machine.isPending(row) { sending.append(row) }
    results.removeAll(keepingCapacity: true)
    refused = nil
    locks.removeAll()
    AppendStatement.writeSessions(of: batch, sending, to: &locks)
    parameters.removeAll()
    AppendStatement.writeRows(of: batch, sending, to: &parameters)
    let accepted =
      (link?.execute("begin", ParameterBuffer()) ?? false)
      && (link?.execute("lock", locks) ?? false)
      && (link?.execute("append", parameters) ?? false)
      && (link?.execute("commit", ParameterBuffer()) ?? false) && (link?.sync() ?? false)
    guard accepted else { return disconnect(now, link?.errorMessage ?? "connection lost") }
    expect([.other, .other, .append, .commit, .sync])
    flush(now)
  }

  private mutating func expect(_ next: [Step]) {
    if stepsTaken == steps.count {
      steps.removeAll(keepingCapacity: true)
      stepsTaken = 0
    }
    steps.append(contentsOf: next)
  }

  private mutating func exchange(_ now: Instant) {
    let received = link?.receive() ?? false
    takeResults(now)
    guard phase == .preparing || phase == .ready else { return }
    if !received || (link?.isBroken ?? true) {
      return disconnect(now, link?.errorMessage ?? "connection lost")
    }
    flush(now)
    if phase == .preparing, now >= deadline { disconnect(now, "no answer from the server") }
  }

  private mutating func flush(_ now: Instant) {
    switch link?.flush() ?? .failed {
    case .all: wantsWrite = false
    case .some: wantsWrite = true
    case .failed: disconnect(now, link?.errorMessage ?? "connection lost")
    }
  }

  private mutating func takeResults(_ now: Instant) {
    // Between two results of the pipeline comes one “none”; a second one means that there is no
    // more.
    var nones = 0
    while stepsTaken < steps.count, nones < 2, !(link?.isBusy ?? true) {
      guard let answer = link?.next() else {
        nones += 1
        continue
      }
      nones = 0
      let step = steps[stepsTaken]
      stepsTaken += 1
      switch answer.form {
      case .refused: if refused == nil { refused = answer.refusal }
      case .skipped: break
      case .done:
        if step == .append { readOutcomes(answer) }
        // COMMIT of a transaction that has failed answers ROLLBACK, without an error.
        if step == .commit, answer.commandTag != "COMMIT" {
          return disconnect(now, "the transaction was not committed")
        }
      case .sync: finish(step, now)
      }
    }
  }

  private mutating func finish(_ step: Step, _ now: Instant) {
    switch step {
    case .setupSync:
      if let refused { return disconnect(now, refused.message) }
      phase = .ready
      backoff.reset()
      perform(machine.event(.connected, now: now), now)
    case .sync:
      if let refused {
        rollBack(now)
        // Without a connection the machine knows already.
        guard phase == .ready else { return }
        if Remedy(for: refused.state) == .waitForStore { health = .down(reason: refused.message) }
        perform(machine.event(.failed(refused.state), now: now), now)
      } else {
        perform(machine.event(.committed(results), now: now), now)
      }
    case .rollbackSync, .other, .append, .commit: break
    }
  }

  /// The failed transaction is still open until it is told to end; the next one may follow without
  /// waiting.
  private mutating func rollBack(_ now: Instant) {
    let accepted = (link?.execute(text: "ROLLBACK") ?? false) && (link?.sync() ?? false)
    guard accepted else { return disconnect(now, link?.errorMessage ?? "connection lost") }
    expect([.other, .rollbackSync])
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
        preconditionFailure("the append statement answers 0 to 4")
      }
      results.append(
        Outcome(verdict: verdict, seq: seq, at: WallTime(microseconds: at + microsecondsTo2000)))
    }
  }
}
