/// Visitors who have a page of the site open now. Pages send beacons, operators read the list and
/// begin conversations with these visitors.
import Chat
import Conversations
import Directory
import JSON
import Postgres
import Primitives

struct WatchRoutes: RouteGroup {
  let api: API

  /// Takes a beacon of a page. The response has the time until the next one, and with `page` what
  /// the page needs to show proactive messages.
  func visit(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try api.widgetLimits.beacons.take(request.peer, request.now) }
    guard request.body.count <= BeaconLimits.bytes else { throw .bodyTooLarge }
    let object = try request.undeclaredJSONObject()
    guard let key = try object.string("workspace", bytesMax: APILimits.secretBytes) else {
      throw .missing("workspace")
    }
    guard let place = try await place(key, request) else { throw .noSuchWorkspace }
    let workspace = place.workspace.id
    try api.origins.check(request, for: place.workspace)
    try api.widgetLimits.beaconsOfWorkspace.take(workspace.description, request.now)
    let loaded = try await api.settings(of: workspace, now: request.now)
    let beacon = try object.beacon(of: workspace, request)
    let shown = try object.identifier("show")
    let wantsPage = try object.bool("page") ?? false
    guard loaded.settings.watching.isEnabled, !request.objectsToWatching else {
      return .json([UInt8].object { $0.appendMember("enabled", false) })
    }
    guard let answer = api.watched.note(beacon, now: request.now) else {
      throw .rateLimited(afterSeconds: 1, limit: "visitor")
    }
    let mayShow: Bool? =
      if let shown { try await show(shown, beacon.key, request) } else { nil }
    return .json(
      [UInt8].object { json in
        json.appendMember("enabled", true)
        json.appendMember("next_seconds", Int64(answer.heartbeatSeconds))
        if answer.needsVisit { json.appendMember("needs_visit", true) }
        if let mayShow { json.appendMember("may_show", mayShow) }
        if let invitation = answer.invitation {
          json.appendObject("invitation") {
            $0.appendMember("session", invitation.session)
            $0.appendMember("sender", invitation.senderName)
            $0.appendMember("body", invitation.body)
          }
        }
        guard wantsPage else { return }
        json.appendObject("page") {
          $0.appendMember("is_open", loaded.businessHours.isOpen(at: request.now))
          $0.appendMember("operators_available", place.isSomebodyAvailable)
          $0.appendMember("messages", json: place.messages)
        }
      })
  }

  /// Whether the browser may show a proactive message now; then it counts as shown.
  private func show(
    _ message: Identifier, _ key: WatchTable.Key, _ request: APIRequest
  ) async throws(Problem) -> Bool {
    try api.widgetLimits.showings.take(key.workspace.description, request.now)
    guard
      try await api.database.run(
        ProactiveMessages.show(message, to: key.watcher, in: key.workspace))
    else { return false }
    api.watched.count(message, of: key.workspace, isAnswer: false)
    return true
  }

  private func place(
    _ key: String, _ request: APIRequest
  ) async throws(Problem) -> WatchedVisitors.Place? {
    do throws(QueryFailure) {
      return try await api.watched.place(key, now: request.now)
    } catch {
      throw api.database.problem(for: error)
    }
  }

  // MARK: For operators

  private static let members: [(StaticString, RowShape.ColumnType)] = [
    ("id", .id), ("visitor_id", .optional(.id)), ("name", .text), ("state", .word(states)),
    ("page", .text), ("title", .text), ("page_at", .time), ("began_at", .time), ("pages", .int),
    ("visits", .int), ("referrer", .text), ("campaign", .text), ("country", .optional(.text)),
    ("language", .text), ("user_agent", .text), ("path", .text), ("source", .text),
    ("session", .optional(.id)), ("status", .optional(.word(["waiting", "active"]))),
    ("operator_id", .optional(.id)), ("operator_name", .text),
    ("waits_since", .optional(.time)),
  ]
  static let states = ["here", "away"]
  static let visitor = RowShape(members)
  static let visitorWithTrail = RowShape(
    members + [
      (
        "trail",
        .json(.array(of: .object(["page": .text, "title": .text, "at": .time])))
      )
    ])
  /// Visitors of one response.
  static let listMax = 500

  func listVisitors(_ call: Call) async throws(Problem) -> APIResponse {
    let rows = try await api.expensiveDatabase.rows(
      WatchedVisitor.list(
        of: call.workspace, try choice(call.request.query, now: call.request.now)))
    let settings = try await api.settings(of: call.workspace, now: call.request.now).settings
    let width = WatchRoutes.visitor.count
    // Without a visitor there is one row, of the counts.
    let shown = rows.isNull(0, 0) ? 0 : rows.count
    return .json(
      [UInt8].object { json in
        json.appendArray("visitors", 0..<shown) {
          WatchRoutes.visitor.append(rows, $0, to: &$1)
        }
        json.appendMember("total", rows.int(0, width) ?? 0)
        let onSite = rows.int(0, width + 1) ?? 0
        json.appendMember("on_site", onSite)
        json.appendMember("is_full", onSite >= Int64(WatchTable.Limits().fullWorkspace))
        json.appendMember("counts", json: rows.bytes(0, width + 2) ?? Array("{}".utf8))
        json.appendMember("enabled", settings.watching.isEnabled)
        json.appendMember("now", call.request.now)
      })
  }

  /// Parameters of the list; each filter is optional.
  static let listQuery: [QueryParameter] = [
    QueryParameter(name: "q", schema: .search(0)),
    QueryParameter(
      name: "state",
      schema: .word(WatchedVisitor.Choice.states).described(
        "Whose conversation waits, who is in one, who looks at a page, who has hidden all of them.")
    ),
    QueryParameter(
      name: "path",
      schema: .line(0...BeaconLimits.textBytes).described("The path of the page they look at.")),
    QueryParameter(
      name: "source",
      schema: .line(0...BeaconLimits.textBytes).described(
        "The campaign or the host of the referrer; empty: neither is known.")),
    QueryParameter(
      name: "country",
      schema: .line(0...BeaconLimits.countryBytes).described("Two letters; empty: not known.")),
    QueryParameter(
      name: "visit",
      schema: .word(WatchedVisitor.Choice.visits).described("The first visit, or a later one.")),
    QueryParameter(
      name: "seconds_min",
      schema: .int(0...BeaconLimits.secondsMax).described(
        "The seconds since the visit began, at least.")),
    QueryParameter(
      name: "sort",
      schema: .word(WatchedVisitor.Choice.sorts).described(
        "Those who wait first, then the longest on the site; the newest visit first; the longest "
          + "on the page first; the most pages first.")),
    .limit(listMax),
  ]

  private func choice(
    _ text: String, now: WallTime
  ) throws(Problem) -> WatchedVisitor.Choice {
    let query = try QueryString(text)
    let most = Int64(WatchRoutes.listMax)
    return WatchedVisitor.Choice(
      words: try query.search("q"),
      state: try query.word("state", of: WatchedVisitor.Choice.states),
      path: try query.exact("path", bytesMax: BeaconLimits.textBytes),
      source: try query.exact("source", bytesMax: BeaconLimits.textBytes),
      country: try query.exact("country", bytesMax: BeaconLimits.countryBytes),
      visit: try query.word("visit", of: WatchedVisitor.Choice.visits),
      beganBefore: try query.int("seconds_min", in: 0...BeaconLimits.secondsMax).map {
        now.advanced(bySeconds: -$0)
      },
      sort: try query.word("sort", of: WatchedVisitor.Choice.sorts),
      limit: Int(try query.int("limit", in: 1...most) ?? most))
  }

  func showVisitor(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.row(
      "visitor", WatchRoutes.visitorWithTrail,
      WatchedVisitor.find(call.id, of: call.workspace), orElse: .hasLeft)
  }

  /// Begins a conversation with a browser that has no connection: its next beacon is answered with
  /// the conversation. A visitor with an open one gets the message there, unless it is that of
  /// another operator: of two who begin at the same time, one is first.
  func startConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard let body = try object.string("body", bytesMax: Limits.bodyBytes), !body.isEmpty else {
      throw .missing("body")
    }
    let target = try await api.database.run(
      WatchedVisitor.target(call.id, of: call.workspace))
    guard let target else { throw .hasLeft }
    let session = try await session(with: target, call)
    let conversations = ConversationRoutes(api)
    _ = try await conversations.append(
      ConversationRoutes.NewMessage(id: call.newID(), kind: .text, body: body), to: session, call)
    let invitation = WatchedVisitor.Invitation(
      session: session, senderName: call.caller.name,
      body: cut(body, bytesMax: BeaconLimits.textBytes))
    try await api.database.run(
      WatchedVisitor.invite(call.id, to: invitation, in: call.workspace))
    api.watched.invite(
      WatchTable.Key(workspace: call.workspace, watcher: call.id), to: invitation)
    api.sessions.changed(session: session, of: call.workspace)
    return try await conversations.show(session, call, status: 201)
  }

  private func session(
    with target: WatchedVisitor.Target, _ call: Call
  ) async throws(Problem) -> Identifier {
    if let open = target.session {
      guard let operatorID = target.operatorID, operatorID != call.caller.id else { return open }
      throw .visitorIsTaken(by: (operatorID, target.operatorName))
    }
    let session = call.newID()
    let visitor = target.visitor ?? call.newID()
    if target.visitor == nil {
      try await beginVisit(visitor, session, target, call)
      return session
    }
    switch try await api.database.run(
      ConversationOpening.open(
        session, title: "", with: ConversationOpening.Person(id: visitor),
        newVisitor: call.newID(), openMax: api.options.conversationsPerVisitor, by: call.actor))
    {
    case .opened, .existed: return session
    case .noSuchVisitor: throw .hasLeft
    case .banned: throw .banned
    case .full: throw .visitorIsFull(api.options.conversationsPerVisitor)
    case .conflict: throw .conversationExists
    }
  }

  /// A browser that has never opened the chat: a new visitor, whose first refresh token is the
  /// secret that the browser has already.
  private func beginVisit(
    _ visitor: Identifier, _ session: Identifier, _ target: WatchedVisitor.Target, _ call: Call
  ) async throws(Problem) {
    let now = call.request.now
    let visit: Visit?
    do throws(QueryFailure) {
      visit = try await api.database.attempt(
        Visit.begin(
          visitor: Visitor(id: visitor, name: ""), workspace: call.workspace,
          opening: Visit.Opening(id: session, context: target.context),
          refresh: Visit.Refresh(
            hash: target.secretHash, expiresAt: now.advanced(bySeconds: api.options.refreshSeconds)
          ), now: now))
    } catch {
      // Another operator was first, or the visitor opened the chat in this moment.
      guard case .refused(let state, _) = error, state.errorClass == "23" else {
        throw api.database.problem(for: error)
      }
      throw .visitorIsTaken
    }
    guard visit != nil else { throw .internalError }
    try await api.database.run(
      WatchedVisitor.link(call.id, to: visitor, in: call.workspace))
    try await api.database.run(AuditLog.noteConversation(session, by: call.actor))
  }
}

