/// Conversations with their messages, read marks and ratings.
import Directory
import JSON
import Postgres
import Primitives

extension ConversationImport {
  private static let commentLength = 2_000

  /// A page of conversations whose messages follow.
  struct Page {
    /// The conversations to whose log messages may be added, by their key.
    var open: [String: Session] = [:]
    var marks = JSONRows()
    var ratings = JSONRows()

    struct Session {
      var id: Identifier
      var isNew: Bool
      var createdAt: WallTime
    }
  }

  mutating func importConversations(_ conversations: [ImportedConversation]) throws -> Page {
    let table = source.system.conversation
    let matches = try match(conversations.compactMap { $0.contact })
    let known = try knownSessions(conversations)
    var page = Page()
    var fresh = JSONRows()
    var tags = JSONRows()
    var number: Int64 = 0
    for conversation in conversations {
      let key = conversation.key
      let id = ids.id("conversations", key)
      if let contact = conversation.contact, case .erased? = matches[contact.key] {
        findings.add(table, key, "of an erased visitor: not imported")
        continue
      }
      if known[id] == false {
        findings.add(table, key, "deleted in Chirrup: not imported")
        continue
      }
      page.open[key] = .init(id: id, isNew: known[id] == nil, createdAt: conversation.createdAt)
      appendMarks(id, conversation, to: &page)
      appendRating(id, conversation, to: &page)
      guard known[id] == nil else { continue }
      number += 1
      var visitor: Identifier?
      switch conversation.contact.flatMap({ matches[$0.key] }) {
      case .known(let id), .new(let id): visitor = id
      case .erased, nil: findings.add(table, key, "without a contact: imported without one")
      }
      append(id, visitor, conversation, to: &fresh)
      appendTags(id, conversation, to: &tags)
    }
    if isRun {
      try storedData.connection.transaction { _ in
        try store(ImportStore.sessions, fresh)
        try store(ImportStore.sessionTags, tags)
      }
    }
    add(number, to: \.conversations)
    return page
  }

  /// The conversations of a page that exist, and whether they are not deleted.
  private func knownSessions(
    _ conversations: [ImportedConversation]
  ) throws(QueryFailure) -> [Identifier: Bool] {
    let all = conversations.map { ids.id("conversations", $0.key) }
    let found = try storedData.connection.run(
      Query(ImportStore.knownSessions, [.uuid(workspace), .uuids(all)]))
    var known: [Identifier: Bool] = [:]
    for row in 0..<found.count { known[found.uuid(row, 0) ?? .zero] = found.bool(row, 1) }
    return known
  }

  private mutating func append(
    _ id: Identifier, _ visitor: Identifier?, _ conversation: ImportedConversation,
    to fresh: inout JSONRows
  ) {
    let table = source.system.conversation
    let member = conversation.assignee.flatMap { members[$0] }
    let isClosed = conversation.isClosed
    if !isClosed, conversation.assignee != nil, member == nil {
      findings.add(table, conversation.key, "of a former member: in the queue")
    }
    if let remark = conversation.remark { findings.add(table, conversation.key, remark) }
    let team = conversation.team.flatMap { teams[$0] }
    fresh.append {
      $0.appendMember("id", id)
      if let visitor { $0.appendMember("visitor", visitor) }
      $0.appendMember(
        "status", isClosed ? "closed" : member == nil ? "waiting" : "active")
      $0.appendMember("created_at", conversation.createdAt)
      $0.appendMember("updated_at", conversation.updatedAt)
      if let member { $0.appendMember("operator", member.id) }
      $0.appendMember(
        "operator_name", ifAny: member?.name ?? (isClosed ? conversation.assigneeName : nil))
      $0.appendMember("channel", conversation.channel)
      $0.appendMember("context", json: JSONValue.object(conversation.context).text)
      if let team { $0.appendMember("team", team) }
    }
  }

  private mutating func appendTags(
    _ id: Identifier, _ conversation: ImportedConversation, to tags: inout JSONRows
  ) {
    for label in conversation.tags {
      guard let name = Self.tag(label) else {
        findings.add(
          source.system.conversation, conversation.key,
          "with a label that cannot be a tag: without it")
        continue
      }
      tags.append {
        $0.appendMember("session", id)
        $0.appendMember("tag", name)
      }
    }
  }

