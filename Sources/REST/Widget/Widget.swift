/// A token for the widget's visitor: a stranger, one who comes back with a refresh secret, or one
/// whom the host site has signed.
import Conversations
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives
import Synchronization
import Tokens

struct WidgetRoutes: RouteGroup {
  let rest: API

  func workspace(
    _ key: String, _ request: APIRequest
  ) async throws(Problem) -> (workspace: Workspace, origin: String?) {
    guard let workspace = try await rest.run(Workspace.withPublicKey(key)) else {
      throw .noSuchWorkspace
    }
    return (workspace, try rest.checkOrigin(request, of: workspace))
  }

  func widgetToken(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try rest.takeRate(rest.widgetTokens, request.peer, request.now) }
    let object = try rest.object(request)
    guard let key = try object.string("workspace", bytesMax: APILimits.secretBytes) else {
      throw .missing("workspace")
    }
    let refresh = try object.string("refresh", bytesMax: APILimits.secretBytes)
    let wanted = try object.identifier("session")
    let isNewWanted = try object.bool("new_session") ?? false
    let opening = Visit.Opening(
      id: rest.identifier(request.now), context: try visitorContext(object))
    let attributes = try visitorAttributes(object)
    let (workspace, origin) = try await self.workspace(key, request)
    let identity = try await signedIdentity(object, of: workspace.id, now: request.now)

