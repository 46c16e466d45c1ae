/// Reads a folder of Intercom's objects as its REST API returns them (version 2.14 and others with
/// the same members), an object a line: config/intercom_download.py writes such a folder.
import JSON
import Postgres
public import Primitives
import Texts

extension ConversationImport {
  /// Reads and checks the files of a whole download from Intercom.
  ///
  /// - Parameters:
  ///   - files: by name; see `IntercomFile`.
  ///   - installation: tells several Intercom workspaces of one workspace apart.
  ///   - since: leaves out conversations without an activity since then; nil: none.
  ///   - isRun: false only counts, and changes nothing.
  public init(
    _ storedData: StoredData, workspace: Identifier, fromIntercom files: [ImportFile],
    installation: String, since: WallTime? = nil, batch: Int = 200, isRun: Bool
  ) throws {
    let records = try IntercomExport.stage(files, StagedRecords(storedData.connection))
    let source = try IntercomSource(
      records, since: since, space: "intercom:\(workspace):\(installation)")
    try self.init(storedData, workspace: workspace, from: source, batch: batch, isRun: isRun)
  }
}

struct IntercomSource: ImportSource {
  private let records: StagedRecords
  private let since: WallTime?
  let system: ImportedSystem
  let messageCount: Int64
  /// Names by the number of an admin.
  private let names: [String: String]

  init(_ records: StagedRecords, since: WallTime?, space: String) throws {
    self.records = records
    self.since = since
    system = ImportedSystem(
      name: "Intercom", word: "intercom", space: space, member: "admins", team: "teams",
      tag: "tags", reply: "macros", contact: "contacts", conversation: "conversations",
      message: "parts", rating: "ratings")
    messageCount = try records.messageCount(since: since)
    names = Dictionary(try records.list(.member).map { ($0.key, $0.value.text("name") ?? "") }) {
      $1
    }
  }

  /// Intercom's objects do not say who is an administrator: all are agents. Its own account, which
  /// sends what bots say, has an address of intercom.io.
  func members() throws -> [ImportedMember] {
    try records.list(.member).filter { !IntercomText.isBot($0.value) }.map {
      ImportedMember(
        key: $0.key, email: $0.value.text("email"), name: $0.value.text("name") ?? "",
        isAdmin: false)
    }
  }

  func teams() throws -> [ImportedTeam] {
    try records.list(.team).map {
      ImportedTeam(
        key: $0.key, name: $0.value.text("name") ?? "",
        members: ($0.value["admin_ids"]?.array ?? []).compactMap(\.key))
    }
  }

  func tags() throws -> [ImportedTag] {
    try records.list(.tag).map {
      ImportedTag(key: $0.key, name: $0.value.text("name") ?? "")
    }
  }

  /// `body_text` has placeholders as `{{user.name|fallback:"there"}}`, which stay as text.
  func replies() throws -> [ImportedReply] {
    var shortcuts = Shortcuts()
    return try records.list(.reply).map {
      ImportedReply(
        key: $0.key, shortcut: shortcuts.shortcut($0.value.text("name") ?? ""),
        text: $0.value.text("body_text")
          ?? PlainText.ofHTML($0.value.text("body") ?? "", withLinks: true))
    }
  }

  func contacts(after last: Int64) throws -> [ImportedContact] {
    try records.contacts(after: last, since: since).map { contact in
      let value = contact.value
      var attributes: [(String, JSONValue)] = [
        ("phone", value["phone"] ?? .null), ("city", value["location"]?["city"] ?? .null),
        ("country", value["location"]?["country"] ?? .null),
      ]
      let custom = value["custom_attributes"]?.object ?? [:]
      attributes += custom.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      let created = value.time("created_at") ?? contact.firstActivity
      return ImportedContact(
        key: contact.key, shownKey: contact.key, place: contact.place,
        conversations: contact.conversations, externalID: value["external_id"]?.key,
        name: value.text("name") ?? "", email: value.text("email"), attributes: attributes,
        createdAt: created ?? WallTime(microseconds: 0),
        seenAt: value.time("last_seen_at") ?? contact.lastActivity ?? created
          ?? WallTime(microseconds: 0))
    }
  }

  func conversations(after last: Int64, limit: Int) throws -> [ImportedConversation] {
    try records.conversations(after: last, limit: limit, since: since).map { record in
      let value = record.value
      let assignee = value["admin_assignee_id"]?.key.flatMap { $0 == "0" ? nil : $0 }
      var context = ConversationContext(page: value["source"]?.text("url")).members
      context[system.word] = .object([
        "number": .string(record.key),
        "title": .string(String((value.text("title") ?? "").prefix(100))),
      ])
      return ImportedConversation(
        key: record.key, place: record.place, isClosed: value.text("state") == "closed",
        remark: value.text("state") == "snoozed" ? "snoozed: imported as open" : nil,
        contact: record.contact.map {
          .init(
            key: $0.key, externalID: $0.value["external_id"]?.key,
            conversations: $0.conversations)
        },
        assignee: assignee, assigneeName: assignee.flatMap { names[$0] },
        team: value["team_assignee_id"]?.key, createdAt: value.time("created_at") ?? record.at,
        updatedAt: record.at,
        tags: (value["tags"]?["tags"]?.array ?? []).compactMap { $0.text("name") },
        channel: Self.channel(value["source"]?.text("type")), context: context,
        agentsSeenAt: value["read"]?.bool == true ? record.at : nil,
        rating: Self.rating(value["conversation_rating"]))
    }
  }

  /// `conversation`: by the messenger on a page.
  private static func channel(_ type: String?) -> String {
    guard let type, type != "conversation" else { return "web" }
    return String(type.prefix(32))
  }

  /// Nil while it was only asked for.
  private static func rating(_ value: JSONValue?) -> ImportedConversation.Rating? {
    guard let value, let stars = value["rating"]?.int else { return nil }
    return .init(
      value: Int64(stars), comment: value.text("remark"), agent: value["teammate"]?["id"]?.key,
      at: value.time("updated_at") ?? value.time("created_at"))
  }

  func messages(
    after first: Int64, upTo last: Int64, _ body: ([ImportedMessage]) throws -> Void
  ) throws {
    try records.messages(after: first, upTo: last, since: since) { rows in
      try body(
        (0..<rows.count).map { row in
          IntercomText.message(
            rows.value(row, 3), key: rows.text(row, 1) ?? "",
            conversation: rows.text(row, 0) ?? "", at: rows.time(row, 2))
        })
    }
  }
}
