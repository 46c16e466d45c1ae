/// Handlers of one area. A group has no state of its own: it is created for each request and uses
/// the components of the API.
protocol RouteGroup: Sendable {
  var api: API { get }

  init(api: API)
}

extension RouteGroup {
  init(_ api: API) { self.init(api: api) }
}

extension Route.Handler {
  static func widget<Group: RouteGroup>(
    _ handle: @escaping @Sendable (Group) -> (APIRequest) async throws(Problem) -> APIResponse
  ) -> Self {
    .forWidgets { (api, request) async throws(Problem) in try await handle(Group(api))(request) }
  }

  static func visitor<Group: RouteGroup>(
    _ handle: @escaping @Sendable (Group) -> (VisitorCall) async throws(Problem) -> APIResponse
  ) -> Self {
    .forVisitors { (api, call) async throws(Problem) in try await handle(Group(api))(call) }
  }

  static func open<Group: RouteGroup>(
    _ handle: @escaping @Sendable (Group) -> (APIRequest) async throws(Problem) -> APIResponse
  ) -> Self {
    .forAnybody { (api, request) async throws(Problem) in try await handle(Group(api))(request) }
  }

  static func member<Group: RouteGroup>(
    _ least: Membership, _ scope: KeyScope?,
    _ handle: @escaping @Sendable (Group) -> (Call) async throws(Problem) -> APIResponse
  ) -> Self {
    .forMembers(least, scope) { (api, call) async throws(Problem) in
      try await handle(Group(api))(call)
    }
  }
}
