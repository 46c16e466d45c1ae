/// The table of routes: method, path, handler, required role or scope, and the content of the
/// OpenAPI document. Each area has a file of its own (`Routes+Conversations.swift`, …).
///
/// The table and `Caller.checkAccess` alone decide who may use a route: a handler of `.member` runs
/// only for a member of at least that role, or for an API key with that scope.
import Directory
import Primitives

struct Route: Sendable {
  /// A segment of a path: a fixed word, an id (`{id}`), or any text (`{name:text}`).
  enum Part: Sendable, Equatable {
    case word(String)
    case id(String)
    case text(String)
  }

  typealias MemberHandler = @Sendable (API, Call) async throws(Problem) -> APIResponse

  /// The handler, by who may use it. `widget`, `visitor`, `open` and `member` (RouteGroup.swift)
  /// create it from a method of a group.
  enum Handler: Sendable {
    /// Pages of other websites may use it: their Origin is echoed (Fetch §3.3), without
    /// credentials.
    case forWidgets(@Sendable (API, APIRequest) async throws(Problem) -> APIResponse)
    /// The same for a visitor with a bearer token.
    case forVisitors(@Sendable (API, VisitorCall) async throws(Problem) -> APIResponse)
    /// No caller is required; the handler checks the request.
    case forAnybody(@Sendable (API, APIRequest) async throws(Problem) -> APIResponse)
    /// Members with at least this role, and API keys with this scope; nil: no API key.
    case forMembers(Membership, KeyScope?, MemberHandler)
  }

  var method: String
  /// As in the OpenAPI document: `/api/v1/admin/tags/{name}`.
  var path: String
  var parts: [Part]
  var handler: Handler
  /// The summary in the OpenAPI document: an imperative without a full stop.
  var summary: String
  var query: [QueryParameter]
  /// The request's body; nil: none.
  var body: Schema?
  /// The status of success.
  var status: Int
  /// The body of a successful response; nil: none (204), or text of the media type `type`.
  var response: Schema?
  var type: String
  /// Error statuses besides those that `errorStatuses` derives.
  var problems: Set<Int>
  /// Whether an open route requires the console's cookie.
  var needsCookie: Bool
  /// Whether it supports `If-None-Match: *`.
  var allowsConditionalCreate: Bool
  /// Whether its statements read much: they use `API.expensiveDatabase`, and few such requests of
  /// one workspace run at once.
  var isExpensive: Bool
  /// The schema of the texts in the path.
  var texts: Schema
  /// The media type of the body.
  var bodyType: String
  /// Whether its requests are parts of uploads, which have a limit of their own.
  var isPart: Bool
  /// The person whose access it revokes.
  var disconnects: Disconnection?
  /// The line of the log after success, if it changes access; as the action in the audit log.
  var event: String?

  init(
    _ method: String, _ pattern: String, _ handler: Handler, _ summary: String,
    query: [QueryParameter] = [], body: Schema? = nil, status: Int = 200,
    response: Schema? = nil, type: String = "application/json", problems: Set<Int> = [],
    needsCookie: Bool = false, allowsConditionalCreate: Bool = false, isExpensive: Bool = false,
    bodyType: String = "application/json", texts: Schema = .string(1...200), isPart: Bool = false,
    disconnects: Disconnection? = nil, event: String? = nil
  ) {
    self.method = method
    path = pattern.replacing(":text}", with: "}")
    parts = pattern.split(separator: "/").map { Part(String($0)) }
    self.handler = handler
    self.summary = summary
    self.query = query
    self.body = body
    self.status = status
    self.response = response
    self.type = type
    self.problems = problems
    self.needsCookie = needsCookie
    self.allowsConditionalCreate = allowsConditionalCreate
    self.isExpensive = isExpensive
    self.bodyType = bodyType
    self.texts = texts
    self.isPart = isPart
    self.disconnects = disconnects
    self.event = event
  }

  var isWrite: Bool { method != "GET" }

