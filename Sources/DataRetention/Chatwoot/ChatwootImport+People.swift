/// Members, labels, canned responses and contacts.
import Directory
import JSON
import Postgres
import Primitives

extension ChatwootImport {
  /// Characters of a visitor's name, and of an operator's.
  private static let nameLength = 100
  private static let emailLength = 254
  private static let externalIDLength = 200
  private static let tagLength = 50
  private static let shortcutLength = 32
  /// Characters of an attribute's name, and of its value.
  private static let attributeNameLength = 64
  private static let attributeLength = 512

  mutating func importMembers() throws {
    let rows = try source.members()
    for row in 0..<rows.count {
      let user = rows.int(row, 0) ?? 0
      let email = rows.text(row, 1)?.trimmed.lowercased() ?? ""
      guard email.contains("@"), email.count <= Self.emailLength else {
        findings.add("users", user, "without a valid e-mail address: not imported")
        continue
      }
      let name = String((rows.text(row, 2)?.trimmed ?? "").prefix(Self.nameLength))
      let known = try storedData.connection.run(
        Query(
          isRun ? ChatwootStore.member : ChatwootStore.memberPlan,
          [
            .uuid(workspace), .uuid(ids.id("users", user)), .text(email),
            .text(name.isEmpty ? email : name), .text(rows.int(row, 3) == 1 ? "admin" : "agent"),
            .time(rows.time(row, 4)), .int(Members.countMax),
          ]))
      guard !known.isEmpty, let id = known.uuid(0, 0) else {
        findings.add("users", user, "removed from the workspace, or too many: not a member again")
        continue
      }
      members[user] = (id, known.text(0, 1) ?? name)
      guard known.bool(0, 3) == true else { continue }
      add(1, to: \.members)
      if known.bool(0, 2) != true {
        findings.add("users", user, "has an account with this address: becomes a member with it")
      }
    }
  }

  mutating func importTags() throws {
    let rows = try source.labels()
    var tags = JSONRows()
    for row in 0..<rows.count {
      let label = rows.int(row, 0) ?? 0
      guard let name = ChatwootImport.tag(rows.text(row, 1) ?? "") else {
        findings.add("labels", label, "without a title, or longer than 50: not imported")
        continue
      }
      let colour = rows.text(row, 2) ?? ""
      let isColour =
        colour.utf8.count == 7 && colour.hasPrefix("#")
        && colour.dropFirst().allSatisfy { $0.isASCII && $0.isHexDigit }
      tags.append {
        $0.appendMember("name", name)
        $0.appendMember("colour", ifAny: isColour ? colour : nil)
      }
    }
    let made = try store(ChatwootStore.tags, tags, [.int(Tags.countMax), .bool(isRun)])
    add(made?.int(0, 0) ?? 0, to: \.tags)
  }

  /// The tag of a label; nil if it cannot be one.
  static func tag(_ label: String) -> String? {
    let name = label.trimmed
    return (1...tagLength).contains(name.unicodeScalars.count) ? name : nil
  }

  mutating func importReplies() throws {
    let rows = try source.cannedResponses()
    var replies = JSONRows()
    for row in 0..<rows.count {
      let id = rows.int(row, 0) ?? 0
      let shortcut = rows.text(row, 1)?.trimmed ?? ""
      let text = rows.text(row, 2) ?? ""
      guard (1...Self.shortcutLength).contains(shortcut.unicodeScalars.count),
        !shortcut.contains(where: { $0.isWhitespace || $0 == "/" })
      else {
        findings.add("canned_responses", id, "whose code cannot be a shortcut: not imported")
        continue
      }
      guard !text.isEmpty, text.utf8.count <= ReplyText.bytes else {
        findings.add("canned_responses", id, "without text, or too long: not imported")
        continue
      }
      replies.append {
        $0.appendMember("n", id)
        $0.appendMember("name", shortcut)
        $0.appendMember("shortcut", shortcut)
        $0.appendMember("body", text)
      }
    }
    let made = try store(ChatwootStore.replies, replies, [.bool(isRun)])
    add(made?.int(0, 0) ?? 0, to: \.cannedReplies)
  }

  /// The visitor of a contact.
  enum Match {
    /// Was erased, and does not come back.
    case erased
    case known(Identifier)
    case new(Identifier)
  }

