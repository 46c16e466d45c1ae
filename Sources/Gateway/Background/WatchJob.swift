import Chat
import Kernel
import Primitives
import REST

/// Every two seconds, exchanges the visitors of this moment with PostgreSQL, where the other
/// gateways' operators find them.
struct WatchJob: BackgroundJob {
  let pauseMilliseconds: Int64 = 0
  let sweepMilliseconds: Int64 = 2_000

  private let watched: WatchedVisitors
  /// The id of this gateway in the table `gateways`.
  private let gateway: Identifier

  init(_ watched: WatchedVisitors, _ peers: Peers) {
    self.watched = watched
    gateway = peers.id
  }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool { false }
  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {}

  func sweep() async -> [Identifier] {
    await watched.exchange(as: gateway, now: SystemClock.wallTime())
    return []
  }
}
