/// The log of a conversation, read and written by operators.
import Chat
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension ConversationRoutes {
  func listMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let query = try QueryString(call.request.query)
    let after = try query.int("after", in: 0...CommandDecoder.integerMax)
    let before = try query.int("before", in: 0...CommandDecoder.integerMax)
    let around = try query.int("around", in: 0...CommandDecoder.integerMax)
    guard [after, before, around].compactMap({ $0 }).count <= 1 else {
      throw .invalid("Give one of “after”, “before” and “around”.")
    }
    let limit = Int(
      try query.int("limit", in: 1...Int64(Limits.pageEntries))
        ?? Int64(APILimits.messagesDefault))
    let range = after.map { MessageRange.after($0) } ?? .before(before ?? around ?? .max)
    var page = try await messages(range, around == nil ? limit : max(1, limit / 2), call)
    if let around {
      // What is asked for and what follows, behind what came before; `more` is about the latter.
      let rest = max(1, limit - page.entries.count)
      page.entries += try await messages(.after(around - 1), rest, call).entries
    }
    var json = Array("{\"messages\":[".utf8)
    for entry in page.entries {
      json.appendComma()
      appendMessage(entry, session: call.session, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    json.appendMember("more", page.hasMore)
    json.appendMember("head", page.head)
    json.appendMember("epoch", page.epoch)
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  private func messages(
    _ range: MessageRange, _ limit: Int, _ call: Call
  ) async throws(Problem) -> MessagePage {
    let page = try await rest.run(
      range.page(of: call.session, workspace: call.workspace, limit: limit)
        .scoped(to: call.workspace))
    guard let page else { throw .noSuchSession }
    return page
  }

  /// A message as on the socket, without its `type`.
  private func appendMessage(_ entry: Entry, session: Identifier, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "{"))
    json.appendMember("session", session)
    json.appendMember("seq", entry.seq)
    json.appendMember("id", entry.id)
    json.appendKey("sender")
    entry.senderName.withRawSpan {
      EventEncoder.person(role: entry.role, id: entry.sender, name: $0, to: &json)
    }
    json.appendMember("kind", String(describing: entry.kind.text))
    json.appendMember("body", utf8: entry.body)
    if !entry.payload.isEmpty { json.appendMember("payload", json: entry.payload) }
    json.appendMember("at", entry.at)
    json.append(UInt8(ascii: "}"))
  }

  func postMessage(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let id = try object.identifier("id") ?? rest.identifier(call.request.now)
    let body = try object.string("body", bytesMax: Limits.bodyBytes) ?? ""
    let payload = try object.object("payload", bytesMax: Limits.payloadBytes) ?? []
    guard !body.isEmpty || !payload.isEmpty else { throw .missing("body") }
    let kind: EntryKind
    switch try object.string("kind", bytesMax: 16) ?? "text" {
    case "text": kind = .text
    case "note": kind = .note
    default: throw .wrongType("kind", "text or note")
    }
    return try await append(kind, id: id, body: body, payload: payload, to: call)
  }

  /// What the caller writes, as an entry of the log: committed when this answers.
  func append(
    _ kind: EntryKind, id: Identifier, body: String, payload: [UInt8], to call: Call
  ) async throws(Problem) -> APIResponse {
    // The loop that owns the session is asked only about sessions of the caller's workspace.
    _ = try await showConversation(call)
    let outcome = await rest.sessions.append(
      session: call.session, workspace: call.workspace, id: id, role: call.caller.role,
      kind: kind, sender: call.caller.id, senderName: Array(call.caller.name.utf8),
      body: Array(body.utf8), payload: payload)
    let status =
      switch outcome.verdict {
      case .stored: 201
      case .duplicate: 200
      case .conflict: throw Problem.idConflict
      case .noSuchSession: throw Problem.noSuchSession
      case .closed: throw Problem.closed
      case .rejected: throw Problem.rejected
      case .unavailable: throw Problem.unavailable
      }
    let json = [UInt8].object { json in
      json.appendMember("id", id)
      json.appendMember("seq", outcome.seq)
      json.appendMember("at", outcome.at)
    }
    return .json(json, status: status)
  }
}

extension Problem {
  static let idConflict = Problem(
    status: 409, type: "id_conflict", title: "Id in use",
    detail: "This id belongs to another message; send this one under a new id.")
  static let rejected = Problem(
    status: 422, type: "rejected", title: "Rejected",
    detail: "The database will never accept this message; change it before sending it again.")
}
