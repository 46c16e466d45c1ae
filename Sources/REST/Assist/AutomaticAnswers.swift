/// Answers visitors by the workspace's endpoint while no operator is available, if the workspace
/// has turned that on: from its canned replies, and from its closed conversations if it allows
/// those.
///
/// `AutomaticAnswer` has the requests. Without a source, without an answer, or after a fault of the
/// endpoint, nothing is sent.
import Assist
import Automation
import Chat
import Conversations
import Directory
import Kernel
public import Primitives

public struct AutomaticAnswers: Sendable {
  /// Requests of one workspace that are answered at the same time.
  static let lanes = DraftRuns.perOwner
  /// Requests that one lane answers in a run; the next sweep continues.
  static let answersMax = 20

  private let api: API

  public init(_ api: API) { self.api = api }

  /// The workspaces with requests. Empty without PostgreSQL: the next sweep finds them.
  public func workspaces() async -> [Identifier] {
    do throws(Problem) {
      return try await api.database.run(AutomaticAnswer.workspaces)
    } catch {
      return []
    }
  }

  public func run(in workspace: Identifier) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<AutomaticAnswers.lanes {
        group.addTask {
          for _ in 0..<AutomaticAnswers.answersMax where await !self.answerNext(in: workspace) {
            return
          }
        }
      }
    }
  }

  /// False if there is no request that this gateway can answer now.
  private func answerNext(in workspace: Identifier) async -> Bool {
    let start = SystemClock.now()
    let now = SystemClock.wallTime()
    do throws(Problem) {
      try api.servers.drafts.enter(workspace, of: workspace, now: now)
    } catch {
      // Too many requests: the next sweep tries again.
      return false
    }
    defer { api.servers.drafts.leave(workspace, of: workspace) }
    do throws(Problem) {
      guard let taken = try await api.database.run(AutomaticAnswer.take(in: workspace))
      else { return false }
      do throws(Problem) {
        if try await answer(taken, workspace, since: start, now) { return true }
      } catch {
        api.options.report(
          "workspace \(workspace): no automatic answer: \(error.type) \(error.status)")
      }
      try await api.database.run(AutomaticAnswer.giveUp(taken, in: workspace))
      return true
    } catch {
      // PostgreSQL is unavailable: another gateway, or a later sweep, repeats the request.
      return false
    }
  }

  /// Whether an answer was stored.
  private func answer(
    _ taken: AutomaticAnswer.Taken, _ workspace: Identifier, since start: Instant, _ now: WallTime
  ) async throws(Problem) -> Bool {
    guard let settings = try await api.database.run(AssistSettings.find(in: workspace)),
      settings.isEnabled, settings.automatic != "off",
      let prompt = try await prompt(for: taken, settings)
    else { return false }
    let run = try await AssistRun(
      .automatic, prompt, settings, try AssistRun.access(settings, api.options),
      milliseconds: settings.timeoutSeconds * 1_000, api: api, now: now)
    var answer = ""
    let end = await run.run(since: start) { text in
      answer += text ?? ""
      return true
    }
    if let fault = end.result.fault {
      api.options.report("workspace \(workspace): no automatic answer: \(fault.name.rawValue)")
      return false
    }
    guard let text = AutomaticAnswers.message(answer, notice: settings.automaticNotice)
    else { return false }
    return try await store(text, for: taken, workspace, now)
  }

  /// The message to the visitor; nil if the model does not know an answer, or it is too long.
  static func message(_ answer: String, notice: String) -> String? {
    var text = answer[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    guard !text.isEmpty, !text.contains(AssistPrompt.noAnswer), !text.contains("\0") else {
      return nil
    }
    let message = "\(text)\n\n\(notice)"
    return message.utf8.count <= Limits.bodyBytes ? message : nil
  }

  /// Nil if the workspace has no text with a word of the question.
  private func prompt(
    for taken: AutomaticAnswer.Taken, _ settings: AssistSettings
  ) async throws(Problem) -> AssistPrompt? {
    let workspace = settings.workspace
    let page = try await api.expensiveDatabase.run(
      MessageRange.before(.max).page(
        of: taken.session, workspace: workspace, limit: DraftRoutes.entriesRead
      ).scoped(to: workspace))
    guard let page else { return nil }
    let question = DraftRoutes.question(in: page.entries)
    let replies = try await api.expensiveDatabase.run(
      AssistGrounding.replies(for: question, in: workspace))
    var closed: [String] = []
    if settings.automatic == "conversations" {
      closed = try await api.expensiveDatabase.run(
        AssistGrounding.conversations(for: question, except: taken.session, in: workspace))
    }
    guard !replies.isEmpty || !closed.isEmpty else { return nil }
    return .automatic(for: page.entries, replies: replies, closed: closed)
  }

  private func store(
    _ text: String, for taken: AutomaticAnswer.Taken, _ workspace: Identifier, _ now: WallTime
  ) async throws(Problem) -> Bool {
    let name = try await api.settings(of: workspace, now: now).settings.widget.name ?? ""
    // The ordinals before it are those of the bot's replies and of a handover.
    let id = Identifier.answer(to: taken.message, ordinal: Intent.repliesMax + 2)
    let isStored = try await api.database.run(
      AutomaticAnswer.store(text, id: id, named: name, for: taken, in: workspace))
    if isStored { api.sessions.changed(session: taken.session, of: workspace) }
    return isStored
  }
}
