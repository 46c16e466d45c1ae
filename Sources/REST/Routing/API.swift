/// The REST API (`/api/v1`): a function from a request to its response, without sockets.
///
/// A handler is straight code: it checks the request, calls the owner of the data and renders the
/// response. An error is a thrown `Problem`. Every statement names the workspace of the caller, so
/// that the data of other workspaces is not found.
public import Conversations
public import Directory
public import Kernel
import Postgres
import Primitives
import Synchronization
public import Tokens

public final class API: Sendable {
  let database: APIDatabase
  /// For routes with `isExpensive`.
  let expensiveDatabase: APIDatabase
  let sessions: any Sessions
  private let currentOptions: Mutex<APIOptions>
  let origins: OriginPolicy
  let authenticator: Authenticator
  let idempotency: IdempotentWrites
  let passwords: PasswordHasher
  let logins: LoginLimits
  let devices: KnownDevices
  let servers: TenantServers
  let widgetLimits: WidgetLimits
  let requestLimits: RequestLimits
  let expensiveCalls: ExpensiveCalls
  let callsInFlight = CallsInFlight()
  let traces = ConnectionTraces()
  let unreadableSecrets: UnreadableSecrets
  /// The visitors of this moment. The gateway exchanges them with PostgreSQL.
  public let watched: WatchedVisitors
  public let cachedSettings: CachedSettings
  /// A thread for work that would block a loop: compiling patterns, and matching them.
  public let patterns = JobThread(name: "patterns")

  public init(
    database: any Database, sessions: any Sessions, tokens: TokenAuthority,
    options: APIOptions = APIOptions()
  ) {
    self.database = APIDatabase(database, report: options.report)
    expensiveDatabase = APIDatabase(database.forExpensiveStatements, report: options.report)
    self.sessions = sessions
    currentOptions = Mutex(options)
    origins = OriginPolicy(publicURL: options.publicURL, allowed: options.allowedOrigins)
    authenticator = Authenticator(
      database: self.database, tokens: tokens, origins: origins, report: options.report)
    idempotency = IdempotentWrites(
      database: self.database, secrets: options.secrets, report: options.report)
    passwords = PasswordHasher(report: options.report)
    logins = LoginLimits(options.rates)
    devices = KnownDevices(secrets: options.secrets, origins: origins)
    servers = TenantServers(options)
    widgetLimits = WidgetLimits(options.rates)
    requestLimits = RequestLimits(options.rates)
    expensiveCalls = ExpensiveCalls(runningMax: options.expensivePerWorkspace)
    unreadableSecrets = UnreadableSecrets(report: options.report)
    watched = WatchedVisitors(database: database, report: options.report)
    cachedSettings = CachedSettings(database)
  }

  var options: APIOptions { currentOptions.withLock { $0 } }

  /// Changes the rates, the lifetimes of tokens, the allowed origins and the shown limits, for the
  /// next requests; what was counted remains counted.
  public func use(_ change: (inout APIOptions) -> Void) {
    let new = currentOptions.withLock { options in
      change(&options)
      return options
    }
    origins.use(allowed: new.allowedOrigins)
    widgetLimits.use(new.rates)
    requestLimits.use(new.rates)
    expensiveCalls.use(runningMax: new.expensivePerWorkspace)
  }

  /// The route of the handler that runs in this task, as an index into the table of routes.
  @TaskLocal public static var currentRoute: Int?

  /// Builds what all requests share, before the first request, so that building it blocks no loop.
  public static func prepare() {
    _ = (routes.count, routeIndex, OpenAPIDocument.withoutServers.count)
  }

  /// Method and pattern of a route, for the log.
  public static func routeName(_ index: Int) -> String {
    guard let route = routePattern(index) else { return "an unknown route" }
    return "\(route.method) \(route.path)"
  }

  /// Method and pattern of a route, for the metrics.
  public static func routePattern(_ index: Int) -> (method: String, path: String)? {
    routes.indices.contains(index) ? (routes[index].method, routes[index].path) : nil
  }

  /// Whether a route returns pages of a list to members, without notes.
  public static func isList(_ index: Int) -> Bool {
    routes.indices.contains(index) && routes[index].isList
  }

  /// Responds to a request whose path begins with `/api/v1/`.
  public func handle(_ original: APIRequest) async -> APIResponse {
    var request = original
    // RFC 9110 §9.3.2: HEAD is handled as GET; the gateway omits the body.
    if request.method == "HEAD" { request.method = "GET" }
    var response: APIResponse
    let (route, parameters, allowed, isWidget) = find(request)
    if let route {
      let request = request
      response = await API.$currentRoute.withValue(route) {
        await respond(API.routes[route], request, parameters)
      }
      response.route = route
      if let stream = response.stream {
        response.stream = { send in
          await API.$currentRoute.withValue(route) { await stream(send) }
        }
      }
      if let next = response.pieces?.next {
        response.pieces?.next = { offset in
          await API.$currentRoute.withValue(route) { await next(offset) }
        }
      }
    } else if isWidget && request.method == "OPTIONS" {
      response = origins.preflight(allowed: allowed)
    } else if !allowed.isEmpty {
      response = Problem.wrongMethod(allowed: allowed).response()
    } else {
      response = Problem.notFound.response()
    }
    if !response.headers.contains(where: { $0.name == "Cache-Control" }) {
      response.headers.append(("Cache-Control", "no-store"))
    }
    response.headers.append(("X-Content-Type-Options", "nosniff"))
    if isWidget { origins.addCORS(to: &response, request) }
    return response
  }

