/// The REST API (`/api/v1`): one function from a request to its answer, without sockets.
///
/// Every handler reads like straight code: check, ask the database, answer; what goes wrong is a
/// thrown `Problem`. Every statement names the workspace of the caller, so a foreign conversation
/// is simply not found.
public import Conversations
public import Directory
import JSON
public import Kernel
import Postgres
import Primitives
import Synchronization
public import Tokens

public final class API: Sendable {
  let database: any Database
  let sessions: any Sessions
  let tokens: TokenAuthority
  let options: APIOptions
  /// For work that is too long for a loop: patterns and what is compiled from rows.
  public let patterns = JobThread(name: "patterns")
  let loginsByAddress: Mutex<RateTable<String>>
  let loginsByEmail: Mutex<RateTable<String>>
  let widgetTokens: Mutex<RateTable<String>>
  let widgetConfigs: Mutex<RateTable<String>>
  let passwords = WorkerThreads(
    name: "passwords", threads: APILimits.passwordThreads, waitingMax: APILimits.passwordsWaiting)
  let calls = CallsUnderWay()
  public let cachedSettings: CachedSettings

  public init(
    database: any Database, sessions: any Sessions, tokens: TokenAuthority,
    options: APIOptions = APIOptions()
  ) {
    self.database = database
    cachedSettings = CachedSettings(database)
    self.sessions = sessions
    self.tokens = tokens
    self.options = options
    loginsByAddress = Mutex(options.rates.loginsByAddress.table)
    loginsByEmail = Mutex(options.rates.loginsByEmail.table)
    widgetTokens = Mutex(options.rates.widgetTokens.table)
    widgetConfigs = Mutex(options.rates.widgetConfigs.table)
  }

  /// The route whose handler runs in this task, as its index in the table.
  @TaskLocal public static var currentRoute: Int?

  /// Makes what is made once for all requests, so that it holds no loop.
  public static func prepare() { _ = (routes.count, document.count) }

  /// The method and the pattern of a route, for the log.
  public static func routeName(_ index: Int) -> String {
    guard routes.indices.contains(index) else { return "a route that is not there" }
    return "\(routes[index].method) \(routes[index].path)"
  }

  /// Answers a request whose path begins with `/api/v1/`.
  public func handle(_ given: APIRequest) async -> APIResponse {
    var request = given
    // RFC 9110 §9.3.2: HEAD is answered as GET; the gateway leaves the body out.
    if request.method == "HEAD" { request.method = "GET" }
    var response: APIResponse
    let (route, parameters, allowed, isWidget) = find(request)
    if let route {
      let request = request
      response = await API.$currentRoute.withValue(route) {
        await answer(API.routes[route], request, parameters)
      }
    } else if isWidget && request.method == "OPTIONS" {
      response = preflight(request, allowed: allowed)
    } else if !allowed.isEmpty {
      response = Problem.wrongMethod(allowed: allowed).response()
    } else {
      response = Problem.notFound.response()
    }
    response.headers.append(("Cache-Control", "no-store"))
    response.headers.append(("X-Content-Type-Options", "nosniff"))
    if isWidget { addCORS(to: &response, request) }
    return response
  }

  private func answer(
    _ route: Route, _ request: APIRequest, _ parameters: PathParameters
  ) async -> APIResponse {
    options.goesOn()
    do throws(Problem) {
      return try await run(route, request, parameters)
    } catch {
      return error.response()
    }
  }

  /// The route's index, what its path names, and for a wrong method the methods this path has.
  private func find(
    _ request: APIRequest
  ) -> (route: Int?, parameters: PathParameters, allowed: [String], isWidget: Bool) {
    guard request.path.utf8.count <= APILimits.pathBytes, request.path.hasPrefix("/") else {
      return (nil, PathParameters(), [], false)
    }
    let path = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    var allowed: [String] = []
    var isWidget = false
    for (index, route) in API.routes.enumerated() {
      guard let parameters = route.match(path) else { continue }
      isWidget = isWidget || route.isWidget
      if route.method == request.method { return (index, parameters, [], isWidget) }
      allowed.append(route.method)
      if route.method == "GET" { allowed.append("HEAD") }
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
      let number = calls.begin()
      defer { calls.end(number) }
      let call = try await visitorCall(request, parameters)
      calls.identify(number, as: call.visitor)
      return try await handler(self, call)
    case .forMembers(let least, let scope, let handler):
      let number = calls.begin()
      defer { calls.end(number) }
      let caller = try await authenticate(request)
      try caller.checkOwnPassword(route)
      calls.identify(number, as: caller.id)
      try admit(caller, from: least, scope)
      let call = Call(request: request, caller: caller, parameters: parameters)
      guard route.method != "GET" else { return try await handler(self, call) }
      let response = try await once(call) { () async throws(Problem) in
        try await handler(self, call)
      }
      guard let shutsOut = route.shutsOut else { return response }
      // Two calls that shut each other out must not wait for each other.
      calls.end(number)
      try await shutOut(shutsOut == .caller ? caller.id : parameters.id("id"))
      return response
    }
  }

  /// Runs a statement; its failure becomes the problem that the client reads.
  func run<Answer>(_ statement: Statement<Answer>) async throws(Problem) -> Answer {
    do throws(QueryFailure) {
      return try await database.run(statement)
    } catch {
      throw problem(for: error)
    }
  }

  /// Runs what takes too long for a loop on the thread of its own, where workspaces take turns.
  func aside<Result: Sendable>(
    for workspace: Identifier, _ body: @escaping @Sendable () -> Result
  ) async throws(Problem) -> Result {
    do throws(JobThread.Refused) {
      let result = try await patterns.run(for: workspace, body)
      options.goesOn()
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
      throw problem(for: error)
    }
  }

  func problem(for failure: QueryFailure) -> Problem {
    let problem = Problem.database(failure)
    if case .refused(let state, let message) = failure, problem.status == 500 {
      options.report("the database refused a statement: \(state.code) \(message)")
    }
    return problem
  }

  /// The JSON object in the body; an empty body is an empty object.
  func object(_ request: APIRequest) throws(Problem) -> JSONObject {
    do throws(JSONObject.Fault) {
      return try JSONObject(request.body.isEmpty ? Array("{}".utf8) : request.body)
    } catch {
      throw .json(error)
    }
  }

  /// As `object`, where only JSON may come: a page of another site can send `text/plain` without
  /// asking first.
  func declaredObject(_ request: APIRequest) throws(Problem) -> JSONObject {
    let type = request.header("Content-Type")?.split(separator: ";").first?.trimmingBlanks
    guard request.body.isEmpty || (type ?? "").equalsIgnoringASCIICase("application/json") else {
      throw .unsupportedMediaType
    }
    return try object(request)
  }
}
