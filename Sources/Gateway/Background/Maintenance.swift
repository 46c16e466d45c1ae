import Automation
import Chat
import Conversations
import Directory
import Journal
import Kernel
import Postgres
import Primitives
import Synchronization

/// Work that the first loop of each gateway does every two seconds: it looks for other gateways,
/// reads which workspaces have bots, starts their sweeps, counts conversations for analytics, and
/// erases deleted conversations after their deadline.
final class Maintenance: Sendable {
  static let intervalMilliseconds: Int64 = 2_000
  /// Workspaces with bots that are read; bots of further ones do not answer.
  static let botWorkspacesMax = 100_000
  /// Rounds between two sweeps of the bots.
  private static let sweepRounds = 5
  /// Workspaces that are swept in one round.
  private static let sweptMax = 1_000
  /// Conversations that one statement counts.
  private static let countedMax = 25
  /// Statements of each kind in one round.
  private static let statementsMax = 8

  /// Rounds between two searches for deleted conversations to be erased.
  private static let eraseRounds = 30
  /// Conversations that one statement erases. A longer backlog takes several searches.
  private static let erasedMax: Int64 = 20

  private let database: any Database
  let botJob: BotJob
  private let mailboxes: [Mailbox]
  private let peers: Peers
  private let state = Mutex<(isRunning: Bool, round: Int)>((false, 0))

  init(database: any Database, botJob: BotJob, mailboxes: [Mailbox], peers: Peers) {
    self.database = database
    self.botJob = botJob
    self.mailboxes = mailboxes
    self.peers = peers
  }

  /// Starts a round on the first loop, whose connection it uses.
  func start(on executor: LoopExecutor) {
    Task(executorPreference: executor) {
      await CurrentLoop.$index.withValue(0) { await self.run() }
    }
  }

  /// Does nothing while a round is running.
  private func run() async {
    let round = state.withLock { state -> Int? in
      guard !state.isRunning else { return nil }
      state.isRunning = true
      defer { state.round += 1 }
      return state.round
    }
    guard let round else { return }
    await findPeers()
    await refreshBotWorkspaces(isSweepDue: round % Maintenance.sweepRounds == 0)
    await countConversations()
    if round % Maintenance.eraseRounds == 0 { await eraseDeleted() }
    state.withLock { $0.isRunning = false }
  }

  private func findPeers() async {
    guard let rows = try? await database.run(peers.heartbeat()), !rows.isEmpty else { return }
    peers.note(exist: rows.int(0, 0) ?? 0 > 0)
  }

  /// If the database does not answer, the next round tries again.
  private func refreshBotWorkspaces(isSweepDue: Bool) async {
    let statement = BotScript.workspaces(limit: Maintenance.botWorkspacesMax)
    guard let rows = try? await database.run(statement.query) else { return }
    let workspaces = statement.answer(rows)
    let (added, hasChanged) = botJob.use(workspaces)
    if hasChanged {
      for mailbox in mailboxes { mailbox.post(.listeners(workspaces)) }
    }
    // New ones too: messages may have come before the loops knew them, or before a crash.
    for workspace in (isSweepDue ? workspaces : added).prefix(Maintenance.sweptMax) {
      mailboxes[CurrentLoop.index].post(.news(WorkspaceNews(workspace: workspace, kind: .sweep)))
    }
  }

  private func eraseDeleted() async {
    for _ in 0..<Maintenance.statementsMax {
      let statement = ConversationDeletion.erase(limit: Maintenance.erasedMax)
      guard let rows = try? await database.run(statement.query),
        statement.answer(rows) == Maintenance.erasedMax
      else { return }
    }
  }

  private func countConversations() async {
    for _ in 0..<Maintenance.statementsMax {
      let statement = Analytics.count(limit: Maintenance.countedMax)
      guard let rows = try? await database.run(statement.query),
        statement.answer(rows) == Int64(Maintenance.countedMax)
      else { return }
    }
  }
}
