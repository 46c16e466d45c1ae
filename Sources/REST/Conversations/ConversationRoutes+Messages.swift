/// The log of a conversation, read and written by operators and API keys.
import Chat
import Conversations
import Directory
import JSON
import Primitives

extension ConversationRoutes {
  func listMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let query = try QueryString(call.request.query)
    let after = try query.int("after", in: 0...CommandDecoder.integerMax)
    let before = try query.int("before", in: 0...CommandDecoder.integerMax)
    let around = try query.int("around", in: 0...CommandDecoder.integerMax)
    guard [after, before, around].compactMap({ $0 }).count <= 1 else {
      throw .invalid("The parameters “after”, “before” and “around” exclude each other. Send one.")
    }
    let limit = Int(
      try query.int("limit", in: 1...Int64(Limits.pageEntries))
        ?? Int64(APILimits.messagesDefault))
    let range = after.map { MessageRange.after($0) } ?? .before(before ?? around ?? .max)
    var page = try await messages(range, around == nil ? limit : max(1, limit / 2), call)
    if let around {
      // The earlier messages are followed by those from `around` on; `more` tells of later ones.
      let remaining = max(1, limit - page.entries.count)
      page.entries += try await messages(.after(around - 1), remaining, call).entries
    }
    return .json(
      [UInt8].object { json in
        json.appendArray("messages", page.entries) { appendMessage($0, session: call.id, to: &$1) }
        json.appendMember("more", page.hasMore)
        json.appendMember("head", page.head)
        json.appendMember("epoch", page.epoch)
      })
  }

  private func messages(
    _ range: MessageRange, _ limit: Int, _ call: Call
  ) async throws(Problem) -> MessagePage {
    let page = try await api.database.run(
      range.page(of: call.id, workspace: call.workspace, limit: limit)
        .scoped(to: call.workspace))
    guard let page else { throw .noSuchSession }
    return page
  }

  /// A message as on the socket, without its `type`.
  private func appendMessage(_ entry: Entry, session: Identifier, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "{"))
    appendMembers(of: entry, session: session, to: &json)
    json.append(UInt8(ascii: "}"))
  }

  func appendMembers(of entry: Entry, session: Identifier, to json: inout [UInt8]) {
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
  }

  /// A message that a caller wants to send.
  struct NewMessage: Sendable {
    var id: Identifier
    var kind: EntryKind
    var body: String
    var payload: [UInt8] = []
  }

  func postMessage(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    if object.member("attachments") != nil {
      return try await AttachmentRoutes(api).postMessage(AttachmentPlace(call))
    }
    let message = try newMessage(in: object, call)
    return try await append(message, to: call.id, call)
  }

  func newMessage(in object: JSONObject, _ call: Call) throws(Problem) -> NewMessage {
    let id = try object.identifier("id") ?? call.newID()
    let body = try object.string("body", bytesMax: Limits.bodyBytes) ?? ""
    let payload = try object.object("payload", bytesMax: Limits.payloadBytes) ?? []
    guard !body.isEmpty || !payload.isEmpty else { throw .missing("body", in: object) }
    let kind: EntryKind
    switch try object.string("kind", bytesMax: 16) ?? "text" {
    case "text": kind = .text
    case "note": kind = .note
    default: throw .invalidMember("kind", in: object, "text or note")
    }
    return NewMessage(id: id, kind: kind, body: body, payload: payload)
  }

  /// Appends an entry to the log. Returns after the commit.
  func append(
    _ message: NewMessage, to session: Identifier, _ call: Call
  ) async throws(Problem) -> APIResponse {
    // Only a session of the caller's workspace may reach the loop that owns it.
    _ = try await show(session, call)
    let outcome = try await store(message, in: session, call)
    return outcome.response(to: message.id)
  }

  /// Stores an entry in a conversation of the caller's workspace, which the caller has checked.
  ///
  /// - Returns: an outcome that is `stored` or `duplicate`.
  func store(
    _ message: NewMessage, in session: Identifier, _ call: Call
  ) async throws(Problem) -> Outcome {
    let outcome = await api.sessions.append(
      session: session, workspace: call.workspace, id: message.id, role: call.caller.senderRole,
      kind: message.kind, sender: call.caller.id, senderName: Array(call.caller.name.utf8),
      body: Array(message.body.utf8), payload: message.payload)
    if let problem = outcome.verdict.problem { throw problem }
    return outcome
  }
}

extension Outcome {
  /// The answer to a request that sent a message, which is stored.
  func response(to message: Identifier) -> APIResponse {
    let json = [UInt8].object { json in
      json.appendMember("id", message)
      json.appendMember("seq", seq)
      json.appendMember("at", at)
    }
    return .json(json, status: verdict == .stored ? 201 : 200)
  }
}

extension Outcome.Verdict {
  /// Why a message is not stored; nil: it is.
  var problem: Problem? {
    switch self {
    case .stored, .duplicate: nil
    case .conflict: .idConflict
    case .noSuchSession: .noSuchSession
    case .closed: .closed
    case .rejected: .rejected
    case .unavailable: .unavailable
    }
  }
}

extension Problem {
  static let idConflict = Problem(
    status: 409, type: "id_conflict", title: "Id in use",
    detail: "Another message has this id. Send this one with a new id.")
  static let rejected = Problem(
    status: 422, type: "rejected", title: "Rejected",
    detail: "The database cannot store this message. Change it before you send it again.")
}