extension QueryString {
  /// One of these words; nil if it is missing.
  fileprivate func word(_ name: String, of words: [String]) throws(Problem) -> String? {
    guard let text = formatted(name) else { return nil }
    guard words.contains(text) else {
      throw .invalidParameter(name, words.joined(separator: ", "))
    }
    return text
  }

  /// A text that visitors have, also the empty one; nil if it is missing.
  fileprivate func exact(_ name: String, bytesMax: Int) throws(Problem) -> String? {
    let text = formatted(name)
    guard (text?.utf8.count ?? 0) <= bytesMax else {
      throw .invalidParameter(name, "a text of at most \(bytesMax) bytes")
    }
    return text
  }
}

extension Problem {
  static let hasLeft = Problem(
    status: 404, type: "visitor_has_left", title: "The visitor has left",
    detail: "This visitor is no longer on the site. Choose another one from the list.")

  static let visitorIsTaken = Problem(
    status: 409, type: "visitor_is_taken", title: "Another conversation has begun",
    detail: "A conversation with this visitor began in this moment. Read the list again.")

  static func visitorIsTaken(by winner: (id: Identifier, name: String)) -> Problem {
    Problem(
      status: 409, type: "visitor_is_taken", title: "Another operator was first",
      detail: "\(winner.name) is in a conversation with this visitor. Your message was not sent.",
      winner: winner)
  }
}
