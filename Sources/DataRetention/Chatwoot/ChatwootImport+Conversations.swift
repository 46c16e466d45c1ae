/// Conversations with their messages, read marks and ratings.
import Directory
import JSON
import Postgres
import Primitives

extension ChatwootImport {
  private static let commentLength = 2_000

  /// A page of conversations whose messages follow.
  struct Page {
    /// The conversations to whose log messages may be added, by their number in Chatwoot.
    var open: [Int64: Session] = [:]
    var marks = JSONRows()
    var ratings = JSONRows()

    struct Session {
      var id: Identifier
      var isNew: Bool
      var createdAt: WallTime
    }
  }

  mutating func importConversations(_ rows: Rows) throws -> Page {
    let contacts = (0..<rows.count).compactMap { row in
      rows.int(row, 3).map {
        Contact(id: $0, externalID: rows.text(row, 4), conversations: rows.text(row, 5))
      }
    }
    let matches = try match(contacts)
    let known = try knownSessions(rows)
    var page = Page()
    var fresh = JSONRows()
    var tags = JSONRows()
    var number: Int64 = 0
    for row in 0..<rows.count {
      let conversation = rows.int(row, 0) ?? 0
      let id = ids.id("conversations", conversation)
      if let contact = rows.int(row, 3), case .erased? = matches[contact] {
        findings.add("conversations", conversation, "of an erased visitor: not imported")
        continue
      }
      if known[id] == false {
        findings.add("conversations", conversation, "deleted in Chirrup: not imported")
        continue
      }
      let created = rows.time(row, 8) ?? WallTime(microseconds: 0)
      page.open[conversation] = .init(id: id, isNew: known[id] == nil, createdAt: created)
      appendMarks(id, rows, row, to: &page)
      appendRating(id, conversation, rows, row, to: &page)
      guard known[id] == nil else { continue }
      number += 1
      var visitor: Identifier?
      switch rows.int(row, 3).flatMap({ matches[$0] }) {
      case .known(let id), .new(let id): visitor = id
      case .erased, nil:
        findings.add("conversations", conversation, "without a contact: imported without one")
      }
      append(id, visitor, created, rows, row, to: &fresh)
      appendTags(id, conversation, rows, row, to: &tags)
    }
    if isRun {
      try storedData.connection.transaction { _ in
        try store(ChatwootStore.sessions, fresh)
        try store(ChatwootStore.sessionTags, tags)
      }
    }
    add(number, to: \.conversations)
    return page
  }

  /// The conversations of a page that exist, and whether they are not deleted.
  private func knownSessions(_ rows: Rows) throws(QueryFailure) -> [Identifier: Bool] {
    let all = (0..<rows.count).map { ids.id("conversations", rows.int($0, 0) ?? 0) }
    let found = try storedData.connection.run(
      Query(ChatwootStore.knownSessions, [.uuid(workspace), .uuids(all)]))
    var known: [Identifier: Bool] = [:]
    for row in 0..<found.count { known[found.uuid(row, 0) ?? .zero] = found.bool(row, 1) }
    return known
  }

  private mutating func append(
    _ id: Identifier, _ visitor: Identifier?, _ created: WallTime, _ rows: Rows, _ row: Int,
    to fresh: inout JSONRows
  ) {
    let conversation = rows.int(row, 0) ?? 0
    let assignee = rows.int(row, 6)
    let member = assignee.flatMap { members[$0] }
    let isClosed = rows.int(row, 2) == 1
    if !isClosed, assignee != nil, member == nil {
      findings.add("conversations", conversation, "of a former member: in the queue")
    }
    switch rows.int(row, 2) {
    case 2: findings.add("conversations", conversation, "pending: imported as open")
    case 3: findings.add("conversations", conversation, "snoozed: imported as open")
    default: break
    }
    let context = context(rows, row)
    fresh.append {
      $0.appendMember("id", id)
      if let visitor { $0.appendMember("visitor", visitor) }
      $0.appendMember(
        "status", isClosed ? "closed" : member == nil ? "waiting" : "active")
      $0.appendMember("created_at", created)
      $0.appendMember("updated_at", rows.time(row, 9) ?? created)
      if let member { $0.appendMember("operator", member.id) }
      $0.appendMember("operator_name", ifAny: member?.name ?? (isClosed ? rows.text(row, 7) : nil))
      $0.appendMember("channel", Self.channel(rows.text(row, 12)))
      $0.appendMember("context", json: context)
    }
  }

