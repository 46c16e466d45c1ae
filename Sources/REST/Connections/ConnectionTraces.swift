/// The traces of this gateway: those that run, and those that ended a short time ago.
import Primitives
import Synchronization

final class ConnectionTraces: Sendable {
  /// Traces that run at once.
  static let runningMax = 4
  /// Those of one workspace.
  static let ofWorkspaceMax = 2
  /// The last lines of an ended trace can be read for this long.
  static let keptMilliseconds: Int64 = 300_000
  /// Traces, the ended ones included. The one that ended first goes first.
  static let keptMax = 16

  private let kept = Mutex<[ConnectionTrace]>([])

  func start(
    of target: Identifier, in workspace: Identifier?, id: Identifier, now: Instant
  ) throws(Problem) -> ConnectionTrace {
    let trace = ConnectionTrace(of: target, in: workspace, id: id, now: now)
    let isTaken = kept.withLock { kept in
      kept.removeAll {
        guard let ended = $0.endedAt else { return false }
        return now.milliseconds(since: ended) >= ConnectionTraces.keptMilliseconds
      }
      let running = kept.filter { $0.endedAt == nil }
      guard running.count < ConnectionTraces.runningMax,
        workspace == nil
          || running.count(where: { $0.workspace == workspace }) < ConnectionTraces.ofWorkspaceMax
      else { return false }
      if kept.count >= ConnectionTraces.keptMax,
        let oldest = kept.firstIndex(where: { $0.endedAt != nil })
      {
        kept.remove(at: oldest)
      }
      kept.append(trace)
      return true
    }
    guard isTaken else { throw .tooManyTraces }
    return trace
  }

  /// - Parameter workspace: nil for the operator of the instance, who sees own traces only.
  func find(_ id: Identifier, of workspace: Identifier?) -> ConnectionTrace? {
    kept.withLock { $0.first { $0.id == id && $0.workspace == workspace } }
  }
}

extension Problem {
  static let tooManyTraces = Problem(
    status: 409, type: "too_many_traces", title: "Too many traces",
    detail: "The gateway runs at most \(ConnectionTraces.runningMax) traces at once, and "
      + "\(ConnectionTraces.ofWorkspaceMax) of one workspace. End one, or wait until one ends.")
}
