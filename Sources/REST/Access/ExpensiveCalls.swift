/// Limits how many requests with expensive statements of one workspace run at once. Further ones
/// wait, and callers take turns, so that the many requests of one delay another's by one.
import Kernel
import Primitives
import Synchronization

final class ExpensiveCalls: Sendable {
  /// The requests that are counted together: transcripts for a workspace's visitors are apart from
  /// the requests of its members, so that no stranger can delay them.
  struct Owner: Hashable, Sendable {
    var workspace: Identifier
    var isOfVisitors = false
    /// Runs of actions on many conversations: they delay no list.
    var isOfRuns = false
  }

  private enum Outcome { case admitted, refused }

  private struct Waiter {
    var continuation: CheckedContinuation<Outcome, Never>
    var since: Instant
  }

  /// The requests of one owner.
  private struct Line {
    var running = 0
    var waiting = 0
    var waiters: [Identifier: [Waiter]] = [:]
    /// The callers with waiting requests, in the order of their turns.
    var turns: [Identifier] = []
    /// Running and waiting requests of each caller.
    var counts: [Identifier: Int] = [:]

    mutating func leave(_ caller: Identifier) {
      let count = counts[caller] ?? 0
      counts[caller] = count > 1 ? count - 1 : nil
    }

    mutating func next() -> (caller: Identifier, waiter: Waiter)? {
      guard !turns.isEmpty else { return nil }
      let caller = turns.removeFirst()
      guard var own = waiters.removeValue(forKey: caller) else { return nil }
      let waiter = own.removeFirst()
      waiting -= 1
      if !own.isEmpty {
        waiters[caller] = own
        turns.append(caller)
      }
      return (caller, waiter)
    }
  }

  /// Running and waiting requests of one caller.
  static let ofCallerMax = 16
  /// Waiting requests of one owner.
  static let waitingMax = 256
  /// A request that has waited longer does not run.
  static let waitMilliseconds: Int64 = 10_000

  private let runningMax: Atomic<Int>
  private let now: @Sendable () -> Instant
  private let lines = Mutex<[Owner: Line]>([:])
  /// Requests that had to wait, since the start.
  private let waited = Atomic<UInt64>(0)

  init(runningMax: Int, now: @escaping @Sendable () -> Instant = { SystemClock.now() }) {
    self.runningMax = Atomic(runningMax)
    self.now = now
  }

  /// Changes how many run at once. Waiting requests follow as running ones end.
  func use(runningMax: Int) { self.runningMax.store(runningMax, ordering: .relaxed) }

  /// Runs the body when it is the caller's turn; throws 429 if too many wait.
  func run<Result>(
    for owner: Owner, _ caller: Identifier, _ body: () async throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    let since = now()
    let outcome = await withCheckedContinuation { continuation in
      if let outcome = enter(owner, caller, Waiter(continuation: continuation, since: since)) {
        continuation.resume(returning: outcome)
      }
    }
    guard outcome == .admitted else { throw .tooManyExpensive }
    defer { leave(owner, caller) }
    return try await body()
  }

  /// The number of running and waiting requests.
  func counts(of owner: Owner) -> (running: Int, waiting: Int) {
    lines.withLock { ($0[owner]?.running ?? 0, $0[owner]?.waiting ?? 0) }
  }

  /// For the metrics: running and waiting requests of all owners, and those that had to wait.
  var figures: (running: Int, waiting: Int, waited: UInt64) {
    let (running, waiting) = lines.withLock { lines in
      lines.values.reduce((0, 0)) { ($0.0 + $1.running, $0.1 + $1.waiting) }
    }
    return (running, waiting, waited.load(ordering: .relaxed))
  }

  /// Nil: it waits.
  private func enter(_ owner: Owner, _ caller: Identifier, _ waiter: Waiter) -> Outcome? {
    lines.withLock { lines in
      var line = lines[owner] ?? Line()
      let own = line.counts[caller] ?? 0
      guard own < ExpensiveCalls.ofCallerMax else { return .refused }
      let isFree = line.running < runningMax.load(ordering: .relaxed)
      guard isFree || line.waiting < ExpensiveCalls.waitingMax else { return .refused }
      line.counts[caller] = own + 1
      if isFree {
        line.running += 1
      } else {
        if line.waiters[caller] == nil { line.turns.append(caller) }
        line.waiters[caller, default: []].append(waiter)
        line.waiting += 1
        waited.add(1, ordering: .relaxed)
      }
      lines[owner] = line
      return isFree ? .admitted : nil
    }
  }

  private func leave(_ owner: Owner, _ caller: Identifier) {
    let now = now()
    var next: Waiter?
    var late: [Waiter] = []
    lines.withLock { lines in
      guard var line = lines.removeValue(forKey: owner) else { return }
      line.running -= 1
      line.leave(caller)
      while next == nil, let (caller, waiter) = line.next() {
        if now.milliseconds(since: waiter.since) < ExpensiveCalls.waitMilliseconds {
          line.running += 1
          next = waiter
        } else {
          line.leave(caller)
          late.append(waiter)
        }
      }
      if line.running > 0 { lines[owner] = line }
    }
    next?.continuation.resume(returning: .admitted)
    for waiter in late { waiter.continuation.resume(returning: .refused) }
  }
}

extension Problem {
  static let tooManyExpensive = Problem(
    status: 429, type: "rate_limited", title: "Too many requests",
    detail: "Too many searches, lists, reports or exports of you or your workspace are running. "
      + "Wait for their responses, or try again in a few seconds.",
    limit: "expensive"
  ).retry(afterSeconds: 2)

  /// PostgreSQL has cancelled the statement.
  static let tookTooLong = Problem(
    status: 503, type: "took_too_long", title: "Took too long",
    detail: "The database ended this request because it took too long. Ask for less (a shorter "
      + "time, a narrower filter), or try again later."
  ).retry(afterSeconds: 10)
}
