import Chat
import Conversations
import Directory
import Engine
import Kernel
import Postgres
import Primitives
import Synchronization

/// Serves a workspace's queue: takes conversations back from absent operators, assigns waiting ones
/// to free operators, and sends waiting visitors their queue positions, during business hours and
/// while an operator is available.
final class QueueJob: BackgroundJob {
  /// Visitors get their position at most once a second.
  let pauseMilliseconds: Int64 = 1_000
  let sweepMilliseconds: Int64 = 10_000

  /// Conversations that one run assigns; the next sweep continues.
  static let assignedMax = 100
  /// Conversations that one transaction takes back.
  static let takenBackMax: Int64 = 50
  /// Workspaces of one sweep that wait for automatic assignment.
  static let sweptMax: Int64 = 200
  /// Operators of one sweep, whose absence is looked up.
  static let holdersMax: Int64 = 1_000
  /// The pace of a line is computed at most this often.
  static let paceMilliseconds: Int64 = 10_000

  private struct Sweep {
    var last = Identifier.zero
    var lastHolder = Assignment.Holder.start
    /// Since this instant each sweep has reached the database, see `Assignment.release`.
    var steadySince: Instant?
  }

  /// By line; a line with too few samples has none.
  private struct Paces {
    var placeMilliseconds: [Identifier: Int64] = [:]
    var computedAt: [Identifier: Instant] = [:]
  }

  private let services: LoopServices
  private let settings: CachedSettings
  private let mailboxes: [Mailbox]
  private let log: @Sendable (String) -> Void
  /// The loops with waiting visitors, as bits, by workspace.
  private let subscribers = Mutex<[Identifier: UInt64]>([:])
  /// By workspace with waiting visitors.
  private let paces = Mutex<[Identifier: Paces]>([:])
  private let sweeping = Mutex(Sweep())

