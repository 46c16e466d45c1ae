/// Reads an export of a Live Helper Chat database, as config/live-helper-chat.sql writes it: an
/// object a line, with the name of its table. The first line names the format, the last one says
/// that the export is whole.
import JSON
import Postgres
public import Primitives

extension ConversationImport {
  /// Reads and checks a whole export of Live Helper Chat.
  ///
  /// - Parameters:
  ///   - installation: tells several ones of a workspace apart.
  ///   - identity: the field of a chat that has the host site's id of the visitor, if any has.
  ///   - since: leaves out conversations without an activity since then; nil: none.
  ///   - isRun: false only counts, and changes nothing.
  public init(
    _ storedData: StoredData, workspace: Identifier, fromLiveHelperChat export: ImportFile,
    installation: String, identity: String? = nil, since: WallTime? = nil, batch: Int = 200,
    isRun: Bool
  ) throws {
    let records = try LiveHelperChatExport(identity: identity)
      .stage(export, StagedRecords(storedData.connection))
    let source = try LiveHelperChatSource(
      records, since: since, space: "live-helper-chat:\(workspace):\(installation)")
    try self.init(storedData, workspace: workspace, from: source, batch: batch, isRun: isRun)
  }
}

struct LiveHelperChatSource: ImportSource {
  private let records: StagedRecords
  private let since: WallTime?
  let system: ImportedSystem
  let messageCount: Int64
  /// Names by the number of a user, a department and a subject; also of those that are disabled.
  private let names: [String: String]
  private let departments: [String: String]
  private let subjects: [String: String]

  init(_ records: StagedRecords, since: WallTime?, space: String) throws {
    self.records = records
    self.since = since
    system = ImportedSystem(
      name: "Live Helper Chat", word: "live_helper_chat", space: space, member: "lh_users",
      team: "lh_departament", tag: "lh_abstract_subject", reply: "lh_canned_msg",
      contact: "visitors", conversation: "lh_chat", message: "lh_msg", rating: "ratings")
    messageCount = try records.messageCount(since: since)
    func names(_ kind: StagedRecords.Kind) throws -> [String: String] {
      let list = try records.list(kind).map { ($0.key, $0.value.text("name") ?? "") }
      return Dictionary(list) { $1 }
    }
    self.names = try names(.member)
    departments = try names(.team)
    subjects = try names(.tag)
  }

  func members() throws -> [ImportedMember] {
    try records.list(.member).filter { !$0.value.flag("disabled") }.map {
      ImportedMember(
        key: $0.key, email: $0.value.text("email"), name: $0.value.text("name") ?? "",
        isAdmin: $0.value.flag("administrator"))
    }
  }

  func teams() throws -> [ImportedTeam] {
    var people: [String: [String]] = [:]
    for pair in try records.list(.teamMember) {
      people[pair.value["department"]?.key ?? "", default: []].append(pair.value["user"]?.key ?? "")
    }
    return try records.list(.team).filter { !$0.value.flag("disabled") }.map {
      ImportedTeam(
        key: $0.key, name: $0.value.text("name") ?? "", members: people[$0.key] ?? [])
    }
  }

  func tags() throws -> [ImportedTag] {
    try records.list(.tag).map {
      let colour = $0.value.text("color") ?? ""
      return ImportedTag(
        key: $0.key, name: $0.value.text("name") ?? "",
        colour: colour.hasPrefix("#") ? colour : "#" + colour)
    }
  }

  func replies() throws -> [ImportedReply] {
    var shortcuts = Shortcuts()
    return try records.list(.reply).map {
      ImportedReply(
        key: $0.key, shortcut: shortcuts.shortcut($0.value.text("title") ?? ""),
        text: LiveHelperChatText.plain($0.value["msg"]?.string ?? "", files: [:]))
    }
  }

