/// Live traces of connections, for administrators: start, read by position, end.
import Directory
import JSON
import Kernel
import Primitives

struct TraceRoutes: RouteGroup {
  let api: API

  func startTrace(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.startTrace(
      of: call.id, in: call.workspace, id: call.newID(), by: { _ in call.actor })
  }

  func readTrace(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.readTrace(call.id, of: call.workspace, call.request)
  }

  func endTrace(_ call: Call) async throws(Problem) -> APIResponse {
    try api.endTrace(call.id, of: call.workspace)
  }
}

extension API {
  /// The entry of the audit log precedes the trace, so that no trace is without one.
  ///
  /// - Parameters:
  ///   - target: a connection, a visitor or an operator.
  ///   - workspace: nil for the operator of the instance.
  ///   - actor: from the connection; nil if it is of no workspace yet.
  func startTrace(
    of target: Identifier, in workspace: Identifier?, id: Identifier,
    by actor: (ConnectionRecord) -> AuditActor?
  ) async throws(Problem) -> APIResponse {
    let record = try await traced(target, in: workspace)
    let trace = try traces.start(of: target, in: workspace, id: id, now: SystemClock.now())
    do throws(Problem) {
      if let actor = actor(record) {
        try await database.run(
          AuditLog.traced(record.party?.id, connection: record.id, by: actor))
      }
      let isDone = await options.connections?.trace(trace)
      options.onResume()
      guard isDone == true else { throw .loopBusy }
    } catch {
      trace.end("it could not begin", now: SystemClock.now())
      throw error
    }
    return .json(
      [UInt8].object { json in
        json.appendObject("trace") {
          $0.appendMember("id", trace.id)
          $0.appendMember("target", trace.target)
          $0.appendMember("seconds_max", ConnectionTrace.millisecondsMax / 1_000)
        }
      }, status: 201)
  }

  /// A connection of the target: itself, or one of the visitor or operator.
  private func traced(
    _ target: Identifier, in workspace: Identifier?
  ) async throws(Problem) -> ConnectionRecord {
    var filter = ConnectionFilter(workspace: workspace, limit: 1)
    filter.id = target
    if let record = try await findConnections(filter).first {
      guard record.end == nil else { throw .connectionEnded }
      return record
    }
    filter.id = nil
    filter.party = target
    guard let record = try await findConnections(filter).first else { throw .nothingToTrace }
    return record
  }

  func readTrace(
    _ id: Identifier, of workspace: Identifier?, _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    let query = try QueryString(request.query)
    let position = try query.int("after", in: 0...Int64(Int32.max)) ?? 0
    guard let trace = traces.find(id, of: workspace) else { throw .noSuchTrace }
    let part = await trace.lines(after: position, now: SystemClock.now())
    options.onResume()
    return .json(
      [UInt8].object { json in
        json.appendArray("lines", part.lines.enumerated()) {
          $0.element.append(number: part.first + Int64($0.offset), to: &$1)
        }
        json.appendMember("position", part.next)
        json.appendMember("dropped", part.dropped)
        json.appendMember("ended", orNull: part.end)
      })
  }

  func endTrace(_ id: Identifier, of workspace: Identifier?) throws(Problem) -> APIResponse {
    guard let trace = traces.find(id, of: workspace) else { throw .noSuchTrace }
    trace.end("it was ended", now: SystemClock.now())
    return APIResponse(status: 204)
  }
}

extension Problem {
  static let nothingToTrace = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "This gateway has no open or recently ended connection with this id or of a visitor "
      + "or operator with this id. Another gateway may have it.")

  static let noSuchTrace = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "This gateway has no trace with this id, or it ended more than five minutes ago. Start "
      + "a new one.")
}

extension API {
  static let traceRoutes: [Route] = [
    Route(
      "POST", "\(admin)/connections/{id}/trace",
      .member(.admin, nil, TraceRoutes.startTrace),
      "Trace a connection, or the connections of a visitor or operator, on this gateway",
      status: 201, response: .startedTrace, event: "connection.traced"),
    Route(
      "GET", "\(admin)/connection-traces/{id}",
      .member(.admin, nil, TraceRoutes.readTrace),
      "Get the lines of a trace after a position, waiting up to a second for one",
      query: [QueryParameter(name: "after", schema: .count)], response: .traceLines),
    Route(
      "DELETE", "\(admin)/connection-traces/{id}",
      .member(.admin, nil, TraceRoutes.endTrace), "End a trace", status: 204),
  ]
}
