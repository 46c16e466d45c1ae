/// The table of the REST API: which method and path means which handler, who may call it, and what
/// the OpenAPI document says about it. The lines stand in one file for each area
/// (`Routes+Conversations.swift`, …).
///
/// Who may call is decided here and in `API.admit`, nowhere else: a handler of `.member` runs only
/// for a member of at least that role, or for an API key with that scope.
import Directory
import Primitives

struct Route: Sendable {
  /// A part of a path: a fixed word, an id (`{id}`), or any text (`{name:text}`).
  enum Part: Sendable, Equatable {
    case word(String)
    case id(String)
    case text(String)
  }

  /// What answers, by who may call it. Made by the functions of the same names below, from a method
  /// of a group of routes.
  enum Handler: Sendable {
    /// Pages of foreign sites may call it: their Origin is echoed (Fetch §3.3), without
    /// credentials.
    case forWidgets(@Sendable (API, APIRequest) async throws(Problem) -> APIResponse)
    /// The same, for a visitor by bearer token.
    case forVisitors(@Sendable (API, VisitorCall) async throws(Problem) -> APIResponse)
    /// Anybody; the handler checks who it is.
    case forAnybody(@Sendable (API, APIRequest) async throws(Problem) -> APIResponse)
    /// Members of a workspace from this role on, and API keys with this scope; without a scope no
    /// key may call it.
    case forMembers(
      Membership, KeyScope?, @Sendable (API, Call) async throws(Problem) -> APIResponse)
  }

  var method: String
  /// As the OpenAPI document writes it: `/api/v1/admin/tags/{name}`.
  var path: String
  var parts: [Part]
  var handler: Handler
  /// What it does, in a few words.
  var summary: String
  var query: [QueryParameter]
  /// What a body holds; nil: it takes none.
  var body: Schema?
  var status: Int
  /// What a successful answer holds; nil: nothing (204), or what `type` says.
  var answer: Schema?
  var type: String
  /// Statuses of failure besides those that follow from what the route takes: see `failures`.
  var problems: Set<Int>
  /// Of an open route: what it needs is the console's cookie.
  var needsCookie: Bool
  /// Whether it takes `If-None-Match: *`.
  var allowsConditionalCreate: Bool
  /// What the texts in the path may be.
  var texts: Schema
  var shutsOut: ShutOut?

  init(
    _ method: String, _ pattern: String, _ handler: Handler, _ summary: String,
    query: [QueryParameter] = [], body: Schema? = nil, status: Int = 200,
    answer: Schema? = nil, type: String = "application/json", problems: Set<Int> = [],
    needsCookie: Bool = false, allowsConditionalCreate: Bool = false,
    texts: Schema = .string(1...200),
    shutsOut: ShutOut? = nil
  ) {
    self.method = method
    path = pattern.replacing(":text}", with: "}")
    parts = pattern.split(separator: "/").map { Part(String($0)) }
    self.handler = handler
    self.summary = summary
    self.query = query
    self.body = body
    self.status = status
    self.answer = answer
    self.type = type
    self.problems = problems
    self.needsCookie = needsCookie
    self.allowsConditionalCreate = allowsConditionalCreate
    self.texts = texts
    self.shutsOut = shutsOut
  }

  var isWrite: Bool { method != "GET" }

  /// Whether an `Idempotency-Key` makes it happen once.
  var isOnce: Bool {
    guard case .forMembers = handler else { return false }
    return isWrite
  }

  /// With which statuses it may fail. That the database is away (503) any route may meet.
  var failures: Set<Int> {
    var statuses = problems.union([503])
    if body != nil || !query.isEmpty || isOnce { statuses.insert(400) }
    if isWrite { statuses.insert(413) }
    if !query.isEmpty || parts.contains(where: \.isNamed) { statuses.insert(414) }
    if allowsConditionalCreate { statuses.insert(412) }
    if isOnce { statuses.formUnion([409, 422, 429]) }
    if body != nil { statuses.formUnion([415, 422]) }
    switch handler {
    case .forMembers, .forVisitors:
      statuses.formUnion([401, 403])
      // What no target may hold is refused before the route is looked for.
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

  /// What the parameters of the path are; nil when the path does not fit.
  func match(_ path: [Substring]) -> PathParameters? {
    guard path.count == parts.count else { return nil }
    var found = PathParameters()
    for (part, text) in zip(parts, path) {
      switch part {
      case .word(let word): guard word == text else { return nil }
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

/// What a path names.
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
    widgetRoutes + loginRoutes + conversationRoutes + queueRoutes + analyticsRoutes
    + workspaceRoutes + automationRoutes + visitorRoutes + webhookRoutes
    + [
      Route(
        "GET", "/api/v1/openapi.json", .open(DocumentRoutes.show), "This document", answer: .object)
    ]

  static let admin = "/api/v1/admin"
  static let conversations = "/api/v1/admin/live-chat/conversations"
}

/// Whether a path can name it: no target of a request holds the others, escaped or not.
func isPathName(_ text: String) -> Bool {
  text != "." && text != ".."
    && text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0 != "/" && $0 != "\\" && $0 != "\u{7F}"
    }
}