  private func respond(
    _ route: Route, _ request: APIRequest, _ parameters: PathParameters
  ) async -> APIResponse {
    options.onResume()
    do throws(Problem) {
      return try await run(route, request, parameters)
    } catch {
      requestLimits.refusals.note(error, route)
      return error.response()
    }
  }

  /// The route and the parameters of its path. If the path has other methods only, `route` is nil
  /// and `allowed` lists them.
  private func find(
    _ request: APIRequest
  ) -> (route: Int?, parameters: PathParameters, allowed: [String], isWidget: Bool) {
    guard request.path.utf8.count <= APILimits.pathBytes, request.path.hasPrefix("/") else {
      return (nil, PathParameters(), [], false)
    }
    let path = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    var allowed: [String] = []
    var isWidget = false
    for entry in API.routeIndex.routes(segments: path.count) {
      guard let parameters = entry.match(path) else { continue }
      isWidget = isWidget || entry.isWidget
      if entry.method == request.method { return (entry.number, parameters, [], isWidget) }
      allowed.append(entry.method)
      if entry.method == "GET" { allowed.append("HEAD") }
    }
    return (nil, PathParameters(), allowed, isWidget)
  }

  private func run(
    _ route: Route, _ request: APIRequest, _ parameters: PathParameters
  ) async throws(Problem) -> APIResponse {
    guard request.body.count <= APILimits.bodyBytes else { throw .bodyTooLarge }
    switch route.handler {
    case .forWidgets(let handler): return try await handler(self, request)
    case .forAnybody(let handler): return try await handler(self, request)
    case .forVisitors(let handler):
      let credential = RequestLimits.credential(request)
      try requestLimits.check(credential, request.now)
      let number = callsInFlight.begin()
      defer { callsInFlight.end(number) }
      let call = try await authenticator.visitor(request, parameters)
      callsInFlight.identify(number, as: call.tokenVisitor)
      let quota =
        route.isPart
        ? try requestLimits.takePart(of: call.tokenVisitor, request.now)
        : try requestLimits.take(visitor: call.tokenVisitor, credential, request.now)
      let owner = ExpensiveCalls.Owner(workspace: call.workspace, isOfVisitors: true)
      return try await quota.around { () async throws(Problem) in
        try await inTurn(route, of: owner, call.visitor) { () async throws(Problem) in
          try await handler(self, call)
        }
      }
    case .forMembers(let least, let scope, let handler):
      let credential = RequestLimits.credential(request)
      try requestLimits.check(credential, request.now)
      let number = callsInFlight.begin()
      defer { callsInFlight.end(number) }
      let caller = try await authenticator.caller(request)
      let quota =
        route.isPart
        ? try requestLimits.takePart(of: caller.id, request.now)
        : try requestLimits.take(caller, credential, request.now)
      return try await quota.around { () async throws(Problem) in
        try caller.checkRestriction(route)
        callsInFlight.identify(number, as: caller.id)
        try caller.checkAccess(from: least, scope)
        let call = Call(request: request, caller: caller, parameters: parameters)
        return try await run(route, handler, call, number)
      }
    }
  }

  private func run(
    _ route: Route, _ handler: Route.MemberHandler, _ call: Call, _ number: UInt64
  ) async throws(Problem) -> APIResponse {
    let owner = ExpensiveCalls.Owner(workspace: call.workspace)
    guard route.isIdempotent else {
      return try await inTurn(route, of: owner, call.caller.id) { () async throws(Problem) in
        try await handler(self, call)
      }
    }
    let response = try await idempotency.once(call) { () async throws(Problem) in
      try await inTurn(route, of: owner, call.caller.id) { () async throws(Problem) in
        try await handler(self, call)
      }
    }
    if let event = route.event { note(event, call) }
    guard let disconnects = route.disconnects else { return response }
    // Two calls that disconnect each other's callers must not wait for each other.
    callsInFlight.end(number)
    switch disconnects {
    case .caller: try await disconnect([call.caller.id])
    case .target: try await disconnect([call.id])
    case .visitor: try await VisitorRoutes(self).disconnect(visitor: call.id, of: call.workspace)
    }
    return response
  }

  /// Runs a handler with expensive statements when it is the caller's turn, others at once.
  private func inTurn(
    _ route: Route, of owner: ExpensiveCalls.Owner, _ caller: Identifier,
    _ body: () async throws(Problem) -> APIResponse
  ) async throws(Problem) -> APIResponse {
    guard route.isExpensive else { return try await body() }
    return try await expensiveCalls.run(for: owner, caller) { () async throws(Problem) in
      options.onResume()
      return try await body()
    }
  }

  /// Runs work that would block a loop on the thread for patterns, where workspaces take turns.
  func runOnPatternThread<Result: Sendable>(
    for workspace: Identifier, _ work: @escaping @Sendable () -> Result
  ) async throws(Problem) -> Result {
    do throws(JobThread.Refused) {
      let result = try await patterns.run(for: workspace, work)
      options.onResume()
      return result
    } catch {
      throw .tooBusy
    }
  }

  func settings(
    of workspace: Identifier, now: WallTime
  ) async throws(Problem) -> SettingsCache.Entry {
    do throws(QueryFailure) {
      return try await cachedSettings.of(workspace, now: now)
    } catch {
      throw database.problem(for: error)
    }
  }
}
