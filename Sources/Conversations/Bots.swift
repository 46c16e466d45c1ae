/// The bots: what a workspace has set up answers a visitor while no operator has the conversation.
///
/// Nothing of it is on the path of a message: the visitor's message is committed and shown before
/// anybody here hears of it. An answer is a message like any other, appended by the loop that owns
/// the session, under an id that follows from the visitor's message and the place among its
/// answers. So what a crash interrupts is simply done again (`unanswered` finds it), and two
/// gateways that do it at once store one answer. How far a conversation has been answered stands in
/// `bot_progress`, which is written last.
import Automation
import Chat
public import Directory
public import Kernel
import Postgres
public import Primitives
import Synchronization

public final class Bots: Sendable {
  /// Why a bot says nothing now.
  private enum Failure: Error {
    case query(QueryFailure)
    /// The thread of the patterns has no room.
    case tooBusy
  }

  private let database: any Database
  private let sessions: any Sessions
  private let settings: CachedSettings
  /// For work that is too long for a loop: patterns and what is compiled from rows.
  private let patterns: JobThread
  /// Called after work on another thread, where this goes on.
  private let goesOn: @Sendable () -> Void
  private let log: @Sendable (String) -> Void
  private let scripts = Mutex<[Identifier: (script: BotScript, at: WallTime)]>([:])
  private let reported = Mutex<[Identifier: [String]]>([:])

  /// Workspaces whose intents are kept in memory, and for how long.
  static let scriptsMax = 256
  static let scriptSeconds: Int64 = 2
  /// Workspaces whose broken intents are remembered, and names of them in a line of the log.
  static let reportedMax = 1_024
  static let namesMax = 5
  /// Conversations of one workspace that are answered at the same time.
  static let lanes = 8
  /// Visitors' messages that one run answers in one conversation.
  static let messagesMax = 20

  /// - Parameters:
  ///   - goesOn: called after work on another thread.
  ///   - log: told about failures that are ours, and about intents that cannot be used.
  public init(
    database: any Database, sessions: any Sessions, settings: CachedSettings, patterns: JobThread,
    goesOn: @escaping @Sendable () -> Void = {}, log: @escaping @Sendable (String) -> Void
  ) {
    self.database = database
    self.sessions = sessions
    self.settings = settings
    self.patterns = patterns
    self.goesOn = goesOn
    self.log = log
  }

  /// Answers what visitors have written in these conversations. Never throws: what fails now is
  /// done by the next run.
  public func answer(_ sessions: [Identifier], of workspace: Identifier, now: WallTime) async {
    let script: BotScript
    do throws(Failure) {
      script = try await self.script(workspace, now)
    } catch {
      return report(error)
    }
    await withTaskGroup { group in
      for lane in 0..<min(Bots.lanes, sessions.count) {
        group.addTask {
          for place in stride(from: lane, to: sessions.count, by: Bots.lanes) {
            do throws(Failure) {
              try await self.answer(sessions[place], workspace, script, now)
            } catch {
              self.report(error)
            }
          }
        }
      }
    }
  }

  /// While PostgreSQL is away, or busy, the next run does it.
  private func report(_ failure: Failure) {
    switch failure {
    case .tooBusy: log("a bot could not answer now: too many patterns wait to be matched")
    case .query(.refused(let state, let message)) where !state.isExpected:
      log("a bot could not answer now: the database refused a statement: \(state.code) \(message)")
    case .query: break
    }
  }

  private func run<Answer>(_ statement: Statement<Answer>) async throws(Failure) -> Answer {
    do throws(QueryFailure) {
      return try await database.run(statement)
    } catch {
      throw .query(error)
    }
  }

  /// Runs what takes too long for a loop on the thread of its own, where workspaces take turns.
  private func aside<Result: Sendable>(
    for workspace: Identifier, _ body: @escaping @Sendable () -> Result
  ) async throws(Failure) -> Result {
    do throws(JobThread.Refused) {
      let result = try await patterns.run(for: workspace, body)
      goesOn()
      return result
    } catch {
      throw .tooBusy
    }
  }

  private func loaded(
    _ workspace: Identifier, _ now: WallTime
  ) async throws(Failure) -> SettingsCache.Entry {
    do throws(QueryFailure) {
      return try await settings.of(workspace, now: now)
    } catch {
      throw .query(error)
    }
  }

  /// Conversations of this workspace in which a visitor's last words have waited for an answer for
  /// a while: after a crash, or of another gateway that has died.
  public func unanswered(in workspace: Identifier) async -> [Identifier] {
    do throws(Failure) {
      return try await run(BotProgress.unanswered(in: workspace))
    } catch {
      return []
    }
  }

  private func script(
    _ workspace: Identifier, _ now: WallTime
  ) async throws(Failure) -> BotScript {
    let age = scripts.withLock { $0[workspace] }.map { now.microseconds - $0.at.microseconds }
    if let age, (0..<Bots.scriptSeconds * 1_000_000).contains(age),
      let known = scripts.withLock({ $0[workspace]?.script })
    {
      return known
    }
    let statement = BotScript.load(workspace)
    let rows = try await run(Statement(statement.query) { $0 })
    let script = try await aside(for: workspace) { statement.answer(rows) }
    reportBroken(script.broken, in: workspace)
    scripts.withLock {
      if $0.count >= Bots.scriptsMax { $0.removeAll(keepingCapacity: true) }
      $0[workspace] = (script, now)
    }
    return script
  }

