/// A connection's record and a search as JSON, for the other gateways of a database.
public import JSON
import Primitives

extension ConnectionRecord {
  /// As in the REST API, with times in microseconds.
  public var json: JSONValue {
    var members = Dictionary(
      uniqueKeysWithValues: ConnectionRecord.Field.allCases.map { ($0.rawValue, value($0)) })
    members[Field.openedAt.rawValue] = .number("\(openedAt.microseconds)")
    members[Field.endedAt.rawValue] = end.map { .number("\($0.at.microseconds)") } ?? .null
    return .object(members)
  }

  /// Nil if a field is missing or has another type.
  public init?(_ json: JSONValue) {
    func member(_ field: Field) -> JSONValue? { json[field.rawValue] }
    func id(_ field: Field) -> Identifier? { member(field)?.string.flatMap { Identifier($0) } }
    func number(_ field: Field) -> Int? { member(field)?.int.flatMap { $0 < 0 ? nil : $0 } }
    func time(_ field: Field) -> WallTime? {
      number(field).map { WallTime(microseconds: Int64($0)) }
    }
    guard let name = id(.id), let gateway = id(.gateway), let loop = number(.loop),
      let openedAt = time(.openedAt), let address = member(.address)?.string,
      let duration = number(.duration), let sessions = member(.sessions)?.array,
      let count = number(.sessionCount), let bytesIn = number(.bytesIn),
      let bytesOut = number(.bytesOut), let messagesIn = number(.messagesIn),
      let messagesOut = number(.messagesOut)
    else { return nil }
    self.init(id: name, gateway: gateway, loop: loop, openedAt: openedAt)
    if let workspace = id(.workspace), let person = id(.operator_) ?? id(.visitor) {
      party = Party(id: person, isOperator: id(.operator_) != nil, workspace: workspace)
    }
    self.sessions = sessions.compactMap { $0.string.flatMap { Identifier($0) } }
    sessionCount = count
    self.address = address
    milliseconds = Int64(duration)
    slowMilliseconds = number(.slow).map { Int64($0) }
    traffic = Traffic(
      bytesIn: UInt64(bytesIn), bytesOut: UInt64(bytesOut), messagesIn: UInt64(messagesIn),
      messagesOut: UInt64(messagesOut))
    guard let endedAt = time(.endedAt) else { return }
    guard let code = number(.code).flatMap({ UInt16(exactly: $0) }),
      let reason = member(.reason)?.string, let side = member(.closedBy)?.string
    else { return nil }
    end = End(at: endedAt, code: code, reason: reason, side: side)
  }
}

extension ConnectionFilter {
  public var json: JSONValue {
    .object([
      "workspace": .text(workspace.map { "\($0)" }), "party": .text(party.map { "\($0)" }),
      "session": .text(session.map { "\($0)" }), "address": .text(address),
      "id": .text(id.map { "\($0)" }), "ended": isEnded.map { .bool($0) } ?? .null,
      "before": .text(before.map { "\($0)" }), "limit": .int(limit),
    ])
  }

  /// Nil if it has no valid limit, or an id that is none: a filter with a member less would accept
  /// more.
  public init?(_ json: JSONValue) {
    guard let limit = json["limit"]?.int, (1...ConnectionFilter.limitMax).contains(limit) else {
      return nil
    }
    /// Nil: no id; nil inside: none.
    func id(_ name: String) -> Identifier?? {
      guard let text = json[name]?.string else {
        return json.object?[name] == .null ? .some(nil) : nil
      }
      return Identifier(text).map { .some($0) }
    }
    guard let workspace = id("workspace"), let party = id("party"), let session = id("session"),
      let name = id("id"), let before = id("before")
    else { return nil }
    self.init(workspace: workspace, limit: limit)
    (self.party, self.session, self.before) = (party, session, before)
    self.id = name
    address = json["address"]?.string
    isEnded = json["ended"]?.bool
  }

  /// Records of one answer.
  public static let limitMax = 256
}
