/// Conversations that operators and programs begin.
import Chat
import Conversations
import Directory
import JSON
import OpenSSL
import Primitives

extension ConversationRoutes {
  /// Begins a conversation, with a first message if there is one. With the id of an existing
  /// conversation with the same visitor it continues where an earlier attempt ended.
  func openConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let own = try object.identifier("id")
    let title = try title(in: object)
    let person = try person(in: object)
    let message = try object.nested("message")
    let session = own ?? call.newID()
    var first = try message.map { (text) throws(Problem) in try newMessage(in: text, call) }
    if own != nil, try message?.identifier("id") == nil { first?.id = firstMessage(of: session) }
    let outcome = try await api.database.run(
      ConversationOpening.open(
        session, title: title, with: person, newVisitor: call.newID(),
        openMax: api.options.conversationsPerVisitor, by: call.actor))
    switch outcome {
    case .opened, .existed: break
    case .noSuchVisitor: throw .noSuchVisitor
    case .banned: throw .banned
    case .full: throw .visitorIsFull(api.options.conversationsPerVisitor)
    case .conflict: throw .conversationExists
    }
    if let first { _ = try await append(first, to: session, call) }
    api.sessions.changed(session: session, of: call.workspace)
    return try await show(session, call, status: outcome == .opened ? 201 : 200)
  }

  private func title(in object: JSONObject) throws(Problem) -> String {
    let text = try object.string("title", bytesMax: APILimits.titleBytes) ?? ""
    guard let title = ConversationTitle.normalize(text) else {
      throw .invalidMember(
        "title", "one line of at most \(ConversationTitle.charactersMax) characters")
    }
    return title
  }

  private func person(in object: JSONObject) throws(Problem) -> ConversationOpening.Person {
    guard let visitor = try object.nested("visitor") else { return ConversationOpening.Person() }
    let person = ConversationOpening.Person(
      id: try visitor.identifier("id"),
      externalID: try visitor.nonEmptyString("external_id", bytesMax: APILimits.externalIDBytes),
      name: try visitor.visitorName(), email: try visitor.visitorEmail())
    guard person.id == nil || person.externalID == nil && person.name == nil && person.email == nil
    else {
      throw .member("id", in: visitor, "excludes the other members. Send it alone.")
    }
    return person
  }

  /// The id of the first message, if the caller has made that of the conversation only: a repeated
  /// request then stores it once. Version 8 (RFC 9562 §5.8).
  private func firstMessage(of session: Identifier) -> Identifier {
    let digest = SHA256.digest(Array("first message of \(session)".utf8))
    let (high, low) = digest.withRawSpan { ($0.uint64(at: 0), $0.uint64(at: 8)) }
    return Identifier(
      high: high & ~0xF000 | 0x8000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }
}

extension Problem {
  static let noSuchVisitor = Problem(
    status: 404, type: "no_such_visitor", title: "No such visitor",
    detail: "Your workspace has no visitor with this id. Send an “external_id”, or no visitor, for "
      + "a new one.")

  static let conversationExists = Problem(
    status: 409, type: "id_conflict", title: "Id in use",
    detail: "Another conversation has this id. Begin this one with a new id.")

  static func visitorIsFull(_ countMax: Int64) -> Problem {
    Problem(
      status: 409, type: "too_many_conversations", title: "Too many conversations",
      detail: "The visitor has \(countMax) open conversations, the most a visitor may have. "
        + "Continue or close one of them.")
  }
}