  func contacts(after last: Int64) throws -> [ImportedContact] {
    try records.contacts(after: last, since: since).map { contact in
      let value = contact.value
      var attributes: [(String, JSONValue)] = [
        ("phone", value["phone"] ?? .null), ("city", value["city"] ?? .null),
        ("country", value["country"] ?? .null),
      ]
      for field in value["fields"]?.array ?? [] {
        if let name = field.text("name") { attributes.append((name, field["value"] ?? .null)) }
      }
      let seen = contact.lastActivity ?? WallTime(microseconds: 0)
      return ImportedContact(
        key: contact.key, shownKey: contact.conversations.first.map { "chat \($0)" } ?? "",
        place: contact.place, conversations: contact.conversations,
        externalID: value.text("identity"), name: value.text("name") ?? "",
        email: value.text("email"), attributes: attributes,
        createdAt: value.time("since") ?? contact.firstActivity ?? seen, seenAt: seen)
    }
  }

  func conversations(after last: Int64, limit: Int) throws -> [ImportedConversation] {
    let page = try records.conversations(after: last, limit: limit, since: since)
    guard let end = page.last else { return [] }
    let labels = try records.children(.label, after: last, upTo: end.place)
    let ratings = try records.children(.rating, after: last, upTo: end.place)
    return page.map { record in
      let chat = record.value
      let status = chat["status"]?.int
      let user = chat["user"]?.key.flatMap { $0 == "0" ? nil : $0 }
      var context = ConversationContext(
        page: chat.text("referrer"), language: chat.text("locale")
      ).members
      context[system.word] = .object([
        "number": chat["id"] ?? .null,
        "department": .string(departments[chat["department"]?.key ?? ""] ?? ""),
      ])
      let rating = ratings[record.key]?.last?.value
      return ImportedConversation(
        key: record.key, place: record.place, isClosed: status == 2,
        remark: status == 5 ? "with a bot: imported as open" : nil,
        contact: record.contact.map {
          .init(
            key: $0.key, externalID: $0.value.text("identity"), conversations: $0.conversations)
        },
        assignee: user, assigneeName: user.flatMap { names[$0] },
        team: chat["department"]?.key, createdAt: chat.time("time") ?? record.at,
        updatedAt: record.at,
        tags: (labels[record.key] ?? []).compactMap { subjects[$0.value["subject"]?.key ?? ""] },
        channel: "web", context: context,
        rating: rating.map(Self.survey) ?? Self.vote(chat, at: record.at))
    }
  }

  /// A survey with five stars; another scale is an unknown rating.
  private static func survey(_ answer: JSONValue) -> ImportedConversation.Rating {
    .init(
      value: answer["scale"]?.int == 5 ? Int64(answer["stars"]?.int ?? 0) : 0,
      comment: answer.text("comment"), agent: answer["user"]?.key, at: answer.time("time"))
  }

  /// A thumb up (1) is the best rating, and one down (2) the worst.
  private static func vote(_ chat: JSONValue, at: WallTime) -> ImportedConversation.Rating? {
    switch chat["vote"]?.int {
    case 1: .init(value: 5, comment: nil, agent: chat["user"]?.key, at: at)
    case 2: .init(value: 1, comment: nil, agent: chat["user"]?.key, at: at)
    default: nil
    }
  }

  func messages(
    after first: Int64, upTo last: Int64, _ body: ([ImportedMessage]) throws -> Void
  ) throws {
    let files = try records.children(.file, after: first, upTo: last).mapValues { list in
      Dictionary(list.map { ($0.key, $0.value) }) { $1 }
    }
    try records.messages(after: first, upTo: last, since: since) { rows in
      try body(
        (0..<rows.count).map { row in
          let chat = rows.text(row, 0) ?? ""
          return LiveHelperChatText.message(
            rows.value(row, 3), key: rows.text(row, 1) ?? "", conversation: chat,
            at: rows.time(row, 2), files: files[chat] ?? [:])
        })
    }
  }
}

extension JSONValue {
  /// Seconds since 1970; nil if it is missing, zero or no such time.
  func time(_ member: String) -> WallTime? {
    // Up to the year 9999.
    guard let seconds = self[member]?.int, (1...253_402_300_799).contains(seconds) else {
      return nil
    }
    return WallTime(microseconds: Int64(seconds) * 1_000_000)
  }
}