  init(
    services: LoopServices, settings: CachedSettings, mailboxes: [Mailbox],
    log: @escaping @Sendable (String) -> Void
  ) {
    self.services = services
    self.settings = settings
    self.log = log
    self.mailboxes = mailboxes
  }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool {
    switch news.kind {
    case .positionSubscribers(let isThere):
      subscribers.withLock { subscribers in
        var loops = subscribers[news.workspace] ?? 0
        if isThere { loops |= 1 << UInt64(loop) } else { loops &= ~(1 << UInt64(loop)) }
        subscribers[news.workspace] = loops == 0 ? nil : loops
      }
      return isThere
    case .waits, .taken, .closed, .operators, .sweep: return true
    case .queueMoved: return subscribers.withLock { $0[news.workspace] != nil }
    case .wrote, .received: return false
    }
  }

  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
    do throws(QueryFailure) {
      if news.contains(where: { $0.kind == .sweep }) { try await takeBack(workspace) }
      // Other news comes from a gateway or a run that has assigned already.
      if news.contains(where: {
        ![.positionSubscribers(true), .taken, .queueMoved].contains($0.kind)
      }) {
        try await assign(workspace)
      }
      try await sendPositions(workspace)
    } catch {
      report(error)
    }
  }

  /// Reports refused statements, which are bugs. If PostgreSQL is unavailable or busy, the sweep
  /// tries again.
  private func report(_ failure: QueryFailure) {
    guard case .refused(let state, let message) = failure, !state.isTransient else { return }
    log("PostgreSQL refused a statement of the queue: \(state.code) \(message)")
  }

  // MARK: Conversations

  private func assign(_ workspace: Identifier) async throws(QueryFailure) {
    guard try await services.run(Assignment.isDue(in: workspace)).isTrue else { return }
    var hasAssigned = false
    defer { if hasAssigned { services.queueMoved(in: workspace) } }
    for _ in 0..<QueueJob.assignedMax {
      let rows = try await services.run(Assignment.assignNext(in: workspace))
      switch Assignment.decodeAttempt(rows) {
      case .assigned(let given):
        hasAssigned = true
        services.changed(session: given.session)
      case .lost: continue
      case .nothing: return
      }
    }
  }

  private func takeBack(_ workspace: Identifier) async throws(QueryFailure) {
    guard let since = sweeping.withLock({ $0.steadySince }) else { return }
    let steady = SystemClock.now().milliseconds(since: since) / 1_000
    let rows = try await services.run(
      Assignment.release(
        in: workspace, steadySeconds: steady, limit: QueueJob.takenBackMax))
    let taken = Assignment.decodeIdentifiers(rows)
    for session in taken { services.changed(session: session) }
    if !taken.isEmpty { services.queueMoved(in: workspace) }
  }

  /// Finds workspaces with waiting conversations or absent operators: after a restart, or work that
  /// another gateway did not finish.
  func sweep() async -> [Identifier] {
    let (last, lastHolder) = sweeping.withLock { ($0.last, $0.lastHolder) }
    let served = Set(subscribers.withLock { $0.keys })
    paces.withLock { paces in paces = paces.filter { served.contains($0.key) } }
    do throws(QueryFailure) {
      let rows = try await services.run(
        Assignment.workspaces(after: last, limit: QueueJob.sweptMax))
      let due = Assignment.decodeIdentifiers(rows)
      let holders = try await services.run(
        Assignment.holders(after: lastHolder, limit: QueueJob.holdersMax))
      let now = SystemClock.now()
      sweeping.withLock { sweeping in
        sweeping.last = Int64(due.count) < QueueJob.sweptMax ? .zero : due.last ?? .zero
        sweeping.lastHolder =
          Int64(holders.count) < QueueJob.holdersMax ? .start : holders.last ?? .start
        if sweeping.steadySince == nil { sweeping.steadySince = now }
      }
      return Array(served.union(due).union(holders.filter(\.isAbsent).map(\.workspace)))
    } catch {
      sweeping.withLock { $0.steadySince = nil }
      report(error)
      return []
    }
  }

  // MARK: Positions

  /// Reads the whole queue once, and sends each loop the positions of its own sessions.
  private func sendPositions(_ workspace: Identifier) async throws(QueryFailure) {
    let loops = subscribers.withLock { $0[workspace] ?? 0 }
    guard loops != 0 else { return }
    let queue = try await queue(of: workspace)
    var lengths: [Identifier: Int64] = [:]
    var places: [[Identifier: QueueUpdate.Place]] = Array(repeating: [:], count: mailboxes.count)
    for entry in queue {
      lengths[entry.line, default: 0] += 1
      places[Engine.owner(of: entry.session, loopCount: mailboxes.count)][entry.session] =
        QueueUpdate.Place(position: lengths[entry.line] ?? 0, line: entry.line)
    }
    let paces = try await paces(of: Array(lengths.keys), in: workspace)
    for loop in mailboxes.indices where loops & 1 << UInt64(loop) != 0 {
      mailboxes[loop].post(
        .engine(
          .queue(
            QueueUpdate(
              workspace: workspace, places: places[loop], placeMilliseconds: paces))))
    }
  }
}

extension QueueJob {
  /// The waiting sessions whose visitors get a position.
  private func queue(
    of workspace: Identifier
  ) async throws(QueryFailure) -> [QueuePositions.Entry] {
    let now = SystemClock.wallTime()
    let hours = try await settings.of(workspace, now: now).businessHours
    return try await services.run(
      QueuePositions.statement(of: workspace, isOpen: hours.isOpen(at: now), now: now))
  }

  private func paces(
    of lines: [Identifier], in workspace: Identifier
  ) async throws(QueryFailure) -> [Identifier: Int64] {
    let now = SystemClock.now()
    let known = paces.withLock { $0[workspace] } ?? Paces()
    var current = Paces()
    for line in lines {
      if let at = known.computedAt[line], now.milliseconds(since: at) < QueueJob.paceMilliseconds {
        current.computedAt[line] = at
        current.placeMilliseconds[line] = known.placeMilliseconds[line]
      } else {
        let place = try await services.run(QueuePositions.pace(of: line, in: workspace))
        current.computedAt[line] = now
        current.placeMilliseconds[line] = place
      }
    }
    paces.withLock { $0[workspace] = current }
    return current.placeMilliseconds
  }
}

extension Rows {
  /// The first value is `true`.
  fileprivate var isTrue: Bool { !isEmpty && bool(0, 0) == true }
}
