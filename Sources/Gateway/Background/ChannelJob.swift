import Channels
import Chat
import Conversations
import Directory
import Kernel
import Primitives

/// Brings the events of channels' webhooks into the log: those just received, and with each sweep
/// those that a crashed gateway has left.
struct ChannelJob: BackgroundJob {
  let pauseMilliseconds: Int64 = 0
  let sweepMilliseconds: Int64 = 1_000

  private let inbox: ChannelInbox

  init(_ services: LoopServices, log: @escaping @Sendable (String) -> Void) {
    inbox = ChannelInbox(
      database: services, sessions: services,
      random: { Identifier.random(at: $0) }, log: log)
  }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool { news.kind == .received }

  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
    await inbox.process(in: workspace, now: SystemClock.wallTime())
  }

  func sweep() async -> [Identifier] { await inbox.workspaces() }
}
