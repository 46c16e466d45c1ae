/// Runs a list of actions on conversations, one after another.
///
/// Each action takes effect by itself. A refusal ends the actions of its conversation, and the next
/// conversation continues; the result names what was done. A failure of ours (5xx) ends the
/// request. With an Idempotency-Key its repetition finishes the rest: replies and notes have ids
/// that are made from the key, and the other actions change nothing a second time.
import Chat
import Conversations
import Directory
import JSON
import OpenSSL
import Primitives

struct ActionRun {
  let api: API
  let call: Call
  let member: Operator
  let actions: [ConversationAction]

  /// Conversations of one request.
  static let conversationsMax = 100

  struct Result {
    var session: Identifier
    /// The number of actions that were carried out.
    var done = 0
    var isChanged = false
    /// The operator who had closed it before.
    var closer: (id: Identifier, name: String)?
    var problem: Problem?

    var outcome: Outcome {
      if problem != nil { return .failed }
      return isChanged ? .done : .unchanged
    }
  }

  enum Outcome: String, CaseIterable {
    case done, unchanged, failed

    /// The member with the number of such results.
    var key: StaticString {
      switch self {
      case .done: "done_count"
      case .unchanged: "unchanged_count"
      case .failed: "failed_count"
      }
    }
  }

  /// - Parameter actions: resolved ones (`API.resolved`).
  init(_ actions: [ConversationAction], member: Operator, api: API, _ call: Call) {
    self.api = api
    self.call = call
    self.member = member
    self.actions = actions
  }

  func results(of sessions: [Identifier]) async throws(Problem) -> [Result] {
    let known = try await ConversationRoutes(api).conversations(sessions, of: call.workspace)
    var results: [Result] = []
    for session in sessions {
      var result = Result(session: session)
      if let conversation = known[session] {
        try await run(on: conversation, &result)
      } else {
        result.problem = .noSuchSession
      }
      results.append(result)
    }
    return results
  }

  private func run(
    on conversation: Conversation, _ result: inout Result
  ) async throws(Problem) {
    for (step, action) in actions.enumerated() {
      do throws(Problem) {
        try await perform(action, step, on: conversation, &result)
      } catch {
        guard error.status < 500 else { throw error }
        result.problem = error
        return
      }
      result.done += 1
    }
  }

  private func perform(
    _ action: ConversationAction, _ step: Int, on conversation: Conversation,
    _ result: inout Result
  ) async throws(Problem) {
    let session = conversation.id
    let isChange: Bool
    switch action {
    case .reply(let text):
      let values = try await values(for: text, conversation)
      isChange = try await write(.text, try ReplyFields.fill(text, values), step, in: session)
    case .cannedReply: preconditionFailure("a canned reply was not resolved")
    case .note(let text): isChange = try await write(.note, text, step, in: session)
    case .addTags(let tags): isChange = try await change(adding: tags, in: session)
    case .removeTags(let tags): isChange = try await change(removing: tags, in: session)
    case .assign(let receiver): isChange = try await assign(session, to: receiver)
    case .close(let reason):
      let change = try await QueueRoutes(api).apply(.closed, to: session, reason: reason, call)
      isChange = change.isApplied
      if !isChange { result.closer = change.closer.map { ($0, change.closerName) } }
    case .reopen:
      isChange = try await QueueRoutes(api)
        .apply(.reopened, to: session, reason: nil, call).isApplied
    }
    if isChange { result.isChanged = true }
  }

  /// The values of the fields that the console knows, too (`Pane`).
  private func values(
    for text: String, _ conversation: Conversation
  ) async throws(Problem) -> [String: String] {
    var values = ["visitor.name": conversation.visitorName, "operator.name": member.name]
    if text.contains("visitor.email"), let visitor = conversation.visitor {
      let profile = try await VisitorRoutes(api).visitorJSON(visitor, in: call.workspace)
      values["visitor.email"] = profile.flatMap { JSONValue($0) }?["email"]?.string
    }
    return values
  }

  private func write(
    _ kind: EntryKind, _ body: String, _ step: Int, in session: Identifier
  ) async throws(Problem) -> Bool {
    let message = ConversationRoutes.NewMessage(id: id(step, session), kind: kind, body: body)
    return try await ConversationRoutes(api).store(message, in: session, call).verdict == .stored
  }

  private func change(
    adding added: [String] = [], removing removed: [String] = [], in session: Identifier
  ) async throws(Problem) -> Bool {
    let verdict = try await api.database.run(
      ConversationTags.change(
        adding: added, removing: removed, of: session, in: call.workspace, tagsMax: Tags.countMax,
        conversationMax: Int64(APILimits.tagsOfConversation)))
    switch verdict {
    case .changed:
      api.sessions.changed(session: session)
      return true
    case .unchanged: return false
    case .workspaceFull: throw .tooMany("tags", Tags.countMax)
    case .conversationFull: throw .tooManyTags
    case nil: throw .noSuchSession
    }
  }

  /// Takes a waiting conversation by a claim, which respects the capacity, and any other one by a
  /// transfer.
  private func assign(
    _ session: Identifier, to receiver: ConversationAction.Receiver
  ) async throws(Problem) -> Bool {
    let queue = QueueRoutes(api)
    switch receiver {
    case .queue: return try await queue.transfer(session, to: .queue, reason: nil, call)
    case .team(let id): return try await queue.transfer(session, to: .team(id), reason: nil, call)
    case .member(let id) where id != member.id:
      return try await queue.transfer(session, to: .member(id), reason: nil, call)
    case .caller, .member:
      do throws(Problem) {
        return try await queue.claim(session, call)
      } catch {
        guard error.winner != nil else { throw error }
        return try await queue.transfer(session, to: .member(member.id), reason: nil, call)
      }
    }
  }

  /// The id of an entry: with an Idempotency-Key the same for each repetition of the request
  /// (RFC 9562 §5.8), else a new one.
  private func id(_ step: Int, _ session: Identifier) -> Identifier {
    guard let key = call.request.header("Idempotency-Key") else { return call.newID() }
    let place = "\(call.workspace)\n\(call.caller.id)\n\(key)\n\(session)\n\(step)\n"
    let digest = SHA256.digest(Array(place.utf8) + call.request.body)
    return digest.withRawSpan { span in
      Identifier(
        high: span.uint64(at: 0) & 0xFFFF_FFFF_FFFF_0FFF | 0x8000,
        low: span.uint64(at: 8) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }
  }
}

extension ActionRun.Result {
  func append(to json: inout [UInt8]) {
    json.append(
      contentsOf: [UInt8].object { json in
        json.appendMember("id", session)
        json.appendMember("outcome", outcome.rawValue)
        json.appendMember("actions_done", Int64(done))
        if let closer {
          json.appendObject("closed_by") {
            $0.appendMember("id", closer.id)
            $0.appendMember("name", closer.name)
          }
        } else {
          json.appendMember("closed_by", json: "null")
        }
        if let problem {
          json.appendMember("problem", json: problem.response().body)
        } else {
          json.appendMember("problem", json: "null")
        }
      })
  }
}

extension Problem {
  static let tooManyTags = Problem(
    status: 409, type: "too_many", title: "Too many",
    detail: "The conversation would have more than \(APILimits.tagsOfConversation) tags, the most "
      + "it may have. Remove some first.")
}
