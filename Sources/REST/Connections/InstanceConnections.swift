/// Paths for the operator of the instance at the listeners of `admin_listen`: the connections of
/// all workspaces (`chirrup connections`), and `chirrup reload`. The token is one that only a
/// reader of the signing keys can issue (`TokenAuthority.issueForInstance`); the gateway admits
/// clients of this machine only.
import Directory
import JSON
import Kernel
import Primitives
import Tokens

extension API {
  /// Whether `handleInstance` answers at this path.
  public static func isOfInstance(_ path: String) -> Bool {
    ["/connections", "/reload"].contains { path == $0 || path.hasPrefix($0 + "/") }
  }

  public func handleInstance(_ request: APIRequest) async -> APIResponse {
    var response: APIResponse
    do throws(Problem) {
      response = try await instance(request)
    } catch {
      response = error.response()
    }
    response.headers.append(("Cache-Control", "no-store"))
    return response
  }

  private func instance(_ request: APIRequest) async throws(Problem) -> APIResponse {
    let scheme = "Bearer "
    guard let value = request.header("Authorization"), value.hasPrefix(scheme),
      authenticator.tokens.isOfInstance(
        Array(value.dropFirst(scheme.count).utf8), now: request.now)
    else { throw .unauthenticated }
    let parts = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    if parts == ["reload"] { return try await reloadForInstance(request) }
    if parts.count == 1 { return try await listForInstance(request) }
    guard parts[0] == "connections" else { throw .notFound }
    if parts[1] == "traces" { return try await traceForInstance(request, parts.dropFirst(2)) }
    guard let id = Identifier(String(parts[1])) else { throw .notFound }
    if request.method == "POST", parts.dropFirst(2) == ["trace"] {
      return try await startTrace(
        of: id, in: nil, id: .random(at: request.now),
        by: { $0.party.map { AuditActor.command(in: $0.workspace) } })
    }
    let record = try await connectionForInstance(id)
    switch (request.method, parts.count) {
    case ("GET", 2): return .json(record.answer)
    case ("POST", 3) where parts[2] == "disconnect":
      return try await disconnectForInstance(record, request)
    default: throw .notFound
    }
  }

  /// - Parameter rest: the path after `/connections/traces`.
  private func traceForInstance(
    _ request: APIRequest, _ rest: ArraySlice<Substring>
  ) async throws(Problem) -> APIResponse {
    guard rest.count == 1, let id = rest.first.flatMap({ Identifier(String($0)) }) else {
      throw .notFound
    }
    switch request.method {
    case "GET": return try await readTrace(id, of: nil, request)
    case "DELETE": return try endTrace(id, of: nil)
    default: throw .wrongMethod(allowed: ["GET", "DELETE"])
    }
  }

  private func listForInstance(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard request.method == "GET" else { throw .wrongMethod(allowed: ["GET"]) }
    let query = try QueryString(request.query)
    let limit = Int(try query.int("limit", in: 1...Int64(APILimits.list)) ?? Int64(APILimits.list))
    var filter = ConnectionFilter(workspace: try query.id("workspace"), limit: limit)
    try filter.read(query)
    filter.before = try query.id("before")
    let found = try await findEverywhere(filter)
    return .json(
      [UInt8].object { json in
        json.appendArray("connections", found.records) { $0.append(name: nil, to: &$1) }
        json.appendMember("silent_gateways", texts: found.silentGateways.map { "\($0)" })
      })
  }

  private func connectionForInstance(_ id: Identifier) async throws(Problem) -> ConnectionRecord {
    var filter = ConnectionFilter(workspace: nil, limit: 1)
    filter.id = id
    guard let record = try await findEverywhere(filter).records.first else {
      throw .noSuchConnection
    }
    return record
  }

  private func disconnectForInstance(
    _ record: ConnectionRecord, _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    let reason = try request.jsonObject().nonEmptyString(
      "reason", bytesMax: APILimits.kickReasonBytes)
    try await kick(
      record, reason: reason, of: nil,
      by: record.party.map { AuditActor.command(in: $0.workspace) })
    return APIResponse(status: 204)
  }
}

extension ConnectionRecord {
  fileprivate var answer: [UInt8] {
    [UInt8].object { json in
      json.appendKey("connection")
      append(name: nil, to: &json)
    }
  }
}

extension Problem {
  fileprivate static let noSuchConnection = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "No gateway that answered has an open or recently ended connection with this id.")
}