    var secret = SecureRandom.token()
    var visit: Visit?
    if let refresh {
      let resumption = try await rest.run(
        Visit.resume(
          presented: rest.hash(refresh), workspace: workspace.id, wanted: wanted,
          isNewWanted: isNewWanted, opening: opening, refresh: next(secret, request),
          now: request.now))
      visit = try visiting(resumption)
    }
    let resumed = visit
    if let identity {
      visit = try await adopt(identity, visit, workspace.id)
      if visit == nil {
        // Another secret: the first may belong to the visitor who was here before.
        secret = SecureRandom.token()
        visit = try visiting(
          try await rest.run(
            Visit.identified(
              identity, visitor: rest.identifier(request.now), workspace: workspace.id,
              isNewWanted: isNewWanted,
              opening: Visit.Opening(id: rest.identifier(request.now), context: opening.context),
              refresh: next(secret, request), family: rest.identifier(request.now), now: request.now
            )))
      }
    } else if visit == nil {
      visit = try await rest.run(
        Visit.begin(
          visitor: Visitor(id: rest.identifier(request.now), name: ""), workspace: workspace.id,
          opening: opening, refresh: next(secret, request), now: request.now))
    }
    guard let visit else { throw .internalError }
    if let attributes {
      _ = try await rest.run(
        VisitorProfile.update(
          visit.visitor.id, workspace: workspace.id, name: nil, email: nil,
          attributes: attributes))
    }
    if visit.isNews || attributes != nil { rest.sessions.changed(session: visit.session.id) }
    let isFresh = refresh != nil && visit.visitor.id != resumed?.visitor.id
    return try visitorToken(
      visit, workspace: workspace.id, origin: origin, refresh: secret, isFresh: isFresh, request)
  }

  private func next(_ secret: String, _ request: APIRequest) -> Visit.Refresh {
    Visit.Refresh(
      hash: rest.hash(secret), expiresAt: rest.after(rest.options.refreshSeconds, request.now))
  }

  private func visiting(_ resumption: Resumption) throws(Problem) -> Visit? {
    switch resumption {
    case .resumed(let visit): visit
    case .banned: throw .banned
    case .refused: nil
    }
  }

  /// What the host site says by its signature; nil when it says nothing. What is not signed right
  /// is refused, never taken for a stranger: the visitor would lose the conversation unnoticed.
  private func signedIdentity(
    _ object: JSONObject, of workspace: Identifier, now: WallTime
  ) async throws(Problem) -> SignedIdentity? {
    guard let token = try object.string("identity", bytesMax: TokenAuthority.tokenBytesMax) else {
      return nil
    }
    let secret = try await rest.run(Workspace.identitySecret(workspace)) ?? ""
    do throws(TokenFault) {
      let identity = try VisitorIdentity(
        token: Array(token.utf8), secret: Array(secret.utf8), now: now)
      return SignedIdentity(
        externalID: identity.externalID, name: identity.name, email: identity.email)
    } catch {
      throw .badIdentity(isExpired: error == .expired)
    }
  }

  /// The visit of the visitor who came back, now by the name that the host site has signed; nil
  /// when that is somebody else, as on a computer that two people use.
  private func adopt(
    _ identity: SignedIdentity, _ visit: Visit?, _ workspace: Identifier
  ) async throws(Problem) -> Visit? {
    guard var visit else { return nil }
    let profile: VisitorProfile?
    do throws(QueryFailure) {
      profile = try await rest.database.run(
        VisitorProfile.adopt(visit.visitor.id, identity, workspace: workspace))
    } catch {
      // Another request has made somebody this one in the same moment.
      guard case .refused(let state, _) = error, state.errorClass == "23" else {
        throw rest.problem(for: error)
      }
      return nil
    }
    guard let profile else { return nil }
    visit.isNews = visit.isNews || visit.visitor.name != profile.name
    visit.visitor.name = profile.name
    return visit
  }

  private func visitorToken(
    _ visit: Visit, workspace: Identifier, origin: String?, refresh: String, isFresh: Bool,
    _ request: APIRequest
  ) throws(Problem) -> APIResponse {
    let (token, expiresAt) = try rest.issue(
      .visitor(
        id: visit.visitor.id, workspace: workspace, sessions: [visit.session.id],
        name: visit.visitor.name), TokenBinding(origin: origin),
      seconds: rest.options.visitorTokenSeconds, now: request.now)
    return .json(
      [UInt8].object { json in
        json.appendMember("token", token)
        json.appendMember("refresh", refresh)
        json.appendMember("session", visit.session.id)
        json.appendObject("visitor") {
          $0.appendMember("id", visit.visitor.id)
          $0.appendMember("name", visit.visitor.name)
        }
        json.appendMember("expires_at", expiresAt)
        json.appendMember("status", visit.session.status)
        // The refresh secret was of no use: the widget forgets what it kept of the former visitor.
        if isFresh { json.appendMember("fresh", true) }
      })
  }

  /// What operators see about where a visitor comes from: known texts only, each cut to its bound.
  /// A page's address may be of any length, and a script that cuts a title may leave half a
  /// character: such a text is left out, since it is no reason to refuse a visitor.
  func visitorContext(_ object: JSONObject) throws(Problem) -> [UInt8] {
    guard let given = try object.nested("context") else { return Array("{}".utf8) }
    return .object { json in
      for name in WidgetRoutes.contextNames {
        let text = try? given.string(String(describing: name), bytesMax: APILimits.bodyBytes)
        if let text { json.appendMember(name, cut(text, bytesMax: APILimits.contextTextBytes)) }
      }
    }
  }

  private static let contextNames: [StaticString] = [
    "page", "referrer", "title", "locale", "timezone", "user_agent", "screen",
  ]
}

/// The beginning of a text that has at most `bytesMax` bytes, cut between characters.
func cut(_ text: String, bytesMax: Int) -> String {
  guard text.utf8.count > bytesMax else { return text }
  var bytes = Array(text.utf8.prefix(bytesMax + 1))
  // The first byte that is left out must begin a character.
  while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
  bytes.removeLast()
  return String(decoding: bytes, as: UTF8.self)
}

extension Problem {
  static let noSuchWorkspace = Problem(
    status: 404, type: "no_such_workspace", title: "No such workspace",
    detail: "No workspace has this public key; copy the snippet from the console again.")
  /// Why is the host site's developer to know, who reads the console: a visitor cannot mend it.
  static func badIdentity(isExpired: Bool) -> Problem {
    .forbidden(
      "bad_identity",
      isExpired
        ? "The identity has expired; sign a new one for this visitor."
        : "The identity is no JWT of HS256 with “sub” and “exp” under this workspace's secret.")
  }
  static let banned = Problem.forbidden("banned", "This visitor may not write here any more.")
}
