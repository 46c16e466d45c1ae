/// The visitor's own profile: from the form before the chat, from the host page's script, or from
/// the offline form.
import Chat
import Conversations
import Directory
import JSON
import Kernel
import OpenSSL
import Primitives

extension WidgetRoutes {
  func updateProfile(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let team = try object.string("team", bytesMax: APILimits.tagBytes)
    let profile = try await api.database.run(
      VisitorProfile.update(
        call.tokenVisitor, workspace: call.workspace, name: try object.visitorName(),
        email: try object.visitorEmail(), attributes: try object.visitorAttributes()))
    guard let profile else { throw .unauthenticated }
    try await choose(team, for: Array(call.sessions), in: call.workspace)
    for session in call.sessions { api.sessions.changed(session: session) }
    return .json(
      [UInt8].object { json in
        json.appendObject("visitor") {
          $0.appendMember("id", profile.id)
          $0.appendMember("name", profile.name)
          $0.appendMember("email", orNull: profile.email)
          $0.appendMember("attributes", json: profile.attributes)
        }
      })
  }

  /// A message of the offline form: opens a conversation that waits for an operator.
  func leaveMessage(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try api.widgetLimits.tokens.take(request.peer, request.now) }
    let object = try request.jsonObject()
    guard let key = try object.string("workspace", bytesMax: APILimits.secretBytes) else {
      throw .missing("workspace")
    }
    let name = try object.visitorName()
    guard let email = try object.visitorEmail(), !email.isEmpty else { throw .missing("email") }
    guard let body = try object.string("message", bytesMax: Limits.bodyBytes), !body.isEmpty else {
      throw .missing("message")
    }
    let context = try visitorContext(object, request)
    let (workspace, _) = try await self.workspace(key, request)
    guard try await api.settings(of: workspace.id, now: request.now).settings.offline.isEnabled
    else {
      throw .noOfflineForm
    }
    // The refresh secret is discarded: the visitor cannot return to this conversation.
    let unused = Visit.Refresh(hash: secretHash(SecureRandom.token()), expiresAt: request.now)
    let visit = try await api.database.run(
      Visit.begin(
        visitor: Visitor(id: .random(at: request.now), name: name ?? ""),
        workspace: workspace.id,
        opening: Visit.Opening(id: .random(at: request.now), context: context), refresh: unused,
        now: request.now))
    guard let visit else { throw .internalError }
    _ = try await api.database.run(
      VisitorProfile.update(
        visit.visitor.id, workspace: workspace.id, name: nil, email: email, attributes: nil))
    let outcome = await api.sessions.append(
      session: visit.session.id, workspace: workspace.id, id: .random(at: request.now),
      role: .visitor, kind: .text, sender: visit.visitor.id,
      senderName: Array(visit.visitor.name.utf8), body: Array(body.utf8),
      payload: Array(#"{"offline":true}"#.utf8))
    guard case .stored = outcome.verdict else {
      throw outcome.verdict == .rejected ? Problem.rejected : Problem.unavailable
    }
    api.sessions.changed(session: visit.session.id)
    await notifyOfOfflineMessage(
      body, from: visit.visitor.name, email, session: visit.session.id, workspace.id, request)
    return .json([UInt8].object { $0.appendMember("session", visit.session.id) }, status: 201)
  }
}

extension JSONObject {
  /// Nil if the member is missing.
  func visitorName() throws(Problem) -> String? {
    try string("name", bytesMax: APILimits.nameBytes).map { String($0.trimmingBlanks) }
  }

  /// An address, or an empty text, which removes it; nil if the member is missing.
  func visitorEmail() throws(Problem) -> String? {
    guard
      let email = try string("email", bytesMax: APILimits.emailBytes).map({
        String($0.trimmingBlanks)
      })
    else { return nil }
    guard email.isEmpty || isEmailAddress(email) else {
      throw .invalidMember("email", "an e-mail address, or empty")
    }
    return email
  }

  /// The attributes of a visitor as the received text: names with strings, numbers and booleans.
  /// Nil if the member is missing.
  func visitorAttributes() throws(Problem) -> [UInt8]? {
    guard let text = try object("attributes", bytesMax: APILimits.attributesBytes) else {
      return nil
    }
    guard let members = JSONValue(text)?.object else {
      throw .invalidMember("attributes", "an object")
    }
    guard members.count <= VisitorProfile.attributesMax else {
      throw .invalidMember(
        "attributes", "an object of at most \(VisitorProfile.attributesMax) members")
    }
    for (name, value) in members {
      guard !name.isEmpty, name.utf8.count <= APILimits.attributeNameBytes else {
        throw .invalid(
          "The name of an attribute must have 1 to \(APILimits.attributeNameBytes) bytes; "
            + "“\(name)” has \(name.utf8.count)."
        ).at("/attributes")
      }
      switch value {
      case .number, .bool: break
      case .string(let text) where text.utf8.count <= APILimits.attributeTextBytes: break
      default:
        var attributes = JSONObject()
        attributes.pointer = pointer(to: "attributes")
        throw .invalidMember(
          name, in: attributes,
          "a string of at most \(APILimits.attributeTextBytes) bytes, a number, true or false")
      }
    }
    return text
  }
}

extension Problem {
  static let noOfflineForm = Problem.forbidden(
    "offline_disabled",
    "The workspace has disabled its offline form. Write in the chat instead.")
}
