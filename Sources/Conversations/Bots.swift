/// The bots: automatic replies to visitors while no operator is assigned.
///
/// Bots are not on the path of a message: the visitor's message is committed and delivered first. A
/// reply is a message like any other, appended by the loop that owns the session. Its id is derived
/// from the id of the visitor's message and the ordinal of the reply, so a repeated run stores
/// nothing twice. `bot_progress` is written last; after a crash, `unanswered` finds the
/// conversation and the run is repeated.
import Automation
import Chat
public import Directory
public import Kernel
import Postgres
public import Primitives
import Synchronization

public final class Bots: Sendable {
  /// Why a bot cannot reply now.
  private enum Failure: Error {
    case query(QueryFailure)
    /// The queue of the pattern thread is full.
    case tooBusy
  }

  private let database: any Database
  private let sessions: any Sessions
  private let settings: CachedSettings
  /// Matches and compiles patterns, which takes too long for an event loop.
  private let patterns: JobThread
  private let onResume: @Sendable () -> Void
  private let log: @Sendable (String) -> Void
  private let scripts = Mutex<[Identifier: (script: BotScript, at: WallTime)]>([:])
  private let reported = Mutex<[Identifier: [String]]>([:])

  /// Cached scripts: their number and lifetime.
  static let scriptsMax = 256
  static let scriptSeconds: Int64 = 2
  /// Workspaces whose invalid intents were logged; names in one log line.
  static let reportedMax = 1_024
  static let namesMax = 5
  /// Conversations of one workspace that are answered concurrently.
  static let lanes = 8
  /// Messages of one conversation that one run answers.
  static let messagesMax = 20
  /// Conversations that are read with one statement. An operator may claim one between that and
  /// its reply.
  static let turnsMax = 32

  /// - Parameters:
  ///   - patterns: the thread that matches patterns.
  ///   - onResume: called on the caller's executor after each job of `patterns`.
  ///   - log: receives a line for each failure of the gateway and for invalid intents.
  public init(
    database: any Database, sessions: any Sessions, settings: CachedSettings, patterns: JobThread,
    onResume: @escaping @Sendable () -> Void = {}, log: @escaping @Sendable (String) -> Void
  ) {
    self.database = database
    self.sessions = sessions
    self.settings = settings
    self.patterns = patterns
    self.onResume = onResume
    self.log = log
  }

  /// Replies to the unanswered messages of these conversations, each of which is named once. After
  /// a failure the next run repeats them.
  public func answer(_ sessions: [Identifier], of workspace: Identifier, now: WallTime) async {
    let script: BotScript
    do throws(Failure) {
      script = try await self.script(workspace, now)
    } catch {
      return report(error)
    }
    for start in stride(from: 0, to: sessions.count, by: Bots.turnsMax) {
      let part = Array(sessions[start..<min(start + Bots.turnsMax, sessions.count)])
      do throws(Failure) {
        try await answer(part, workspace, script, now)
      } catch {
        report(error)
      }
    }
  }

