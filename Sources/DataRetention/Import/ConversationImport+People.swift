/// Members, teams, tags, canned replies and contacts.
import Directory
import JSON
import Postgres
import Primitives

extension ConversationImport {
  /// Characters of a visitor's name, and of an operator's.
  private static let nameLength = 100
  private static let emailLength = 254
  private static let externalIDLength = 200
  private static let tagLength = 50
  private static let shortcutLength = 32
  /// Characters of an attribute's name, and of its value.
  private static let attributeNameLength = 64
  private static let attributeLength = 512

  private static let teamLength = 50

  mutating func importMembers() throws {
    let table = source.system.member
    for user in try source.members() {
      let email = user.email?.trimmed.lowercased() ?? ""
      guard email.contains("@"), email.count <= Self.emailLength else {
        findings.add(table, user.key, "without a valid e-mail address: not imported")
        continue
      }
      let name = String(user.name.trimmed.prefix(Self.nameLength))
      let known = try storedData.connection.run(
        Query(
          isRun ? ImportStore.member : ImportStore.memberPlan,
          [
            .uuid(workspace), .uuid(ids.id("users", user.key)), .text(email),
            .text(name.isEmpty ? email : name), .text(user.isAdmin ? "admin" : "agent"),
            .time(user.createdAt), .int(Members.countMax),
          ]))
      guard !known.isEmpty, let id = known.uuid(0, 0) else {
        findings.add(
          table, user.key, "removed from the workspace, or too many: not a member again")
        continue
      }
      members[user.key] = (id, known.text(0, 1) ?? name)
      guard known.bool(0, 3) == true else { continue }
      add(1, to: \.members)
      if known.bool(0, 2) != true {
        findings.add(
          table, user.key, "has an account with this address: becomes a member with it")
      }
    }
  }

  /// A team that exists stays as it is; the members of a new one are those who are members.
  mutating func importTeams() throws {
    let table = source.system.team
    for team in try source.teams() {
      let name = team.name.trimmed
      guard (1...Self.teamLength).contains(name.unicodeScalars.count) else {
        findings.add(table, team.key, "without a name, or longer than 50: not imported")
        continue
      }
      let people = team.members.compactMap { members[$0]?.id }
      let made = try storedData.connection.transaction { connection in
        let rows = try connection.run(
          Query(
            ImportStore.team,
            [
              .uuid(workspace), .uuid(ids.id("teams", team.key)), .text(name),
              .int(TeamBounds.countMax), .bool(isRun),
            ]))
        if isRun, !rows.isEmpty, rows.bool(0, 1) == true, let id = rows.uuid(0, 0) {
          try connection.run(
            Query(
              ImportStore.teamMembers,
              [.uuid(workspace), .uuid(id), .uuids(Array(people.prefix(TeamBounds.membersMax)))]))
        }
        return rows
      }
      guard !made.isEmpty, let id = made.uuid(0, 0) else {
        findings.add(table, team.key, "deleted in Chirrup, or too many: not imported")
        continue
      }
      teams[team.key] = id
      if made.bool(0, 1) == true { add(1, to: \.teams) }
    }
  }

  mutating func importTags() throws {
    var tags = JSONRows()
    for tag in try source.tags() {
      guard let name = Self.tag(tag.name) else {
        findings.add(
          source.system.tag, tag.key, "without a title, or longer than 50: not imported")
        continue
      }
      let colour = tag.colour ?? ""
      let isColour =
        colour.utf8.count == 7 && colour.hasPrefix("#")
        && colour.dropFirst().allSatisfy { $0.isASCII && $0.isHexDigit }
      tags.append {
        $0.appendMember("name", name)
        $0.appendMember("colour", ifAny: isColour ? colour.lowercased() : nil)
      }
    }
    let made = try store(ImportStore.tags, tags, [.int(Tags.countMax), .bool(isRun)])
    add(made?.int(0, 0) ?? 0, to: \.tags)
  }

  /// The tag of a label; nil if it cannot be one.
  static func tag(_ label: String) -> String? {
    let name = label.trimmed
    return (1...tagLength).contains(name.unicodeScalars.count) ? name : nil
  }

  mutating func importReplies() throws {
    let table = source.system.reply
    var replies = JSONRows()
    for (place, reply) in try source.replies().enumerated() {
      let shortcut = reply.shortcut.trimmed
      guard (1...Self.shortcutLength).contains(shortcut.unicodeScalars.count),
        !shortcut.contains(where: { $0.isWhitespace || $0 == "/" })
      else {
        findings.add(table, reply.key, "whose code cannot be a shortcut: not imported")
        continue
      }
      guard !reply.text.isEmpty, reply.text.utf8.count <= ReplyText.bytes else {
        findings.add(table, reply.key, "without text, or too long: not imported")
        continue
      }
      replies.append {
        $0.appendMember("n", Int64(place))
        $0.appendMember("name", shortcut)
        $0.appendMember("shortcut", shortcut)
        $0.appendMember("body", reply.text)
      }
    }
    let made = try store(ImportStore.replies, replies, [.bool(isRun)])
    add(made?.int(0, 0) ?? 0, to: \.cannedReplies)
  }