  /// `Channel::WebWidget` is `web`, `Channel::TwilioSms` is `twiliosms`.
  private static func channel(_ type: String?) -> String {
    let name = (type ?? "").split(separator: ":").last.map { $0.lowercased() } ?? ""
    return name.isEmpty || name == "webwidget" ? "web" : String(name.prefix(32))
  }

  /// The page on which it began, the language, and its number and inbox in Chatwoot.
  private func context(_ rows: Rows, _ row: Int) -> [UInt8] {
    let more = rows.text(row, 10).flatMap { JSONValue($0) }
    var context: [String: JSONValue] = [
      "chatwoot": .object([
        "number": .int(Int(rows.int(row, 1) ?? 0)),
        "inbox": .string(String((rows.text(row, 13) ?? "").prefix(100))),
      ])
    ]
    let page = more?["referer"]?.string ?? ""
    if page.hasPrefix("http"), page.utf8.count <= 2_048 { context["page"] = .string(page) }
    let language = more?["browser_language"]?.string ?? ""
    if !language.isEmpty, language.utf8.count <= 35 { context["locale"] = .string(language) }
    return JSONValue.object(context).text
  }

  private mutating func appendTags(
    _ id: Identifier, _ conversation: Int64, _ rows: Rows, _ row: Int, to tags: inout JSONRows
  ) {
    let labels = (rows.text(row, 11) ?? "").split(separator: "\n")
    for label in labels {
      guard let name = Self.tag(String(label)) else {
        findings.add("conversations", conversation, "with a label that cannot be a tag: without it")
        continue
      }
      tags.append {
        $0.appendMember("session", id)
        $0.appendMember("tag", name)
      }
    }
  }

  private func appendMarks(_ id: Identifier, _ rows: Rows, _ row: Int, to page: inout Page) {
    let isClosed = rows.int(row, 2) == 1
    let visitor = rows.time(row, 14)
    // Nobody has to read a closed conversation.
    let agents = isClosed ? max(rows.time(row, 15), rows.time(row, 9)) : rows.time(row, 15)
    guard visitor != nil || agents != nil else { return }
    page.marks.append {
      $0.appendMember("session", id)
      $0.appendMember("visitor_at", visitor)
      $0.appendMember("operator_at", agents)
    }
  }

  private mutating func appendRating(
    _ id: Identifier, _ conversation: Int64, _ rows: Rows, _ row: Int, to page: inout Page
  ) {
    guard let rating = rows.int(row, 16) else { return }
    guard (1...5).contains(rating), let at = rows.time(row, 18) else {
      findings.add("csat_survey_responses", conversation, "of an unknown rating: not imported")
      return
    }
    let comment = rows.text(row, 17)?.trimmed ?? ""
    let agent = rows.int(row, 19).flatMap { members[$0] }
    page.ratings.append {
      $0.appendMember("session", id)
      $0.appendMember("rating", rating)
      $0.appendMember(
        "comment", ifAny: comment.isEmpty ? nil : comment.cut(scalars: Self.commentLength))
      if let agent { $0.appendMember("operator", agent.id) }
      $0.appendMember("at", at)
    }
  }

  /// Stores the read marks and ratings, which refer to the page's messages.
  mutating func finish(_ page: Page) throws {
    if isRun {
      try store(ChatwootStore.marks, page.marks)
    }
    let made = try store(ChatwootStore.ratings, page.ratings, [.bool(isRun)])
    add(made?.int(0, 0) ?? 0, to: \.ratings)
  }

  /// Running gateways send the conversations to the consoles that show their workspace.
  func announce(_ page: Page) throws(QueryFailure) {
    try storedData.connection.run(
      Query(ChatwootStore.announcement, [.uuid(workspace), .uuids(page.open.values.map(\.id))]))
  }
}

