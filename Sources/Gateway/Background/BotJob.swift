import Automation
import Chat
import Conversations
import Kernel
import Postgres
import Primitives
import Synchronization

/// Lets the bots answer what the loops tell of visitors' messages, and what nobody has answered.
final class BotJob: BackgroundJob {
  let pauseMilliseconds: Int64 = 0

  private let bots: Bots
  /// Workspaces that have bots, as the loops know them.
  private let listeners = Mutex<Set<Identifier>>([])

  init(_ bots: Bots) { self.bots = bots }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool {
    switch news.kind {
    case .wrote: true
    case .sweep: hears(news.workspace)
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

  func hears(_ workspace: Identifier) -> Bool {
    listeners.withLock { $0.contains(workspace) }
  }

  /// Answers which of these are new, and whether it is another set than before.
  func listen(to workspaces: Set<Identifier>) -> (added: Set<Identifier>, isNews: Bool) {
    listeners.withLock { listeners in
      defer { listeners = workspaces }
      return (workspaces.subtracting(listeners), listeners != workspaces)
    }
  }
}
