/// The journal of a loop's connections: one line of the log for each end, and the recently ended
/// connections in memory.
import Chat
import Engine
import JSON
import Kernel
import Logging
import Primitives
import REST
import Wire

struct ConnectionJournal {
  private let gateway: Identifier
  private let loop: Int
  private let logger: Logger
  private(set) var ended = EndedConnections()
  var taps = ConnectionTaps()

  init(gateway: Identifier, loop: Int, logger: Logger) {
    self.gateway = gateway
    self.loop = loop
    self.logger = logger
  }

  mutating func noteEnd(_ report: ConnectionReport, from address: IPAddress, _ turn: Turn) {
    let last = record(report, from: address, turn)
    logger.info("connection ended", metadata: ConnectionJournal.metadata(last))
    ended.add(last)
    if taps.isOn { taps.ended(last, turn) }
  }

  mutating func dropOld(_ now: WallTime) { ended.dropOld(now) }

  func record(
    _ report: ConnectionReport, from address: IPAddress, _ turn: Turn
  ) -> ConnectionRecord {
    let age = turn.now.milliseconds(since: report.openedAt)
    var record = ConnectionRecord(
      id: report.name, gateway: gateway, loop: loop,
      openedAt: WallTime(microseconds: turn.wall.microseconds - age * 1_000))
    record.party = report.member.map {
      ConnectionRecord.Party(
        id: $0.person.id, isOperator: $0.isOperator, workspace: $0.workspace)
    }
    record.sessions = report.sessions.listed
    record.sessionCount = report.sessions.count
    record.address = address.description
    record.milliseconds = age
    record.slowMilliseconds = report.blockedSince.map { turn.now.milliseconds(since: $0) }
    record.traffic = ConnectionRecord.Traffic(
      bytesIn: report.traffic.bytesIn, bytesOut: report.traffic.bytesOut,
      messagesIn: UInt64(report.messagesIn), messagesOut: report.traffic.messagesOut)
    record.end = report.ending.map {
      ConnectionRecord.End(
        at: turn.wall, code: $0.code.rawValue, reason: $0.reason, side: $0.side.rawValue)
    }
    return record
  }

  /// The fields of a line; `loop` is in every line of a loop, and the state is always the same.
  static let loggedFields = ConnectionRecord.Field.allCases.filter { $0 != .loop && $0 != .state }

  static func logName(_ field: ConnectionRecord.Field) -> String {
    field == .id ? "connection" : field.rawValue
  }

  private static func metadata(_ record: ConnectionRecord) -> Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    for field in loggedFields { metadata[logName(field)] = record.value(field).metadata }
    return metadata
  }
}

extension JSONValue {
  /// The value in a line of the log; nil for null.
  fileprivate var metadata: Logger.MetadataValue? {
    switch self {
    case .null: nil
    case .bool(let value): .stringConvertible(value)
    case .number(let text): Int64(text).map { .stringConvertible($0) } ?? .string(text)
    case .string(let text): .string(text)
    case .array(let elements): .array(elements.compactMap(\.metadata))
    case .object(let members): .dictionary(members.compactMapValues(\.metadata))
    }
  }
}
