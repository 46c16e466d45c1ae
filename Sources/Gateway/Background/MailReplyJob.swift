import Chat
import Conversations
import Directory
import IncomingMail
import Primitives

/// Brings replies by e-mail into the log, those that a crashed gateway has left too.
struct MailReplyJob: BackgroundJob {
  let pauseMilliseconds: Int64 = 0
  let sweepMilliseconds: Int64 = 1_000

  private let inbox: MailInbox

  init(
    _ services: LoopServices, _ secrets: SecretBox, log: @escaping @Sendable (String) -> Void
  ) {
    inbox = MailInbox(database: services, sessions: services, secrets: secrets, log: log)
  }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool { false }

  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
    await inbox.process(in: workspace)
  }

  func sweep() async -> [Identifier] { await inbox.workspaces() }
}
