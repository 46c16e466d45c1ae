import Automation
import Chat
import Conversations
import Directory
import Journal
import Kernel
import Logging
import Postgres
import Primitives
import SharedSQL
import Synchronization
import Tokens

/// Work that the first loop of each gateway does every two seconds: it looks for other gateways,
/// reads the keys of tokens and which workspaces have bots, starts their sweeps, and counts the
/// backlog for `/metrics`. `Upkeep` removes what is past its time.
final class Maintenance: Sendable {
  static let intervalMilliseconds: Int64 = 2_000
  /// Workspaces with bots that are read; bots of further ones do not answer.
  static let botWorkspacesMax = 100_000
  /// Rounds between two sweeps of the bots.
  private static let sweepRounds = 5
  /// Workspaces that are swept in one round.
  private static let sweptMax = 1_000
  /// Rounds between two counts of the backlog.
  private static let backlogRounds = 5
  /// Messages in quarantine that are counted.
  static let quarantinedMax = 10_000

  private let statements: TimedStatements
  let botJob: BotJob
  private let tokens: TokenAuthority
  private let mailboxes: [Mailbox]
  private let peers: Peers
  private let logger: Logger
  private let state = Mutex<(isRunning: Bool, round: Int)>((false, 0))
  private let knownKeys: Mutex<KnownKeys>
  private let stored = Mutex(StoredFigures())
  private let unlikePeers = Mutex(UnlikePeers())

  init(
    database: any Database, botJob: BotJob, tokens: TokenAuthority, knownKeys: KnownKeys,
    mailboxes: [Mailbox], peers: Peers, logger: Logger
  ) {
    self.logger = logger
    self.tokens = tokens
    self.knownKeys = Mutex(knownKeys)
    statements = TimedStatements(database: database, logger: logger)
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
    await readKeys()
    await refreshBotWorkspaces(isSweepDue: round % Maintenance.sweepRounds == 0)
    if round % Maintenance.backlogRounds == 0 { await countBacklog() }
    state.withLock { $0.isRunning = false }
  }

  private func findPeers() async {
    guard let rows = await rows(of: peers.heartbeat(), for: "search for other gateways"),
      !rows.isEmpty
    else { return }
    peers.note(count: Int(rows.int(0, 0) ?? 0), isAnyRunning: rows.bool(0, 4) == true)
    peers.note(includeApplication: rows.bool(0, 1) == true)
    peers.note(isOldest: rows.bool(0, 3) == true)
    guard peers.exist, let rows = await self.rows(of: peers.running(), for: "other gateways")
    else { return }
    let news = unlikePeers.withLock { $0.take(GatewayProcess.all(rows), beside: peers.traits) }
    for peer in news { peer.log(to: logger) }
  }

  /// Every gateway knows a new key before it signs (`SigningKey.leadSeconds`), refuses tokens of
  /// a key that has ended, and closes their connections. Without an answer, or a key in it, the
  /// known keys stay.
  private func readKeys() async {
    guard let stored = await answer(SigningKey.all, for: "keys of tokens") else { return }
    let (opened, news) = knownKeys.withLock { known in
      let before = known.unreadable
      let opened = known.open(stored)
      return (opened, known.unreadable == before ? [] : known.unreadable)
    }
    if !news.isEmpty {
      logger.error(
        """
        keys that sign tokens are encrypted with a credentials_key that this gateway does not \
        have, and their tokens are refused: \(news.joined(separator: ", "))
        """)
    }
    let keys = Gateway.tokenKeys(opened)
    guard !keys.isEmpty else { return }
    let ended = tokens.use(keys, now: SystemClock.wallTime())
    guard !ended.isEmpty else { return }
    for mailbox in mailboxes { mailbox.post(.endedKeys(ended)) }
  }

  private func refreshBotWorkspaces(isSweepDue: Bool) async {
    let statement = BotScript.workspaces(limit: Maintenance.botWorkspacesMax)
    guard let workspaces = await answer(statement, for: "workspaces with bots") else { return }
    let (added, hasChanged) = botJob.use(workspaces)
    if hasChanged {
      for mailbox in mailboxes { mailbox.post(.listeners(workspaces)) }
    }
    // New ones too: messages may have come before the loops knew them, or before a crash.
    for workspace in (isSweepDue ? workspaces : added).prefix(Maintenance.sweptMax) {
      mailboxes[CurrentLoop.index].post(.news(WorkspaceNews(workspace: workspace, kind: .sweep)))
    }
  }

  // MARK: Figures

  /// Those of the whole database, for `/metrics`. Nil until they were read, and while PostgreSQL
  /// refuses that.
  struct StoredFigures: Sendable {
    var backlog: Backlog?
    var quarantined: Int64?
  }

  var storedFigures: StoredFigures { stored.withLock { $0 } }

  private func countBacklog() async {
    let backlog = await answer(Backlog.read, for: "figures of the queue")
    let quarantine = Quarantine.countQuery(limit: Maintenance.quarantinedMax)
    let quarantined = await rows(of: quarantine, for: "number of quarantined messages")
    stored.withLock {
      $0 = StoredFigures(backlog: backlog ?? nil, quarantined: quarantined?.int(0, 0))
    }
  }

  private func answer<Answer>(_ statement: Statement<Answer>, for purpose: String) async -> Answer?
  {
    await statements.answer(statement, for: purpose)
  }

  private func rows(of query: Query, for purpose: String) async -> Rows? {
    await statements.rows(of: query, for: purpose)
  }
}
