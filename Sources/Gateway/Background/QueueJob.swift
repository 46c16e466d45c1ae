import Chat
import Conversations
import Engine
import Kernel
import Postgres
import Primitives
import Synchronization

/// Serves a workspace's queue: takes conversations back from absent operators, assigns waiting ones
/// to free operators, and sends waiting visitors their queue positions.
final class QueueJob: BackgroundJob {
  /// Visitors get their position at most once a second.
  let pauseMilliseconds: Int64 = 1_000
  let sweepMilliseconds: Int64 = 10_000

  /// Conversations that one run assigns; the next sweep continues.
  static let assignedMax = 100
  /// Conversations that one transaction takes back.
  static let takenBackMax: Int64 = 50
  /// Workspaces of one sweep.
  static let sweptMax: Int64 = 200

  private struct Sweep {
    var last = Identifier.zero
    /// Since this instant each sweep has reached the database, see `Assignment.release`.
    var steadySince: Instant?
  }

  private let services: LoopServices
  private let mailboxes: [Mailbox]
  private let log: @Sendable (String) -> Void
  /// The loops with waiting visitors, as bits, by workspace.
  private let subscribers = Mutex<[Identifier: UInt64]>([:])
  private let sweeping = Mutex(Sweep())

  init(
    services: LoopServices, mailboxes: [Mailbox], log: @escaping @Sendable (String) -> Void
  ) {
    self.services = services
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
    case .wrote: return false
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
    let last = sweeping.withLock { $0.last }
    do throws(QueryFailure) {
      let rows = try await services.run(
        Assignment.workspaces(after: last, limit: QueueJob.sweptMax))
      let due = Assignment.decodeIdentifiers(rows)
      let now = SystemClock.now()
      sweeping.withLock { sweeping in
        sweeping.last = Int64(due.count) < QueueJob.sweptMax ? .zero : due.last ?? .zero
        if sweeping.steadySince == nil { sweeping.steadySince = now }
      }
      return Array(Set(due).union(subscribers.withLock { $0.keys }))
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
    let line = QueuePositions.decode(try await services.run(QueuePositions.query(of: workspace)))
    var positions: [[Identifier: Int64]] = Array(repeating: [:], count: mailboxes.count)
    for (place, session) in line.sessions.enumerated() {
      positions[Engine.owner(of: session, loopCount: mailboxes.count)][session] = Int64(place) + 1
    }
    for loop in mailboxes.indices where loops & 1 << UInt64(loop) != 0 {
      mailboxes[loop].post(
        .engine(
          .queue(
            QueueUpdate(
              workspace: workspace, positions: positions[loop],
              placeMilliseconds: line.placeMilliseconds))))
    }
  }
}

extension Rows {
  /// The first value is `true`.
  fileprivate var isTrue: Bool { !isEmpty && bool(0, 0) == true }
}
