/// A token for the widget's visitor: a new visitor, one who returns with a refresh secret, or one
/// whose identity the host site has signed.
import Conversations
import Directory
import JSON
import Kernel
import OpenSSL
import Postgres
import Primitives
import Tokens

struct WidgetRoutes: RouteGroup {
  let api: API

  /// The workspace with this public key, and the page's origin if it sent one.
  func workspace(
    _ key: String, _ request: APIRequest
  ) async throws(Problem) -> (workspace: Workspace, origin: String?) {
    guard let workspace = try await api.database.run(Workspace.withPublicKey(key)) else {
      throw .noSuchWorkspace
    }
    return (workspace, try api.origins.check(request, for: workspace))
  }

  func widgetToken(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try api.widgetLimits.tokens.take(request.peer, request.now) }
    let object = try request.undeclaredJSONObject()
    guard let key = try object.string("workspace", bytesMax: APILimits.secretBytes) else {
      throw .missing("workspace")
    }
    let refresh = try object.string("refresh", bytesMax: APILimits.secretBytes)
    let wanted = try object.identifier("session")
    let proactive = try object.identifier("proactive")
    let watcher = try object.watcherSecret("watcher")
    // A reply to a proactive message begins a conversation whose first entry is that message.
    let isNewWanted = try object.bool("new_session") ?? false || proactive != nil
    let opening = Visit.Opening(
      id: .random(at: request.now), context: try visitorContext(object, request),
      openMax: api.options.conversationsPerVisitor)
    let attributes = try object.visitorAttributes()
    let team = try object.string("team", bytesMax: APILimits.tagBytes)
    let (workspace, origin) = try await self.workspace(key, request)
    let identity = try await signedIdentity(object, of: workspace.id, now: request.now)

