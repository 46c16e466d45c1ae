/// The connections of a workspace at all gateways, for its administrators: the open ones, those
/// that ended recently, and the reason.
import Directory
import JSON
import Primitives

struct ConnectionRoutes: RouteGroup {
  let api: API

  func listConnections(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("connections")
    var filter = ConnectionFilter(workspace: call.workspace, limit: page.rowsWanted)
    try filter.read(QueryString(call.request.query))
    if let last = page.text(0) {
      guard let id = Identifier(last) else { throw .foreignCursor }
      filter.before = id
    }
    let found = try await api.findEverywhere(filter)
    let shown = found.records.prefix(page.limit)
    let names = try await names(of: Array(shown), in: call.workspace)
    let next = found.records.count > page.limit ? shown.last?.id : nil
    return .json(
      [UInt8].object { json in
        json.appendArray(page.list, shown) { $0.append(name: names[$0.party?.id], to: &$1) }
        json.appendMember("next_cursor", orNull: next.map { page.cursor(after: ["\($0)"]) })
        json.appendMember("silent_gateways", texts: found.silentGateways.map { "\($0)" })
      })
  }

  func showConnection(_ call: Call) async throws(Problem) -> APIResponse {
    let record = try await connection(call)
    let names = try await names(of: [record], in: call.workspace)
    return .json(
      [UInt8].object { json in
        json.appendKey("connection")
        record.append(name: names[record.party?.id], to: &json)
      })
  }

  func disconnect(_ call: Call) async throws(Problem) -> APIResponse {
    let reason = try call.request.jsonObject().nonEmptyString(
      "reason", bytesMax: APILimits.kickReasonBytes)
    let record = try await connection(call)
    try await api.kick(record, reason: reason, of: call.workspace, by: call.actor)
    return APIResponse(status: 204)
  }

  private func connection(_ call: Call) async throws(Problem) -> ConnectionRecord {
    var filter = ConnectionFilter(workspace: call.workspace, limit: 1)
    filter.id = call.id
    guard let record = try await api.findEverywhere(filter).records.first else {
      throw .noSuchResource
    }
    return record
  }

  /// The names of the parties, by id. An erased visitor has none.
  private func names(
    of records: [ConnectionRecord], in workspace: Identifier
  ) async throws(Problem) -> [Identifier?: String] {
    let ids = Set(records.compactMap { $0.party?.id })
    guard !ids.isEmpty else { return [:] }
    return try await api.database.run(PartyNames.of(Array(ids), in: workspace))
  }
}

extension API {
  func findConnections(_ filter: ConnectionFilter) async throws(Problem) -> [ConnectionRecord] {
    guard let connections = options.connections else { return [] }
    let found = await connections.find(filter)
    options.onResume()
    guard let found else { throw .loopBusy }
    return found
  }

  func findEverywhere(_ filter: ConnectionFilter) async throws(Problem) -> FoundConnections {
    guard let connections = options.connections else { return FoundConnections(records: []) }
    let found = await connections.findEverywhere(filter)
    options.onResume()
    guard let found else { throw .loopBusy }
    return found
  }

  /// Disconnects a client. The entry of the audit log precedes the end, so that no kick is without
  /// one.
  ///
  /// - Parameters:
  ///   - workspace: nil for the operator of the instance.
  ///   - actor: nil if the connection is of no workspace yet.
  func kick(
    _ record: ConnectionRecord, reason: String?, of workspace: Identifier?, by actor: AuditActor?
  ) async throws(Problem) {
    guard record.end == nil else { throw .connectionEnded }
    if let actor {
      try await database.run(
        AuditLog.disconnected(
          record.party?.id, connection: record.id, reason: reason ?? "", by: actor))
    }
    let isDone = await options.connections?.disconnect(
      record, of: workspace, reason: reason ?? ConnectionRecord.kickReason)
    options.onResume()
    switch isDone {
    case true?: return
    case false?: throw .connectionEnded
    case nil: throw .loopBusy
    }
  }
}

extension ConnectionFilter {
  /// The parameters of a list.
  mutating func read(_ query: QueryString) throws(Problem) {
    party = try query.id("party")
    session = try query.id("session")
    address = try query.search("address")
    switch query["state"] {
    case nil: break
    case "open"?: isEnded = false
    case "ended"?: isEnded = true
    default: throw .invalidParameter("state", "open or ended")
    }
  }
}

extension QueryString {
  func id(_ name: String) throws(Problem) -> Identifier? {
    guard let text = formatted(name) else { return nil }
    guard let id = Identifier(text) else { throw .invalidParameter(name, "an id") }
    return id
  }
}

extension ConnectionRecord {
  /// The reason of a kick without one.
  static let kickReason = "disconnected by an administrator"

  /// - Parameter name: that of the party.
  func append(name: String?, to json: inout [UInt8]) {
    let members = ConnectionRecord.Field.allCases.map { ($0.rawValue, value($0)) }
    let all = members + [("name", JSONValue.text(name))]
    json += JSONValue.object(Dictionary(uniqueKeysWithValues: all)).text
  }
}

extension Problem {
  static let connectionEnded = Problem(
    status: 409, type: "connection_ended", title: "Ended already",
    detail: "The connection has ended. The list shows when, and by which side.")

  static let loopBusy = Problem(
    status: 503, type: "not_confirmed", title: "Not confirmed",
    detail: "An event loop of the gateway, or the gateway that has the connection, did not answer "
      + "in time. Try again in a few seconds."
  ).retry(afterSeconds: 2)
}

extension API {
  static let connectionRoutes: [Route] = [
    Route(
      "GET", "\(admin)/connections",
      .member(.admin, .auditRead, ConnectionRoutes.listConnections),
      "List the connections of all gateways, open and recently ended, newest first",
      query: .connections, response: .connections, isExpensive: true),
    Route(
      "GET", "\(admin)/connections/{id}",
      .member(.admin, .auditRead, ConnectionRoutes.showConnection),
      "Get a connection of any gateway", response: .oneConnection),
    Route(
      "POST", "\(admin)/connections/{id}/disconnect",
      .member(.admin, nil, ConnectionRoutes.disconnect),
      "Disconnect a client, which connects again by itself", body: .disconnection, status: 204,
      event: "connection.disconnected"),
  ]
}
