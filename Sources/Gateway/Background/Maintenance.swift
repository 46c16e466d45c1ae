import Automation
import Chat
import Directory
import Journal
import Kernel
import Postgres
import Primitives
import Synchronization

/// What one loop of each gateway does every two seconds for all: it reads which workspaces have
/// bots, tells the loops, has the bots look for what nobody answered, looks for other gateways, and
/// counts what has happened into the analytics.
final class Maintenance: Sendable {
  static let intervalMilliseconds: Int64 = 2_000
  /// Workspaces with bots that are known; those beyond have none.
  static let listenersMax = 100_000
  /// Rounds between two looks for messages that nobody answered.
  private static let sweepRounds = 5
  /// Workspaces whose bots look in one round.
  private static let sweptMax = 1_000
  /// Conversations that are counted in one statement, and statements of one round.
  private static let countedMax = 25
  private static let countsMax = 8

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

  /// On the first loop, which lends its connection.
  func start(on executor: LoopExecutor) {
    Task(executorPreference: executor) {
      await CurrentLoop.$index.withValue(0) { await self.run() }
    }
  }

  /// One round at a time: a slow one is not overtaken.
  private func run() async {
    let round = state.withLock { state -> Int? in
      guard !state.isRunning else { return nil }
      state.isRunning = true
      defer { state.round += 1 }
      return state.round
    }
    guard let round else { return }
    await findPeers()
    await refreshListeners(isSweepDue: round % Maintenance.sweepRounds == 0)
    await count()
    state.withLock { $0.isRunning = false }
  }

  private func findPeers() async {
    guard let rows = try? await database.run(peers.heartbeat()), !rows.isEmpty else { return }
    peers.note(exist: rows.int(0, 0) ?? 0 > 0)
  }

  /// A database that does not answer is asked again in the next round.
  private func refreshListeners(isSweepDue: Bool) async {
    let statement = BotScript.workspaces(limit: Maintenance.listenersMax)
    guard let rows = try? await database.run(statement.query) else { return }
    let workspaces = statement.answer(rows)
    let (added, isNews) = botJob.listen(to: workspaces)
    if isNews {
      for mailbox in mailboxes { mailbox.post(.listeners(workspaces)) }
    }
    // What was written before the loops listened, too: before a crash, for example.
    for workspace in (isSweepDue ? workspaces : added).prefix(Maintenance.sweptMax) {
      mailboxes[CurrentLoop.index].post(.news(WorkspaceNews(workspace: workspace, kind: .sweep)))
    }
  }

  private func count() async {
    for _ in 0..<Maintenance.countsMax {
      let statement = Analytics.count(limit: Maintenance.countedMax)
      guard let rows = try? await database.run(statement.query),
        statement.answer(rows) == Int64(Maintenance.countedMax)
      else { return }
    }
  }
}
