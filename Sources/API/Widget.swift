/// What the widget asks for on a customer's page: how it should look, and a token for its visitor.
import Directory
import OpenSSL
import Primitives
import Synchronization
import Tokens

extension API {
  func widgetConfig(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try takeRate(widgetConfigs, request.peer, request.now) }
    guard let key = try QueryString(request.query)["workspace"] else {
      throw .invalid("The parameter “workspace” is missing; give the workspace's public key.")
    }
    let (workspace, _) = try await self.workspace(key, request)
    let settings = (try? JSONObject(workspace.settings)) ?? JSONObject()
    let accent = try? settings.string("accent", bytesMax: 7)
    let locale = try? settings.string("locale", bytesMax: 35)
    let name = try? settings.string("name", bytesMax: APILimits.nameBytes)
    return .json(
      [UInt8].object { json in
        json.appendObject("workspace") { $0.appendMember("name", name ?? workspace.name) }
        json.appendMember("greeting", json: greeting(settings))
        if let accent, isColour(accent) {
          json.appendMember("accent", accent)
        } else {
          json.appendMember("accent", json: "null")
        }
        json.appendMember("locale", locale ?? "en")
      })
  }

  private func greeting(_ settings: JSONObject) -> [UInt8] {
    guard let greeting = try? settings.nested("greeting") else { return Array("null".utf8) }
    return .object { json in
      json.appendMember("title", (try? greeting.string("title", bytesMax: 1_024)) ?? "")
      json.appendMember("text", (try? greeting.string("text", bytesMax: 4_096)) ?? "")
    }
  }

  /// `#rrggbb`.
  private func isColour(_ text: String) -> Bool {
    text.utf8.count == 7 && text.utf8.first == UInt8(ascii: "#")
      && text.utf8.dropFirst().allSatisfy { hexadecimalValue($0) != nil }
  }

  private func workspace(
    _ key: String, _ request: APIRequest
  ) async throws(Problem) -> (workspace: Workspace, origin: String?) {
    guard let workspace = try await run(Workspace.withPublicKey(key)) else {
      throw .noSuchWorkspace
    }
    return (workspace, try checkOrigin(request, of: workspace))
  }

  func widgetToken(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try takeRate(widgetTokens, request.peer, request.now) }
    let object = try object(request)
    guard let key = try object.string("workspace", bytesMax: APILimits.secretBytes) else {
      throw .missing("workspace")
    }
    let refresh = try object.string("refresh", bytesMax: APILimits.secretBytes)
    let wanted = try object.identifier("session")
    let isNewWanted = try object.bool("new_session") ?? false
    let opening = Visit.Opening(
      id: identifier(request.now), context: try visitorContext(object))
    let (workspace, origin) = try await self.workspace(key, request)

    let secret = SecureRandom.token()
    let next = Visit.Refresh(
      hash: hash(secret), expiresAt: after(options.refreshSeconds, request.now))
    var visit: Visit?
    if let refresh {
      let resumption = try await run(
        Visit.resume(
          presented: hash(refresh), workspace: workspace.id, wanted: wanted,
          isNewWanted: isNewWanted, opening: opening, refresh: next, now: request.now))
      switch resumption {
      case .resumed(let resumed): visit = resumed
      case .banned: throw .banned
      case .refused: break
      }
    }
    let isFresh = refresh != nil && visit == nil
    if visit == nil {
      visit = try await run(
        Visit.begin(
          visitor: Visitor(id: identifier(request.now), name: ""), workspace: workspace.id,
          opening: opening, refresh: next, now: request.now))
    }
    guard let visit else { throw .internalError }
    if visit.isNews { sessions.changed(session: visit.session.id) }
    return try visitorToken(
      visit, workspace: workspace.id, origin: origin, refresh: secret, isFresh: isFresh, request)
  }

  private func visitorToken(
    _ visit: Visit, workspace: Identifier, origin: String?, refresh: String, isFresh: Bool,
    _ request: APIRequest
  ) throws(Problem) -> APIResponse {
    let (token, expiresAt) = try issue(
      .visitor(
        id: visit.visitor.id, workspace: workspace, sessions: [visit.session.id],
        name: visit.visitor.name), TokenBinding(origin: origin),
      seconds: options.visitorTokenSeconds, now: request.now)
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
  private func visitorContext(_ object: JSONObject) throws(Problem) -> [UInt8] {
    guard let given = try object.nested("context") else { return Array("{}".utf8) }
    return .object { json in
      for name in API.contextNames {
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
  static let banned = Problem.forbidden("banned", "This visitor may not write here any more.")
}
