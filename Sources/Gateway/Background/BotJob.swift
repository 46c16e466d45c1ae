import Automation
import Chat
import Conversations
import Kernel
import Postgres
import Primitives
import Synchronization

/// Lets the bots answer messages of visitors: new ones, and with each sweep unanswered ones.
final class BotJob: BackgroundJob {
  /// Messages of the meantime are read and noted together. Nobody notices a reply that is this much
  /// later.
  let pauseMilliseconds: Int64 = 50

  private let bots: Bots
  /// Workspaces that have bots.
  private let workspaces = Mutex<Set<Identifier>>([])

  init(_ bots: Bots) { self.bots = bots }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool {
    switch news.kind {
    case .wrote: true
    case .sweep: hasBots(news.workspace)
    default: false
    }
  }

  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
    var sessions: [Identifier] = []
    var seen: Set<Identifier> = []
    func add(_ session: Identifier) {
      if seen.insert(session).inserted { sessions.append(session) }
    }
    for item in news {
      if let session = item.session { add(session) }
    }
    if news.contains(where: { $0.kind == .sweep }) {
      for session in await bots.unanswered(in: workspace) { add(session) }
    }
    await bots.answer(sessions, of: workspace, now: SystemClock.wallTime())
  }

  func hasBots(_ workspace: Identifier) -> Bool {
    workspaces.withLock { $0.contains(workspace) }
  }

  /// Replaces the set of workspaces that have bots.
  func use(_ new: Set<Identifier>) -> (added: Set<Identifier>, hasChanged: Bool) {
    workspaces.withLock { workspaces in
      defer { workspaces = new }
      return (new.subtracting(workspaces), workspaces != new)
    }
  }
}
