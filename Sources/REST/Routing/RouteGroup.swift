/// Handlers that belong together. A group holds nothing of its own: it is made for each request,
/// and what it needs it takes from the API.
protocol RouteGroup: Sendable {
  var rest: API { get }

  init(rest: API)
}

extension RouteGroup {
  init(_ rest: API) { self.init(rest: rest) }
}

extension Route.Handler {
  static func widget<Group: RouteGroup>(
    _ handle: @escaping @Sendable (Group) -> (APIRequest) async throws(Problem) -> APIResponse
  ) -> Self {
    .forWidgets { (rest, request) async throws(Problem) in try await handle(Group(rest))(request) }
  }

  static func visitor<Group: RouteGroup>(
    _ handle: @escaping @Sendable (Group) -> (VisitorCall) async throws(Problem) -> APIResponse
  ) -> Self {
    .forVisitors { (rest, call) async throws(Problem) in try await handle(Group(rest))(call) }
  }

  static func open<Group: RouteGroup>(
    _ handle: @escaping @Sendable (Group) -> (APIRequest) async throws(Problem) -> APIResponse
  ) -> Self {
    .forAnybody { (rest, request) async throws(Problem) in try await handle(Group(rest))(request) }
  }

  static func member<Group: RouteGroup>(
    _ least: Membership, _ scope: KeyScope?,
    _ handle: @escaping @Sendable (Group) -> (Call) async throws(Problem) -> APIResponse
  ) -> Self {
    .forMembers(least, scope) { (rest, call) async throws(Problem) in
      try await handle(Group(rest))(call)
    }
  }
}
