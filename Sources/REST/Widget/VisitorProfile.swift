/// What a visitor says about themselves: in the form before the chat, by the host page's script, or
/// in the form for when nobody is there.
import Chat
import Conversations
import Directory
import JSON
import OpenSSL
import Primitives
import Synchronization

extension WidgetRoutes {
  func updateProfile(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = try object.string("name", bytesMax: APILimits.nameBytes).map {
      String($0.trimmingBlanks)
    }
    let email = try emailAddress(object)
    let profile = try await rest.run(
      VisitorProfile.update(
        call.visitor, workspace: call.workspace, name: name, email: email,
        attributes: try visitorAttributes(object)))
    guard let profile else { throw .unauthenticated }
    for session in call.sessions { rest.sessions.changed(session: session) }
    return .json(
      [UInt8].object { json in
        json.appendObject("visitor") {
          $0.appendMember("id", profile.id)
          $0.appendMember("name", profile.name)
          $0.appendMember("email", json: JSONValue.text(profile.email).text)
          $0.appendMember("attributes", json: profile.attributes)
        }
      })
  }

  /// A message for when somebody is there again: a conversation of its own that waits.
  func leaveMessage(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try rest.takeRate(rest.widgetTokens, request.peer, request.now) }
    let object = try rest.declaredObject(request)
    guard let key = try object.string("workspace", bytesMax: APILimits.secretBytes) else {
      throw .missing("workspace")
    }
    let name = try object.string("name", bytesMax: APILimits.nameBytes).map {
      String($0.trimmingBlanks)
    }
    guard let email = try emailAddress(object), !email.isEmpty else { throw .missing("email") }
    guard let body = try object.string("message", bytesMax: Limits.bodyBytes), !body.isEmpty else {
      throw .missing("message")
    }
    let context = try visitorContext(object)
    let (workspace, _) = try await self.workspace(key, request)
    guard try await rest.settings(of: workspace.id, now: request.now).settings.offline.isEnabled
    else {
      throw .noOfflineForm
    }
    // A secret that nobody gets: an offline form opens no conversation that goes on here.
    let unused = Visit.Refresh(hash: rest.hash(SecureRandom.token()), expiresAt: request.now)
    let visit = try await rest.run(
      Visit.begin(
        visitor: Visitor(id: rest.identifier(request.now), name: name ?? ""),
        workspace: workspace.id,
        opening: Visit.Opening(id: rest.identifier(request.now), context: context), refresh: unused,
        now: request.now))
    guard let visit else { throw .internalError }
    _ = try await rest.run(
      VisitorProfile.update(
        visit.visitor.id, workspace: workspace.id, name: nil, email: email, attributes: nil))
    let outcome = await rest.sessions.append(
      session: visit.session.id, workspace: workspace.id, id: rest.identifier(request.now),
      role: .visitor, kind: .text, sender: visit.visitor.id,
      senderName: Array(visit.visitor.name.utf8), body: Array(body.utf8),
      payload: Array(#"{"offline":true}"#.utf8))
    guard case .stored = outcome.verdict else {
      throw outcome.verdict == .rejected ? Problem.rejected : Problem.unavailable
    }
    rest.sessions.changed(session: visit.session.id)
    return .json([UInt8].object { $0.appendMember("session", visit.session.id) }, status: 201)
  }

  /// Empty takes it away. Only what can be none is refused: the one who is asked knows it best.
  func emailAddress(_ object: JSONObject) throws(Problem) -> String? {
    guard let given = try object.string("email", bytesMax: APILimits.emailBytes) else { return nil }
    let email = String(given.trimmingBlanks)
    guard !email.isEmpty else { return "" }
    let halves = email.split(separator: "@", omittingEmptySubsequences: false)
    guard halves.count == 2, halves.allSatisfy({ !$0.isEmpty }),
      !email.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 })
    else { throw .wrongType("email", "an e-mail address") }
    return email
  }

  /// The attributes of a visitor as JSON: names with texts, numbers and truth values, a few of
  /// them; nil when none were given.
  func visitorAttributes(_ object: JSONObject) throws(Problem) -> [UInt8]? {
    guard let given = try object.object("attributes", bytesMax: APILimits.attributesBytes) else {
      return nil
    }
    guard let members = JSONValue(given)?.object else {
      throw .wrongType("attributes", "an object")
    }
    guard members.count <= VisitorProfile.attributesMax else {
      throw .invalid("A visitor has at most \(VisitorProfile.attributesMax) attributes.")
    }
    for (name, value) in members {
      guard !name.isEmpty, name.utf8.count <= APILimits.attributeNameBytes else {
        throw .invalid(
          "An attribute's name has 1 to \(APILimits.attributeNameBytes) bytes; “\(name)” has not.")
      }
      switch value {
      case .number, .bool: break
      case .string(let text) where text.utf8.count <= APILimits.attributeTextBytes: break
      default:
        throw .wrongType(
          "attributes.\(name)",
          "a text of at most \(APILimits.attributeTextBytes) bytes, a number, true or false")
      }
    }
    return given
  }
}

extension Problem {
  static let noOfflineForm = Problem.forbidden(
    "offline_disabled", "This workspace takes no messages by form; write in the chat instead.")
}