  /// One statement reads the messages of all conversations, and one records the answered ones. With
  /// two statements for each message, bots took a third of PostgreSQL's time.
  private func answer(
    _ sessions: [Identifier], _ workspace: Identifier, _ script: BotScript, _ now: WallTime
  ) async throws(Failure) {
    let turns = try await run(
      BotProgress.turns(of: sessions, workspace: workspace, limit: Bots.messagesMax))
    guard !turns.isEmpty else { return }
    let answered = await withTaskGroup(of: [BotProgress.Answered].self) { group in
      for lane in 0..<min(Bots.lanes, turns.count) {
        group.addTask {
          var answered: [BotProgress.Answered] = []
          for place in stride(from: lane, to: turns.count, by: Bots.lanes) {
            do throws(Failure) {
              guard let seq = try await self.answer(turns[place], workspace, script, now) else {
                continue
              }
              answered.append(BotProgress.Answered(session: turns[place].session, seq: seq))
            } catch {
              self.report(error)
            }
          }
          return answered
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    guard !answered.isEmpty else { return }
    try await run(BotProgress.note(answered, workspace: workspace))
  }

  /// An unavailable or overloaded PostgreSQL is not logged here.
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

  /// Runs a job on the pattern thread, where workspaces take turns.
  private func offLoop<Result: Sendable>(
    for workspace: Identifier, _ body: @escaping @Sendable () -> Result
  ) async throws(Failure) -> Result {
    do throws(JobThread.Refused) {
      let result = try await patterns.run(for: workspace, body)
      onResume()
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

  /// Conversations of this workspace that a crashed gateway left unanswered. Empty after a failure.
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
    let script = try await offLoop(for: workspace) { statement.answer(rows) }
    reportBroken(script.broken, in: workspace)
    scripts.withLock {
      if $0.count >= Bots.scriptsMax { $0.removeAll(keepingCapacity: true) }
      $0[workspace] = (script, now)
    }
    return script
  }

  /// Logs each list of invalid intents once.
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

  /// - Returns: the last message, if all are answered and the conversation was not handed over.
  private func answer(
    _ turn: BotProgress.Turn, _ workspace: Identifier, _ script: BotScript, _ now: WallTime
  ) async throws(Failure) -> Int64? {
    let session = turn.session
    var unknown: BotProgress.Message?
    for message in turn.messages where !message.isOffline {
      if message.asksForPerson {
        try await handOver(session, workspace, message.id, to: message.team)
        return nil
      }
      let (replies, handover) = try await replies(to: message, in: session, workspace, script, now)
      unknown = handover == nil && !replies.contains { $0.0 > 0 } ? message : nil
      for (ordinal, reply) in replies {
        guard try await send(reply, in: session, workspace, answering: message.id, ordinal, now)
        else { return nil }
      }
      if case .handover(let team)? = handover {
        try await handOver(session, workspace, message.id, to: team)
        return nil
      }
    }
    if let unknown, script.answersAutomatically {
      try await requestAnswer(to: unknown, in: session, workspace, now)
    }
    return turn.messages.last?.seq
  }

  /// Requests an automatic answer while no operator is available.
  private func requestAnswer(
    to message: BotProgress.Message, in session: Identifier, _ workspace: Identifier,
    _ now: WallTime
  ) async throws(Failure) {
    guard try await !isServed(session, workspace, now) else { return }
    _ = try await run(
      AutomaticAnswer.request(
        to: message.id, seq: message.seq, in: session, workspace: workspace))
  }

  private func isServed(
    _ session: Identifier, _ workspace: Identifier, _ now: WallTime
  ) async throws(Failure) -> Bool {
    let isOpen = try await loaded(workspace, now).businessHours.isOpen(at: now)
    return try await run(Teams.serve(session, of: workspace, isOpen: isOpen, now: now))
  }

  /// The replies with their ordinals; 0 is the greeting. Then the handover that follows them.
  private func replies(
    to message: BotProgress.Message, in session: Identifier, _ workspace: Identifier,
    _ script: BotScript, _ now: WallTime
  ) async throws(Failure) -> (replies: [(Int, ReplyObject)], handover: Intent.Reply?) {
    var replies: [(Int, ReplyObject)] = []
    if message.isFirst, let text = try await greeting(session, workspace, now) {
      replies.append((0, ReplyObject(text: text)))
    }
    let intents = script.intents
    let text = message.choice ?? message.body
    // Matching may take about 20 ms.
    let (intent, undecided) = try await offLoop(for: workspace) {
      intents.first(matching: text)
    }
    if !undecided.isEmpty {
      log(
        "patterns took too long in workspace \(workspace): \(undecided.joined(separator: ", "))")
    }
    var handover: Intent.Reply?
    for (place, reply) in (intent?.replies ?? []).enumerated() {
      switch reply {
      case .text(let text): replies.append((place + 1, ReplyObject(text: text)))
      case .object(let name):
        if let object = script.objects[name] { replies.append((place + 1, object)) }
      case .handover: handover = handover ?? reply
      }
    }
    return (replies, handover)
  }

  /// The reply to the first message: the away message outside the business hours of the team or
  /// workspace, or without an available operator of it; otherwise the greeting.
  private func greeting(
    _ session: Identifier, _ workspace: Identifier, _ now: WallTime
  ) async throws(Failure) -> String? {
    let loaded = try await loaded(workspace, now)
    let away = loaded.settings.awayMessage
    if away.isEnabled, !away.text.isEmpty, try await !isServed(session, workspace, now) {
      return away.text
    }
    let greeting = loaded.settings.greetingMessage
    return greeting.isEnabled && !greeting.text.isEmpty ? greeting.text : nil
  }

  /// False if the store is unavailable: the next run sends the remaining replies.
  private func send(
    _ reply: ReplyObject, in session: Identifier, _ workspace: Identifier,
    answering message: Identifier, _ ordinal: Int, _ now: WallTime
  ) async throws(Failure) -> Bool {
    let name = try await loaded(workspace, now).settings.widget.name ?? ""
    let outcome = await sessions.append(
      session: session, workspace: workspace, id: .answer(to: message, ordinal: ordinal),
      role: .bot, kind: reply.messageKind, sender: nil, senderName: Array(name.utf8),
      body: Array(reply.body.utf8), payload: reply.payload)
    switch outcome.verdict {
    // A conflict: an earlier run sent this reply, and its text was edited since.
    case .stored, .duplicate, .conflict, .rejected: return true
    case .unavailable, .closed, .noSuchSession: return false
    }
  }

  private func handOver(
    _ session: Identifier, _ workspace: Identifier, _ message: Identifier, to team: String?
  ) async throws(Failure) {
    let isNew = try await run(
      BotProgress.handOver(
        session, workspace: workspace, line: .answer(to: message, ordinal: Intent.repliesMax + 1),
        team: team))
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