  /// A contact with its identifier and its first conversations.
  struct Contact {
    var id: Int64
    var externalID: String?
    var conversations: String?
  }

  static func externalID(_ identifier: String?) -> String? {
    identifier.flatMap { $0.unicodeScalars.count <= externalIDLength ? $0 : nil }
  }

  func match(_ contacts: [Contact]) throws(QueryFailure) -> [Int64: Match] {
    var given = JSONRows()
    for contact in contacts {
      let sessions = (contact.conversations ?? "").split(separator: " ").compactMap {
        Int64($0).map { "\(ids.id("conversations", $0))" }
      }
      given.append {
        $0.appendMember("contact", contact.id)
        $0.appendMember("id", ids.id("contacts", contact.id))
        $0.appendMember("external_id", ifAny: Self.externalID(contact.externalID))
        $0.appendMember("sessions", texts: sessions)
      }
    }
    var matches: [Int64: Match] = [:]
    guard let rows = try store(ChatwootStore.visitorsOf, given) else { return matches }
    for row in 0..<rows.count {
      guard let contact = rows.int(row, 0) else { continue }
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
    var last: Int64 = 0
    while true {
      let rows = try source.contacts(after: last)
      guard !rows.isEmpty else { return }
      last = rows.int(rows.count - 1, 0) ?? Int64.max
      let matches = try match(
        (0..<rows.count).map {
          Contact(
            id: rows.int($0, 0) ?? 0, externalID: rows.text($0, 4), conversations: rows.text($0, 10)
          )
        })
      var fresh = JSONRows()
      var number: Int64 = 0
      for row in 0..<rows.count {
        let contact = rows.int(row, 0) ?? 0
        switch matches[contact] {
        case .erased, nil: findings.add("contacts", contact, "erased in Chirrup: not imported")
        case .known(let visitor):
          if visitor != ids.id("contacts", contact) {
            findings.add("contacts", contact, "is a visitor with this identifier: joined")
          }
        case .new(let id):
          append(id, contact, rows, row, to: &fresh)
          number += 1
        }
      }
      if isRun { try store(ChatwootStore.visitors, fresh) }
      add(number, to: \.visitors)
    }
  }

  private mutating func append(
    _ id: Identifier, _ contact: Int64, _ rows: Rows, _ row: Int, to fresh: inout JSONRows
  ) {
    let email = rows.text(row, 2).flatMap { $0.count <= Self.emailLength ? $0 : nil }
    let externalID = Self.externalID(rows.text(row, 4))
    if rows.text(row, 4) != nil, externalID == nil {
      findings.add("contacts", contact, "with too long an identifier: imported without it")
    }
    let attributes = attributes(contact, rows, row)
    let created = rows.time(row, 8) ?? WallTime(microseconds: 0)
    let seen = max(rows.time(row, 9) ?? created, created)
    fresh.append {
      $0.appendMember("id", id)
      $0.appendMember("external_id", ifAny: externalID)
      $0.appendMember("name", String((rows.text(row, 1) ?? "").prefix(Self.nameLength)))
      $0.appendMember("email", ifAny: email)
      $0.appendMember("attributes", json: attributes)
      $0.appendMember("banned_at", rows.bool(row, 7) == true ? seen : nil)
      $0.appendMember("created_at", created)
      $0.appendMember("last_seen_at", seen)
    }
  }

  /// Custom attributes, then telephone number, company, city and country, as a JSON object.
  private mutating func attributes(_ contact: Int64, _ rows: Rows, _ row: Int) -> [UInt8] {
    let more = rows.text(row, 5).flatMap { JSONValue($0) }
    var members: [String: JSONValue] = [:]
    var given: [(String, JSONValue?)] = [
      ("phone", .text(rows.text(row, 3))), ("company", more?["company_name"]),
      ("city", more?["city"]), ("country", more?["country"]),
    ]
    if case .object(let custom)? = rows.text(row, 6).flatMap({ JSONValue($0) }) {
      given += custom.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
    for case (let name, let value?) in given where value != .null && value != .string("") {
      let name = String(name.prefix(Self.attributeNameLength))
      guard members.count < VisitorProfile.attributesMax || members[name] != nil else {
        findings.add("contacts", contact, "with more than 32 attributes: imported with 32")
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