  /// Once for each list of broken intents, not with each reading.
  private func reportBroken(_ names: [String], in workspace: Identifier) {
    let isNews = reported.withLock { reported in
      let before = reported[workspace] ?? []
      if reported.count >= Bots.reportedMax { reported.removeAll(keepingCapacity: true) }
      reported[workspace] = names.isEmpty ? nil : names
      return before != names && !names.isEmpty
    }
    guard isNews else { return }
    let shown = names.prefix(Bots.namesMax).map { "“\($0)”" }.joined(separator: ", ")
    log(
      """
      \(names.count) intents of workspace \(workspace) are skipped, since their pattern is not \
      valid or too large (\(shown)); save them again to see why
      """)
  }

  private func answer(
    _ session: Identifier, _ workspace: Identifier, _ script: BotScript, _ now: WallTime
  ) async throws(Failure) {
    let turn = try await run(
      BotProgress.turn(session, workspace: workspace, limit: Bots.messagesMax))
    guard let turn, let last = turn.messages.last else { return }
    for message in turn.messages where !message.isOffline {
      if message.asksForPerson {
        try await handOver(session, workspace, message.id)
        return
      }
      let (replies, handsOver) = try await replies(to: message, workspace, script, now)
      for (ordinal, reply) in replies {
        guard try await say(reply, in: session, workspace, answering: message.id, ordinal, now)
        else { return }
      }
      if handsOver {
        try await handOver(session, workspace, message.id)
        return
      }
    }
    try await run(BotProgress.note(session, workspace: workspace, answered: last.seq))
  }

  /// With their places among the answers: the greeting has place 0.
  private func replies(
    to message: BotProgress.Message, _ workspace: Identifier, _ script: BotScript, _ now: WallTime
  ) async throws(Failure) -> (replies: [(Int, ReplyObject)], handsOver: Bool) {
    var replies: [(Int, ReplyObject)] = []
    if message.isFirst, let text = try await greeting(workspace, now) {
      replies.append((0, ReplyObject(text: text)))
    }
    let intents = script.intents
    let text = message.choice ?? message.body
    // Its limit is some 20 ms, which is much for a loop.
    let (intent, undecided) = try await aside(for: workspace) {
      intents.first(matching: text)
    }
    if !undecided.isEmpty {
      log(
        "patterns took too long in workspace \(workspace): \(undecided.joined(separator: ", "))")
    }
    var handsOver = false
    for (place, reply) in (intent?.replies ?? []).enumerated() {
      switch reply {
      case .text(let text): replies.append((place + 1, ReplyObject(text: text)))
      case .object(let name):
        if let object = script.objects[name] { replies.append((place + 1, object)) }
      case .handover: handsOver = true
      }
    }
    return (replies, handsOver)
  }

  /// What is said after the first message: that nobody is there, or else the greeting.
  private func greeting(
    _ workspace: Identifier, _ now: WallTime
  ) async throws(Failure) -> String? {
    let loaded = try await loaded(workspace, now)
    let away = loaded.settings.awayMessage
    if away.isEnabled, !away.text.isEmpty {
      if !loaded.schedule.isOpen(at: now) { return away.text }
      if try await !run(WidgetPresence.of(workspace)).isSomebodyAvailable { return away.text }
    }
    let greeting = loaded.settings.greetingMessage
    return greeting.isEnabled && !greeting.text.isEmpty ? greeting.text : nil
  }

  /// False when the store does not take it now: the rest waits for the next run.
  private func say(
    _ reply: ReplyObject, in session: Identifier, _ workspace: Identifier,
    answering message: Identifier, _ ordinal: Int, _ now: WallTime
  ) async throws(Failure) -> Bool {
    let name = try await loaded(workspace, now).settings.widget.name ?? ""
    let outcome = await sessions.append(
      session: session, workspace: workspace, id: .answer(to: message, ordinal: ordinal),
      role: .bot, kind: reply.messageKind, sender: nil, senderName: Array(name.utf8),
      body: Array(reply.body.utf8), payload: reply.payload)
    switch outcome.verdict {
    // A conflict: it was answered before, and the answer was changed since.
    case .stored, .duplicate, .conflict, .rejected: return true
    case .unavailable, .closed, .noSuchSession: return false
    }
  }

  private func handOver(
    _ session: Identifier, _ workspace: Identifier, _ message: Identifier
  ) async throws(Failure) {
    let isNew = try await run(
      BotProgress.handOver(
        session, workspace: workspace, line: .answer(to: message, ordinal: Intent.repliesMax + 1)))
    guard isNew else { return }
    sessions.changed(session: session)
    sessions.happened(WorkspaceNews(workspace: workspace, session: session, kind: .waits))
  }
}

extension ReplyObject {
  fileprivate var messageKind: EntryKind {
    switch kind {
    case .text: .text
    case .buttons: .buttons
    case .card: .card
    case .carousel: .carousel
    }
  }
}
