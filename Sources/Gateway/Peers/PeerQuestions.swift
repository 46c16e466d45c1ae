/// What gateways ask each other about connections, as encrypted payloads of NOTIFY: a search or a
/// kick, and the answers to them.
import JSON
import OpenSSL
import Primitives
import REST

enum PeerQuestion: Equatable {
  case find(JSONValue)
  /// Of one gateway: the one that holds the connection.
  case kick(connection: Identifier, workspace: Identifier?, reason: String, gateway: Identifier)
}

enum PeerMessage: Equatable {
  case question(id: Identifier, PeerQuestion)
  /// A part of an answer; the last one completes it. Nil: the gateway could not answer.
  case answer(id: Identifier, rows: [JSONValue], isDone: Bool?, isLast: Bool)
}

extension PeerMessage {
  /// A payload has less than 8,000 bytes; base64 makes four of three.
  static let plainBytesMax = 5_600
  /// Payloads of one answer. The longest records of `ConnectionFilter.limitMax` fit.
  static let payloadsMax = 128

  /// The parts of an answer, as many rows in each as fit. If `payloadsMax` are not enough, no part
  /// is the last one, so that no list has a gap.
  static func answers(to id: Identifier, _ rows: [JSONValue]) -> [PeerMessage] {
    var parts: [[JSONValue]] = [[]]
    var (byteCount, isWhole) = (0, true)
    for row in rows {
      let size = row.text.count + 1
      guard size <= plainBytesMax else { continue }
      if byteCount + size > plainBytesMax {
        guard parts.count < payloadsMax else {
          isWhole = false
          break
        }
        parts.append([])
        byteCount = 0
      }
      parts[parts.count - 1].append(row)
      byteCount += size
    }
    return parts.enumerated().map { number, rows in
      .answer(id: id, rows: rows, isDone: nil, isLast: isWhole && number == parts.count - 1)
    }
  }

  var json: JSONValue {
    switch self {
    case .question(let id, .find(let filter)):
      .object(["ask": .string("\(id)"), "find": filter])
    case .question(let id, .kick(let connection, let workspace, let reason, let gateway)):
      .object([
        "ask": .string("\(id)"), "kick": .string("\(connection)"),
        "workspace": .text(workspace.map { "\($0)" }), "reason": .string(reason),
        "gateway": .string("\(gateway)"),
      ])
    case .answer(let id, let rows, let isDone, let isLast):
      .object([
        "answer": .string("\(id)"), "rows": .array(rows),
        "done": isDone.map { .bool($0) } ?? .null, "last": .bool(isLast),
      ])
    }
  }

  init?(_ json: JSONValue) {
    func id(_ name: String) -> Identifier? { json[name]?.string.flatMap { Identifier($0) } }
    if let question = id("ask") {
      if let filter = json["find"] {
        self = .question(id: question, .find(filter))
        return
      }
      guard let connection = id("kick"), let reason = json["reason"]?.string,
        let gateway = id("gateway"), json.object?["workspace"] == .null || id("workspace") != nil
      else { return nil }
      self = .question(
        id: question,
        .kick(
          connection: connection, workspace: id("workspace"), reason: reason, gateway: gateway))
    } else if let question = id("answer"), let rows = json["rows"]?.array,
      let isLast = json["last"]?.bool
    {
      self = .answer(id: question, rows: rows, isDone: json["done"]?.bool, isLast: isLast)
    } else {
      return nil
    }
  }
}

extension SignalSeal {
  /// A payload: the gateway's id, then `c` and the encrypted message.
  func payload(_ message: PeerMessage, as gateway: Identifier) -> String {
    "\(gateway) c" + sealed(message.json.text, context: SignalSeal.questions(gateway))
  }

  /// Nil if no gateway of this database has made it.
  func message(in sealed: String, from gateway: Identifier) -> PeerMessage? {
    opened(sealed, context: SignalSeal.questions(gateway))
      .flatMap { JSONValue($0) }.flatMap { PeerMessage($0) }
  }

  private static func questions(_ gateway: Identifier) -> [UInt8] {
    Array("connections:\(gateway)".utf8)
  }
}