  /// Whether it returns pages of a list to members, and no notes: those of a search are none.
  var isList: Bool {
    guard case .forMembers = handler, !isWrite, response != nil else { return false }
    return query.contains { $0.name == QueryParameter.cursor.name }
      && !query.contains { $0.name == "q" && $0.isRequired }
  }

  /// The media type of responses whose events are sent as they come.
  static let eventStream = "text/event-stream"

  /// Whether it supports `Idempotency-Key`: a stream is not stored.
  var isIdempotent: Bool {
    guard case .forMembers = handler else { return false }
    return isWrite && type != Route.eventStream && !isPart
  }

  /// The statuses of its error responses. Any route may respond 503 (the database is unavailable).
  var errorStatuses: Set<Int> {
    var statuses = problems.union([503])
    if body != nil || !query.isEmpty || isIdempotent { statuses.insert(400) }
    if isWrite { statuses.insert(413) }
    if !query.isEmpty || parts.contains(where: \.isNamed) { statuses.insert(414) }
    if allowsConditionalCreate { statuses.insert(412) }
    if isIdempotent { statuses.formUnion([409, 422]) }
    if body != nil { statuses.formUnion([415, 422]) }
    switch handler {
    case .forMembers, .forVisitors:
      statuses.formUnion([401, 403, 429])
      // A target with forbidden characters is refused before the route is found.
      if parts.contains(where: \.isNamed) { statuses.formUnion([400, 404]) }
    case .forWidgets: statuses.formUnion([403, 404, 429])
    case .forAnybody: break
    }
    return statuses
  }

  var isWidget: Bool {
    switch handler {
    case .forWidgets, .forVisitors: true
    case .forAnybody, .forMembers: false
    }
  }

  /// The parameters of a path; nil if the path does not match.
  static func match(_ path: [Substring], _ parts: [Part]) -> PathParameters? {
    guard path.count == parts.count else { return nil }
    // Most routes differ in a word; the last ones differ most.
    for at in parts.indices.reversed() {
      if case .word(let word) = parts[at], word != path[at] { return nil }
    }
    var found = PathParameters()
    for at in parts.indices {
      let text = path[at]
      switch parts[at] {
      case .word: break
      case .id(let name):
        guard let id = Identifier(String(text)) else { return nil }
        found.ids[name] = id
      case .text(let name):
        guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
        found.texts[name] = String(text)
      }
    }
    return found
  }
}

extension Route.Part {
  fileprivate var isNamed: Bool {
    if case .word = self { return false }
    return true
  }

  fileprivate init(_ text: String) {
    guard text.hasPrefix("{"), text.hasSuffix("}") else {
      self = .word(text)
      return
    }
    let name = String(text.dropFirst().dropLast())
    self = name.hasSuffix(":text") ? .text(String(name.dropLast(5))) : .id(name)
  }
}

/// The ids and texts in a path, by the names in the route's pattern.
struct PathParameters: Sendable, Equatable {
  var ids: [String: Identifier] = [:]
  var texts: [String: String] = [:]

  func id(_ name: String) -> Identifier {
    guard let id = ids[name] else { preconditionFailure("the route's path has no {\(name)}") }
    return id
  }

  func text(_ name: String) -> String {
    guard let text = texts[name] else {
      preconditionFailure("the route's path has no {\(name):text}")
    }
    return text
  }
}

extension API {
  static let routes: [Route] =
    widgetRoutes + loginRoutes + pushRoutes + conversationRoutes + queueRoutes + actionRoutes
    + analyticsRoutes
    + workspaceRoutes + teamRoutes + connectionRoutes + traceRoutes + automationRoutes
    + visitorRoutes + watchingRoutes + webhookRoutes + assistRoutes + attachmentRoutes
    + mailRoutes + channelRoutes + [
      Route(
        "GET", "/api/v1/openapi.json", .open(DocumentRoutes.show), "Get this document",
        response: .object)
    ]

  static let admin = "/api/v1/admin"
  static let conversations = "/api/v1/admin/live-chat/conversations"
}