  private func appendMarks(
    _ id: Identifier, _ conversation: ImportedConversation, to page: inout Page
  ) {
    let visitor = conversation.visitorSeenAt
    // Nobody has to read a closed conversation.
    let agents =
      conversation.isClosed
      ? max(conversation.agentsSeenAt, conversation.updatedAt) : conversation.agentsSeenAt
    guard visitor != nil || agents != nil else { return }
    page.marks.append {
      $0.appendMember("session", id)
      $0.appendMember("visitor_at", visitor)
      $0.appendMember("operator_at", agents)
    }
  }

  private mutating func appendRating(
    _ id: Identifier, _ conversation: ImportedConversation, to page: inout Page
  ) {
    guard let rating = conversation.rating else { return }
    guard (1...5).contains(rating.value), let at = rating.at else {
      findings.add(
        source.system.rating, conversation.key, "of an unknown rating: not imported")
      return
    }
    let comment = rating.comment?.trimmed ?? ""
    let agent = rating.agent.flatMap { members[$0] }
    page.ratings.append {
      $0.appendMember("session", id)
      $0.appendMember("rating", rating.value)
      $0.appendMember(
        "comment", ifAny: comment.isEmpty ? nil : comment.cut(scalars: Self.commentLength))
      if let agent { $0.appendMember("operator", agent.id) }
      $0.appendMember("at", at)
    }
  }

  /// Stores the read marks and ratings, which refer to the page's messages.
  mutating func finish(_ page: Page) throws {
    if isRun {
      try store(ImportStore.marks, page.marks)
    }
    let made = try store(ImportStore.ratings, page.ratings, [.bool(isRun)])
    add(made?.int(0, 0) ?? 0, to: \.ratings)
  }

  /// Running gateways send the conversations to the consoles that show their workspace.
  func announce(_ page: Page) throws(QueryFailure) {
    try storedData.connection.run(
      Query(ImportStore.announcement, [.uuid(workspace), .uuids(page.open.values.map(\.id))]))
  }
}

// MARK: Messages

extension ConversationImport {
  /// An entry of a log that one message has become, or a part of it.
  struct Entry {
    /// The message's key.
    var row: String
    var id: Identifier
    var session: Identifier
    var json: (inout [UInt8]) -> Void
  }

  mutating func importMessages(_ messages: [ImportedMessage], of page: Page) throws {
    var entries: [Entry] = []
    for message in messages {
      guard let session = page.open[message.conversation] else { continue }
      if let reason = message.reason {
        findings.add(source.system.message, message.key, reason)
      }
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
    _ message: ImportedMessage, _ session: Page.Session, to entries: inout [Entry]
  ) {
    let isSigned = message.role == .operator || message.role == .bot
    let kind = message.isNote ? "note" : message.role == .system ? "event" : "text"
    let member = message.user.flatMap { members[$0] }
    let at = message.at ?? session.createdAt
    for (part, text) in message.texts.enumerated() {
      let id = ids.id("messages", message.key, part: part)
      entries.append(
        Entry(row: message.key, id: id, session: session.id) {
          $0.appendMember("id", id)
          $0.appendMember("session", session.id)
          $0.appendMember("role", message.role.rawValue)
          $0.appendMember("kind", kind)
          $0.appendMember("body", text)
          if let member { $0.appendMember("operator", member.id) }
          $0.appendMember("name", ifAny: isSigned ? message.name : nil)
          $0.appendMember("at", at)
        })
    }
  }

  private func knownMessages(_ entries: [Entry]) throws(QueryFailure) -> Set<Identifier> {
    guard !entries.isEmpty else { return [] }
    let rows = try storedData.connection.run(
      Query(ImportStore.knownMessages, [.uuid(workspace), .uuids(entries.map(\.id))]))
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
          Query(ImportStore.lock, [.uuid(workspace), .uuids(sessions)]))
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
        try store(ImportStore.messages, fresh)
        return n
      }
      add(number, to: \.messages)
    } catch QueryFailure.refused(let state, _) where state.isOfData {
      guard entries.count > 1 else {
        let row = entries.first?.row ?? ""
        return findings.add(
          source.system.message, row, "refused by PostgreSQL (\(state.code)): not imported")
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
  func cut(scalars count: Int) -> String {
    String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
  }
}

private func max(_ one: WallTime?, _ other: WallTime?) -> WallTime? {
  guard let one, let other else { return one ?? other }
  return Swift.max(one, other)
}