    var secret = SecureRandom.token()
    var visit: Visit?
    if let refresh {
      let resumption = try await api.database.run(
        Visit.resume(
          presented: secretHash(refresh), workspace: workspace.id, wanted: wanted,
          isNewWanted: isNewWanted, opening: opening, refresh: next(secret, request),
          now: request.now))
      visit = try resumedVisit(resumption)
    }
    let resumed = visit
    if let identity {
      visit = try await adopt(identity, visit, workspace.id)
      if visit == nil {
        // A new secret: the first one may belong to the device's former visitor.
        secret = SecureRandom.token()
        visit = try resumedVisit(
          try await api.database.run(
            Visit.identified(
              identity, visitor: .random(at: request.now), workspace: workspace.id,
              isNewWanted: isNewWanted,
              opening: Visit.Opening(
                id: .random(at: request.now), context: opening.context, openMax: opening.openMax),
              refresh: next(secret, request), family: .random(at: request.now), now: request.now)))
      }
    } else if visit == nil {
      try api.widgetLimits.newVisitors.take(workspace.id.description, request.now)
      visit = try await api.database.run(
        Visit.begin(
          visitor: Visitor(id: .random(at: request.now), name: ""), workspace: workspace.id,
          opening: opening, refresh: next(secret, request), now: request.now))
    }
    guard let visit else { throw .internalError }
    if let attributes {
      _ = try await api.database.run(
        VisitorProfile.update(
          visit.visitor.id, workspace: workspace.id, name: nil, email: nil,
          attributes: attributes))
    }
    if visit.session.status == "waiting" {
      let rule = try await rule(for: opening.context, of: workspace.id, now: request.now)
      try await choose(rule, for: [visit.session.id], isRule: true, in: workspace.id)
    }
    try await choose(team, for: [visit.session.id], in: workspace.id)
    try await note(visit, watcher, proactive, workspace.id)
    if visit.isNews || attributes != nil { api.sessions.changed(session: visit.session.id) }
    let isFresh = refresh != nil && visit.visitor.id != resumed?.visitor.id
    return try visitorToken(
      visit, workspace: workspace.id, origin: origin, refresh: secret, isFresh: isFresh, request)
  }

  /// Gives conversations that have no message yet to the team that the page or the visitor chose.
  func choose(
    _ team: String?, for sessions: [Identifier], isRule: Bool = false, in workspace: Identifier
  ) async throws(Problem) {
    guard let team else { return }
    let changed = try await api.database.run(
      Teams.choose(team, for: sessions, isRule: isRule, in: workspace))
    for session in changed { api.sessions.changed(session: session) }
  }

  /// The team that the workspace's rules have for a visitor on this page.
  private func rule(
    for context: [UInt8], of workspace: Identifier, now: WallTime
  ) async throws(Problem) -> String? {
    let routing = try await api.settings(of: workspace, now: now).settings.routing
    guard !routing.rules.isEmpty, let context = JSONValue(context) else { return nil }
    let locale = context["locale"]?.string ?? ""
    let teams = routing.teams(page: context["page"]?.string ?? "", locale: locale)
    // The rules by language differ in their pages only: one question answers all of them.
    var speaking: Identifier??
    for team in teams {
      guard team == WorkspaceSettings.Routing.Rule.byLanguage else { return team }
      if speaking == nil {
        speaking = .some(try await api.database.run(Teams.speaking(locale, in: workspace)))
      }
      if let speaking, let id = speaking { return id.description }
    }
    return nil
  }

  /// Links the visitor to the browser that is on the site, and writes the proactive message to
  /// which the visitor replies.
  private func note(
    _ visit: Visit, _ watcher: String?, _ proactive: Identifier?, _ workspace: Identifier
  ) async throws(Problem) {
    if let watcher {
      try await api.database.run(
        WatchedVisitor.link(
          Identifier(watcherWithHash: secretHash(watcher)), to: visit.visitor.id, in: workspace))
    }
    if let proactive {
      try await ProactiveRoutes(api).append(proactive, to: visit.session.id, of: workspace)
    }
  }

  private func next(_ secret: String, _ request: APIRequest) -> Visit.Refresh {
    Visit.Refresh(
      hash: secretHash(secret),
      expiresAt: request.now.advanced(bySeconds: api.options.refreshSeconds))
  }

  private func resumedVisit(_ resumption: Resumption) throws(Problem) -> Visit? {
    switch resumption {
    case .resumed(let visit): visit
    case .banned: throw .banned
    case .full: throw .tooManyConversations(api.options.conversationsPerVisitor)
    case .refused: nil
    }
  }

  /// The identity that the host site has signed; nil if the body has none. An invalid one is
  /// refused: as a new visitor, the visitor would lose the conversation unnoticed.
  private func signedIdentity(
    _ object: JSONObject, of workspace: Identifier, now: WallTime
  ) async throws(Problem) -> SignedIdentity? {
    guard let token = try object.string("identity", bytesMax: TokenAuthority.tokenBytesMax) else {
      return nil
    }
    let stored = try await api.database.run(IdentitySecrets.accepted(in: workspace))
    let opened = stored.map { ($0.id, $0.open(by: api.options.secrets, in: workspace)) }
    api.unreadableSecrets.note(opened.filter { $0.1 == nil }.map(\.0), of: workspace)
    let secrets = opened.compactMap(\.1)
    do throws(TokenFault) {
      let identity = try VisitorIdentity(token: Array(token.utf8), secrets: secrets, now: now)
      return SignedIdentity(
        externalID: identity.externalID, name: identity.name, email: identity.email)
    } catch {
      throw .badIdentity(isExpired: error == .expired)
    }
  }

  /// Gives the signed identity to the visitor who has returned; nil if the identity is that of
  /// another visitor, for example on a shared computer.
  private func adopt(
    _ identity: SignedIdentity, _ visit: Visit?, _ workspace: Identifier
  ) async throws(Problem) -> Visit? {
    guard var visit else { return nil }
    let profile: VisitorProfile?
    do throws(QueryFailure) {
      profile = try await api.database.attempt(
        VisitorProfile.adopt(visit.visitor.id, identity, workspace: workspace))
    } catch {
      // A simultaneous request has given the identity to another visitor.
      guard case .refused(let state, _) = error, state.errorClass == "23" else {
        throw api.database.problem(for: error)
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
    let (token, expiresAt) = try api.authenticator.issueToken(
      .visitor(
        id: visit.visitor.id, workspace: workspace, sessions: [visit.session.id],
        name: visit.visitor.name), TokenBinding(origin: origin),
      seconds: api.options.visitorTokenSeconds, now: request.now)
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
        // The refresh secret was not valid: the widget deletes what it stored for its visitor.
        if isFresh { json.appendMember("fresh", true) }
      })
  }

  /// The context of a visit that operators see: known texts only, each cut to its limit. A page's
  /// address may have any length, and a script may cut a title within a character. Texts that
  /// cannot be stored are omitted rather than refused.
  /// With the country, as for visitors of a site that watches them.
  func visitorContext(
    _ object: JSONObject, _ request: APIRequest
  ) throws(Problem) -> [UInt8] {
    guard let context = try object.nested("context") else { return Array("{}".utf8) }
    return .object { json in
      for name in WidgetRoutes.contextNames {
        let text = try? context.string(String(describing: name), bytesMax: APILimits.bodyBytes)
        if let text { json.appendMember(name, cut(text, bytesMax: APILimits.contextTextBytes)) }
      }
      let language = request.header("Accept-Language") ?? ""
      if let country = request.country ?? BeaconVisit.region(language) {
        json.appendMember("country", country)
      }
    }
  }

  private static let contextNames: [StaticString] = [
    "page", "referrer", "title", "locale", "timezone", "user_agent", "screen",
  ]
}

extension Problem {
  static let noSuchWorkspace = Problem(
    status: 404, type: "no_such_workspace", title: "No such workspace",
    detail: "No workspace has this public key. Copy the snippet from the console again.")

  /// For the host site's developer, who reads it in the browser's console.
  static func badIdentity(isExpired: Bool) -> Problem {
    .forbidden(
      "bad_identity",
      isExpired
        ? "The signed identity has expired. Sign a new one for this visitor."
        : "The identity is not a valid JWT: it must be signed with HS256 and the workspace's "
          + "identity secrets, and have the claims “sub” and “exp”.")
  }

  static func tooManyConversations(_ countMax: Int64) -> Problem {
    Problem(
      status: 429, type: "too_many_conversations", title: "Too many conversations",
      detail: "You have \(countMax) open conversations, the most a visitor may have. Continue one "
        + "of them.", limit: "conversations"
    ).retry(afterSeconds: 3_600)
  }

  static let banned = Problem.forbidden(
    "banned", "The workspace has blocked this visitor.")
}
