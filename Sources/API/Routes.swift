import Directory
import Primitives

/// The table of the REST API: which method and path means which handler, and who may call it.
struct Route: Sendable {
  /// A part of a path: a fixed word, or the id of a conversation.
  enum Part: Sendable, Equatable {
    case word(String)
    case session
  }

  enum Handler: Sendable {
    /// Pages of foreign sites may call it: their Origin is echoed (Fetch §3.3), without
    /// credentials.
    case widget(@Sendable (API) -> (APIRequest) async throws(Problem) -> APIResponse)
    /// Anybody; the handler checks who it is.
    case open(@Sendable (API) -> (APIRequest) async throws(Problem) -> APIResponse)
    /// Members of a workspace.
    case member(@Sendable (API) -> (MemberCall) async throws(Problem) -> APIResponse)
  }

  var method: String
  var parts: [Part]
  var handler: Handler

  var isWidget: Bool {
    if case .widget = handler { return true }
    return false
  }

  init(_ method: String, _ pattern: String, _ handler: Handler) {
    self.method = method
    parts = pattern.split(separator: "/").map { $0 == "{id}" ? .session : .word(String($0)) }
    self.handler = handler
  }

  /// The id in the path if it has one, `.some(nil)` if it fits without, nil if it does not fit.
  func match(_ path: [Substring]) -> Identifier?? {
    guard path.count == parts.count else { return nil }
    var session: Identifier?
    for (part, text) in zip(parts, path) {
      switch part {
      case .word(let word): guard word == text else { return nil }
      case .session:
        guard let id = Identifier(String(text)) else { return nil }
        session = id
      }
    }
    return .some(session)
  }
}

/// A request of a member, with what the route and the authentication found out.
struct MemberCall: Sendable {
  var request: APIRequest
  var member: Operator
  /// The conversation that the path names; zero where the route has none.
  var session: Identifier
}

extension API {
  static let routes: [Route] = [
    Route("GET", "/api/v1/widget/config", .widget(API.widgetConfig)),
    Route("POST", "/api/v1/widget/token", .widget(API.widgetToken)),
    Route("POST", "/api/v1/auth/login", .open(API.login)),
    Route("POST", "/api/v1/auth/token", .open(API.renewToken)),
    Route("POST", "/api/v1/auth/logout", .open(API.logout)),
    Route("GET", "\(conversations)", .member(API.listConversations)),
    Route("GET", "\(conversations)/{id}", .member(API.showConversation)),
    Route("GET", "\(conversations)/{id}/messages", .member(API.listMessages)),
    Route("POST", "\(conversations)/{id}/messages", .member(API.postMessage)),
    Route("POST", "\(conversations)/{id}/claim", .member(API.claim)),
    Route("POST", "\(conversations)/{id}/close", .member(API.close)),
    Route("POST", "\(conversations)/{id}/reopen", .member(API.reopen)),
  ]

  private static let conversations = "/api/v1/admin/live-chat/conversations"
}
