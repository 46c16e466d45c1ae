/// Rows of Chatwoot's contacts and conversations as those of an import.
import JSON
import Postgres
import Primitives

extension ChatwootSource {
  /// Custom attributes come after telephone number, company, city and country.
  func contact(_ rows: Rows, _ row: Int) -> ImportedContact {
    let more = rows.text(row, 5).flatMap { JSONValue($0) }
    var attributes: [(String, JSONValue)] = [
      ("phone", .text(rows.text(row, 3))), ("company", more?["company_name"] ?? .null),
      ("city", more?["city"] ?? .null), ("country", more?["country"] ?? .null),
    ]
    if case .object(let custom)? = rows.text(row, 6).flatMap({ JSONValue($0) }) {
      attributes += custom.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
    let created = rows.time(row, 8) ?? WallTime(microseconds: 0)
    return ImportedContact(
      key: rows.key(row, 0), shownKey: rows.key(row, 0), place: rows.int(row, 0) ?? Int64.max,
      conversations: rows.keys(row, 10),
      externalID: rows.text(row, 4), name: rows.text(row, 1) ?? "", email: rows.text(row, 2),
      attributes: attributes, isBlocked: rows.bool(row, 7) == true, createdAt: created,
      seenAt: rows.time(row, 9) ?? created)
  }

  func conversation(_ rows: Rows, _ row: Int) -> ImportedConversation {
    let created = rows.time(row, 8) ?? WallTime(microseconds: 0)
    let remark: String? =
      switch rows.int(row, 2) {
      case 2: "pending: imported as open"
      case 3: "snoozed: imported as open"
      default: nil
      }
    return ImportedConversation(
      key: rows.key(row, 0), place: rows.int(row, 0) ?? Int64.max,
      isClosed: rows.int(row, 2) == 1, remark: remark,
      contact: rows.int(row, 3).map {
        .init(key: "\($0)", externalID: rows.text(row, 4), conversations: rows.keys(row, 5))
      },
      assignee: rows.int(row, 6).map { "\($0)" }, assigneeName: rows.text(row, 7),
      createdAt: created, updatedAt: rows.time(row, 9) ?? created,
      tags: (rows.text(row, 11) ?? "").split(separator: "\n").map { String($0) },
      channel: Self.channel(rows.text(row, 12)), context: context(rows, row),
      visitorSeenAt: rows.time(row, 14), agentsSeenAt: rows.time(row, 15),
      rating: rows.int(row, 16).map {
        .init(
          value: $0, comment: rows.text(row, 17), agent: rows.int(row, 19).map { "\($0)" },
          at: rows.time(row, 18))
      })
  }

  /// `Channel::WebWidget` is `web`, `Channel::TwilioSms` is `twiliosms`.
  private static func channel(_ type: String?) -> String {
    let name = (type ?? "").split(separator: ":").last.map { $0.lowercased() } ?? ""
    return name.isEmpty || name == "webwidget" ? "web" : String(name.prefix(32))
  }

  /// The page on which it began, the language, and its number and inbox in Chatwoot.
  private func context(_ rows: Rows, _ row: Int) -> [String: JSONValue] {
    let more = rows.text(row, 10).flatMap { JSONValue($0) }
    var context = ConversationContext(
      page: more?["referer"]?.string, language: more?["browser_language"]?.string
    ).members
    context[system.word] = .object([
      "number": .int(Int(rows.int(row, 1) ?? 0)),
      "inbox": .string(String((rows.text(row, 13) ?? "").prefix(100))),
    ])
    return context
  }
}

extension Rows {
  fileprivate func keys(_ row: Int, _ column: Int) -> [String] {
    (text(row, column) ?? "").split(separator: " ").map { String($0) }
  }

  func key(_ row: Int, _ column: Int) -> String { int(row, column).map { "\($0)" } ?? "" }
}