// MARK: Messages

extension ChatwootImport {
  /// An entry of a log that one row of `messages` has become, or a part of it.
  struct Entry {
    var row: Int64
    var id: Identifier
    var session: Identifier
    var json: (inout [UInt8]) -> Void
  }

  mutating func importMessages(_ rows: Rows, of page: Page) throws {
    var entries: [Entry] = []
    for row in 0..<rows.count {
      let message = ChatwootMessage(rows, row)
      guard let session = page.open[message.conversation] else { continue }
      if let reason = message.reason { findings.add("messages", message.id, reason) }
      append(message, session, to: &entries)
    }
    let isNew = Set(page.open.values.filter(\.isNew).map(\.id))
    if !isRun {
      // A conversation that is not stored has no messages.
      let others = entries.filter { !isNew.contains($0.session) }
      let known = try knownMessages(others)
      return add(Int64(entries.count - known.count), to: \.messages)
    }
    try store(entries[...])
  }

  private func append(
    _ message: ChatwootMessage, _ session: Page.Session, to entries: inout [Entry]
  ) {
    let kind = message.isNote ? "note" : message.role == .system ? "event" : "text"
    let member = message.user.flatMap { members[$0] }
    let at = message.at ?? session.createdAt
    for (part, text) in message.texts.enumerated() {
      let id = ids.id("messages", message.id, part: part)
      entries.append(
        Entry(row: message.id, id: id, session: session.id) {
          $0.appendMember("id", id)
          $0.appendMember("session", session.id)
          $0.appendMember("role", message.role.rawValue)
          $0.appendMember("kind", kind)
          $0.appendMember("body", text)
          if let member { $0.appendMember("operator", member.id) }
          $0.appendMember("name", ifAny: message.role == .operator ? message.name : nil)
          $0.appendMember("at", at)
        })
    }
  }

  private func knownMessages(_ entries: [Entry]) throws(QueryFailure) -> Set<Identifier> {
    guard !entries.isEmpty else { return [] }
    let rows = try storedData.connection.run(
      Query(ChatwootStore.knownMessages, [.uuid(workspace), .uuids(entries.map(\.id))]))
    return Set((0..<rows.count).compactMap { rows.uuid($0, 0) })
  }

  /// Stores entries in one transaction. If PostgreSQL refuses the data of one, the halves are
  /// stored separately, until that one is alone and is left out.
  private mutating func store(_ entries: ArraySlice<Entry>) throws {
    guard !entries.isEmpty else { return }
    do {
      let number = try storedData.connection.transaction { connection in
        let sessions = Set(entries.map(\.session)).sorted()
        try connection.run(
          Query(ChatwootStore.lock, [.uuid(workspace), .uuids(sessions)]))
        let known = try knownMessages(Array(entries))
        var fresh = JSONRows()
        var n: Int64 = 0
        for entry in entries where !known.contains(entry.id) {
          n += 1
          fresh.append {
            $0.appendMember("n", n)
            entry.json(&$0)
          }
        }
        try store(ChatwootStore.messages, fresh)
        return n
      }
      add(number, to: \.messages)
    } catch QueryFailure.refused(let state, _) where state.isOfData {
      guard entries.count > 1 else {
        let row = entries.first?.row ?? 0
        return findings.add("messages", row, "refused by PostgreSQL (\(state.code)): not imported")
      }
      let middle = entries.startIndex + entries.count / 2
      try store(entries[..<middle])
      try store(entries[middle...])
    }
  }
}

extension SQLState {
  /// Data exceptions and violated constraints (classes 22 and 23).
  fileprivate var isOfData: Bool { code.hasPrefix("22") || code.hasPrefix("23") }
}

extension String {
  fileprivate func cut(scalars count: Int) -> String {
    String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
  }
}

private func max(_ one: WallTime?, _ other: WallTime?) -> WallTime? {
  guard let one, let other else { return one ?? other }
  return Swift.max(one, other)
}
