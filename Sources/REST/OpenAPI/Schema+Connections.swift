/// Schemas of connections.
extension Schema {
  private static let connection = object(
    Dictionary(
      uniqueKeysWithValues: ConnectionRecord.Field.allCases.map { ($0.rawValue, $0.schema) }
        + [("name", text.orNull.described("The name of the visitor or operator."))])
  ).named("Connection")

  static let connections = object([
    "connections": array(of: connection), "next_cursor": nextCursor,
    "silent_gateways": array(of: id)
      .described("Gateways that did not answer within 2 seconds: their connections are missing."),
  ]).named("Connections")
  static let startedTrace = object([
    "trace": object(["id": .id, "target": .id, "seconds_max": .count])
  ]).named("StartedTrace")
  static let traceLines = object([
    "lines": array(of: traceLine),
    "position": count.described("The value of “after” for the next lines."),
    "dropped": count.described("Lines that were replaced before they were read."),
    "ended": text.orNull.described("Why the trace has ended; null while it has or may get lines."),
  ]).named("TraceLines")
  private static let traceLine = object([
    "n": count, "at": time, "connection": id,
    "kind": word(TraceLine.Kind.allCases.map(\.rawValue)),
    "frame": word(["text", "binary", "ping", "pong", "close"]).orNull, "bytes": count,
    "deflated": bool, "type": text.orNull.described("The command or event, never its content."),
    "session": id.orNull, "seq": count.orNull,
    "code": text.orNull.described("Of an error, a close frame or an end."),
    "reason": text.orNull,
  ]).named("TraceLine")
  static let oneConnection = object(["connection": connection]).named("ConnectionAnswer")
  static let disconnection = input(
    optional: [
      "reason": string(1...APILimits.kickReasonBytes)
        .described("For the journal and the audit log; the client does not get it.")
    ]
  ).named("Disconnection")
}

extension ConnectionRecord.Field {
  fileprivate var schema: Schema {
    switch self {
    case .id, .gateway: .id
    case .workspace, .visitor, .operator_: .id.orNull
    case .sessions: .array(of: .id)
    case .address: .text
    case .state: .word(ConnectionRecord.State.allCases.map(\.rawValue))
    case .openedAt: .time
    case .endedAt: .time.orNull
    case .reason: .text.orNull
    case .closedBy: Schema.word(["peer", "gateway", "network", "kick", "shutdown"]).orNull
    case .code, .slow: .count.orNull
    case .sessionCount, .loop, .duration, .bytesIn, .bytesOut, .messagesIn, .messagesOut: .count
    }
  }
}

extension [QueryParameter] {
  static let connections: [QueryParameter] = [
    QueryParameter(
      name: "party", schema: .id.described("The id of a visitor or an operator.")),
    QueryParameter(name: "session", schema: .id),
    QueryParameter(name: "address", schema: .search(0)),
    QueryParameter(name: "state", schema: .word(["open", "ended"])), .cursor, .limit,
  ]
}
