import Chat
import Conversations
import Directory
import Postgres
import Primitives
import Synchronization

/// Computes by when conversations have to be answered and closed, and records which targets were
/// missed. Lists of operators follow by the event of the conversation.
final class TargetJob: BackgroundJob {
  let pauseMilliseconds: Int64 = 1_000
  let sweepMilliseconds: Int64 = 5_000

  /// Workspaces of one sweep.
  static let sweptMax: Int64 = 200
  /// Statements of each kind in one run; the next sweep continues.
  static let statementsMax = 10

  private struct Sweep {
    var last = Identifier.zero
    /// Those that have targets, of the last round of sweeps and of the current one.
    var known: Set<Identifier> = []
    var found: Set<Identifier> = []
  }

  private let services: LoopServices
  private let log: @Sendable (String) -> Void
  private let sweeping = Mutex(Sweep())

  init(services: LoopServices, log: @escaping @Sendable (String) -> Void) {
    self.services = services
    self.log = log
  }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool {
    switch news.kind {
    case .sweep: true
    case .waits, .taken, .closed: sweeping.withLock { $0.known.contains(news.workspace) }
    default: false
    }
  }

  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
    do throws(QueryFailure) {
      try await repeated { Targets.compute(in: workspace) }
      try await repeated { Targets.settle(in: workspace) }
    } catch {
      report(error)
    }
  }

  private func repeated(
    _ statement: () -> Statement<[Identifier]>
  ) async throws(QueryFailure) {
    for _ in 0..<TargetJob.statementsMax {
      let changed = try await services.run(statement())
      for session in changed { services.changed(session: session) }
      if changed.count < Int(Targets.computedMax) { return }
    }
  }

  func sweep() async -> [Identifier] {
    let last = sweeping.withLock { $0.last }
    do throws(QueryFailure) {
      let found = try await services.run(
        Targets.workspaces(after: last, limit: TargetJob.sweptMax))
      let isLast = found.count < Int(TargetJob.sweptMax)
      sweeping.withLock { sweeping in
        sweeping.found.formUnion(found)
        sweeping.known.formUnion(found)
        sweeping.last = isLast ? .zero : found.last ?? .zero
        if isLast { (sweeping.known, sweeping.found) = (sweeping.found, []) }
      }
      return found
    } catch {
      report(error)
      return []
    }
  }

  /// Reports refused statements, which are bugs. If PostgreSQL is unavailable or busy, the sweep
  /// tries again.
  private func report(_ failure: QueryFailure) {
    guard case .refused(let state, let message) = failure, !state.isTransient else { return }
    log("PostgreSQL refused a statement of the targets: \(state.code) \(message)")
  }
}
