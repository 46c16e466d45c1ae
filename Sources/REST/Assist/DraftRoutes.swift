/// Drafts for operators, written by the endpoint of their workspace: a reply, a summary, a
/// translation.
///
/// Nothing is sent to an endpoint unless the workspace has turned the use on and an operator asks.
/// A draft goes to that operator only; it becomes a message when they send it.
import Assist
import Chat
import Conversations
import Directory
import JSON
import Kernel
import Primitives

struct DraftRoutes: RouteGroup {
  let api: API

  /// Entries of the conversation that are read for a prompt, events among them.
  static let entriesRead = 120
  /// Bytes of the visitor's last messages with which answers are searched.
  private static let questionBytesMax = 2_000

  /// The uses that are on.
  func showUses(_ call: Call) async throws(Problem) -> APIResponse {
    let settings = try await api.database.run(AssistSettings.find(in: call.workspace))
    let uses = settings.map { $0.isEnabled ? $0.uses : [] } ?? []
    return .json([UInt8].object { $0.appendMember("uses", texts: uses) })
  }

  func write(_ call: Call) async throws(Problem) -> APIResponse {
    let start = SystemClock.now()
    let member = try call.member
    let wish = try Wish(call.request.jsonObject())
    // First of all the conversation must be one of the workspace.
    let entries = try await entries(for: wish, call)
    let found = try await api.database.run(AssistSettings.find(in: call.workspace))
    guard let settings = found, settings.isEnabled, settings.uses.contains(wish.use.rawValue)
    else { throw .assistOff }
    let access = try AssistRun.access(settings, api.options)
    try api.servers.drafts.enter(member.id, of: member.workspace, now: call.request.now)
    let run: AssistRun
    do throws(Problem) {
      let prompt = try await self.prompt(for: wish, entries, call)
      run = try await AssistRun(
        wish.kind, prompt, settings, access, milliseconds: settings.timeoutSeconds * 1_000,
        api: api, now: call.request.now)
    } catch {
      api.servers.drafts.leave(member.id, of: member.workspace)
      throw error
    }
    var response = APIResponse(
      status: 200,
      headers: [
        ("Content-Type", Route.eventStream),
        // A proxy must not collect the pieces (nginx, `proxy_buffering`).
        ("X-Accel-Buffering", "no"),
      ])
    let api = api
    response.stream = { send in
      // A client that has left ends the run.
      let end = await run.run(since: start) { text in
        guard let text else { return send(Array(":\n\n".utf8)) }
        let json = [UInt8].object { $0.appendMember("text", text) }
        return send(Array("data: ".utf8) + json + Array("\n\n".utf8))
      }
      api.servers.drafts.leave(member.id, of: member.workspace)
      let result = end.result
      let (name, json) =
        result.fault.map { ("problem", Problem.completion($0).response().body) }
        ?? ("done", [UInt8].object { $0.appendMember("tokens", result.usage?.total ?? 0) })
      _ = send(Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8))
    }
    return response
  }

  // MARK: The request

  private func entries(for wish: Wish, _ call: Call) async throws(Problem) -> [Entry] {
    let page = try await api.expensiveDatabase.run(
      MessageRange.before(.max).page(
        of: call.id, workspace: call.workspace,
        limit: wish.use == .translate ? 1 : DraftRoutes.entriesRead
      ).scoped(to: call.workspace))
    guard let page else { throw .noSuchSession }
    return page.entries
  }

  private func prompt(
    for wish: Wish, _ entries: [Entry], _ call: Call
  ) async throws(Problem) -> AssistPrompt {
    switch wish.use {
    case .translate: return .translation(of: wish.text, to: wish.language ?? "en")
    case .summary: return .summary(of: entries, language: wish.language)
    case .suggest:
      let question = DraftRoutes.question(in: entries)
      let replies = try await api.expensiveDatabase.run(
        AssistGrounding.replies(for: question, in: call.workspace))
      let closed = try await api.expensiveDatabase.run(
        AssistGrounding.conversations(for: question, except: call.id, in: call.workspace))
      return .suggestion(for: entries, replies: replies, closed: closed)
    }
  }

  /// The visitor's last messages, newest first.
  static func question(in entries: [Entry]) -> String {
    let bodies = entries.reversed().filter { $0.role == .visitor || $0.role == .user }.prefix(5)
      .map { String(decoding: $0.body, as: UTF8.self) }
    return AssistPrompt.cut(bodies.joined(separator: "\n"), questionBytesMax)
  }
}

/// The request for a draft.
private struct Wish {
  var use: AssistUse
  var language: String?
  var kind: AssistMetrics.Kind {
    switch use {
    case .suggest: .suggest
    case .summary: .summary
    case .translate: .translate
    }
  }

  /// To be translated; empty for the other uses.
  var text = ""

  init(_ object: JSONObject) throws(Problem) {
    let word = try object.word("use", of: AssistUse.allCases.map(\.rawValue))
    guard let word, let use = AssistUse(rawValue: word) else { throw .missing("use") }
    self.use = use
    language = try object.nonEmptyString("language", bytesMax: APILimits.languageBytes)
    if let language, !Wish.isLanguage(language) {
      throw .invalidMember("language", "a language tag, such as “de” or “pt-BR” (BCP 47)")
    }
    guard use == .translate else { return }
    guard language != nil else { throw .missing("language") }
    text = try object.requiredString("text", bytesMax: AssistPrompt.textBytesMax)
  }

  private static func isLanguage(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard let first = parts.first, 2...3 ~= first.utf8.count,
      first.utf8.allSatisfy(\.isASCIILetter)
    else { return false }
    return parts.dropFirst().allSatisfy { part in
      1...8 ~= part.utf8.count && part.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
    }
  }
}