  /// The visitor of a contact.
  enum Match {
    /// Was erased, and does not come back.
    case erased
    case known(Identifier)
    case new(Identifier)
  }

  static func externalID(_ identifier: String?) -> String? {
    identifier.flatMap { $0.unicodeScalars.count <= externalIDLength ? $0 : nil }
  }

  func match(
    _ contacts: [ImportedConversation.Contact]
  ) throws(QueryFailure) -> [String: Match] {
    var given = JSONRows()
    for contact in contacts {
      given.append {
        $0.appendMember("contact", contact.key)
        $0.appendMember("id", ids.id("contacts", contact.key))
        $0.appendMember("external_id", ifAny: Self.externalID(contact.externalID))
        $0.appendMember(
          "sessions", texts: contact.conversations.map { "\(ids.id("conversations", $0))" })
      }
    }
    var matches: [String: Match] = [:]
    guard let rows = try store(ImportStore.visitorsOf, given) else { return matches }
    for row in 0..<rows.count {
      guard let contact = rows.text(row, 0) else { continue }
      let derived = ids.id("contacts", contact)
      if erased.contains(derived) || rows.bool(row, 2) == true {
        matches[contact] = .erased
      } else if let visitor = rows.uuid(row, 1) {
        matches[contact] = .known(visitor)
      } else {
        matches[contact] = .new(derived)
      }
    }
    return matches
  }

  mutating func importContacts() throws {
    let table = source.system.contact
    var last: Int64 = 0
    while true {
      let contacts = try source.contacts(after: last)
      guard let end = contacts.last else { return }
      last = end.place
      let matches = try match(
        contacts.map {
          .init(key: $0.key, externalID: $0.externalID, conversations: $0.conversations)
        })
      var fresh = JSONRows()
      var number: Int64 = 0
      for contact in contacts {
        switch matches[contact.key] {
        case .erased, nil: findings.add(table, contact.shownKey, "erased in Chirrup: not imported")
        case .known(let visitor):
          if visitor != ids.id("contacts", contact.key) {
            findings.add(table, contact.shownKey, "is a visitor with this identifier: joined")
          }
        case .new(let id):
          append(id, contact, to: &fresh)
          number += 1
        }
      }
      if isRun { try store(ImportStore.visitors, fresh) }
      add(number, to: \.visitors)
    }
  }

  private mutating func append(
    _ id: Identifier, _ contact: ImportedContact, to fresh: inout JSONRows
  ) {
    let email = contact.email.flatMap { $0.count <= Self.emailLength ? $0 : nil }
    let externalID = Self.externalID(contact.externalID)
    if contact.externalID != nil, externalID == nil {
      findings.add(
        source.system.contact, contact.shownKey, "with too long an identifier: imported without it")
    }
    let attributes = attributes(contact)
    let seen = max(contact.seenAt, contact.createdAt)
    fresh.append {
      $0.appendMember("id", id)
      $0.appendMember("external_id", ifAny: externalID)
      $0.appendMember("name", String(contact.name.prefix(Self.nameLength)))
      $0.appendMember("email", ifAny: email)
      $0.appendMember("attributes", json: attributes)
      $0.appendMember("banned_at", contact.isBlocked ? seen : nil)
      $0.appendMember("created_at", contact.createdAt)
      $0.appendMember("last_seen_at", seen)
    }
  }

  /// As a JSON object.
  private mutating func attributes(_ contact: ImportedContact) -> [UInt8] {
    var members: [String: JSONValue] = [:]
    for (name, value) in contact.attributes where value != .null && value != .string("") {
      let name = String(name.prefix(Self.attributeNameLength))
      guard members.count < VisitorProfile.attributesMax || members[name] != nil else {
        findings.add(
          source.system.contact, contact.shownKey,
          "with more than 32 attributes: imported with 32")
        break
      }
      members[name] =
        switch value {
        case .string(let text): .string(String(text.prefix(Self.attributeLength)))
        case .bool, .number: value
        default:
          .string(String(String(decoding: value.text, as: UTF8.self).prefix(Self.attributeLength)))
        }
    }
    return JSONValue.object(members).text
  }
}

/// The text of a canned reply.
private enum ReplyText {
  /// As many bytes as a payload may have, less those of its braces and escapes.
  static let bytes = 4_000
}

extension String {
  var trimmed: String {
    let blank = { (character: Character) in character.isWhitespace }
    let start = drop(while: blank)
    return String(start.reversed().drop(while: blank).reversed())
  }
}
