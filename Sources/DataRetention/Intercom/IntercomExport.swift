/// The files of a download from Intercom as records.
import JSON
import Postgres
import Primitives

/// The files of a download. A download that is under way has them under other names.
public enum IntercomFile: String, CaseIterable, Sendable {
  case admins, teams, tags, macros, contacts, conversations

  public var name: String { "\(rawValue).jsonl" }

  /// Without these the others cannot be understood.
  public var isRequired: Bool { self == .admins || self == .contacts || self == .conversations }

  /// The `type` of its objects.
  fileprivate var type: String { String(rawValue.dropLast()) }
}

enum IntercomExport {
  /// Members of a conversation, and of a part, that are kept.
  private static let conversationMembers: Set<String> = [
    "state", "read", "admin_assignee_id", "team_assignee_id", "created_at", "title", "tags",
    "conversation_rating",
  ]
  private static let partMembers: Set<String> = [
    "part_type", "body", "author", "attachments", "redacted", "subject",
  ]

  static func stage(_ files: [ImportFile], _ empty: StagedRecords) throws -> StagedRecords {
    var records = empty
    for kind in IntercomFile.allCases {
      guard let file = files.first(where: { $0.name == kind.name }) else {
        guard !kind.isRequired else { throw ImportRefusal.missingFile(kind.name) }
        continue
      }
      try file.forEach { line in
        guard line["type"]?.string == kind.type else { throw ImportRefusal.Reason.kind(kind.type) }
        for record in try self.records(line, kind) { try records.add(record) }
      }
    }
    try records.finish()
    return records
  }

  private static func records(
    _ line: JSONValue, _ kind: IntercomFile
  ) throws(ImportRefusal.Reason) -> [StagedRecords.Record] {
    let key = try line.key("id")
    switch kind {
    case .admins: return [.init(kind: .member, key: key, value: line)]
    case .teams: return [.init(kind: .team, key: key, value: line)]
    case .tags: return [.init(kind: .tag, key: key, value: line)]
    case .macros: return [.init(kind: .reply, key: key, value: line)]
    case .contacts: return [.init(kind: .contact, key: key, value: line)]
    case .conversations: return try conversation(line, key)
    }
  }

  /// A conversation and its messages: the one that began it, and its parts.
  private static func conversation(
    _ line: JSONValue, _ key: String
  ) throws(ImportRefusal.Reason) -> [StagedRecords.Record] {
    guard let created = line.time("created_at") else { throw .member("created_at") }
    guard let source = line["source"], source.object != nil else { throw .member("source") }
    // A list of conversations has them without their parts.
    guard let parts = line["conversation_parts"]?["conversation_parts"]?.array else {
      throw .member("conversation_parts")
    }
    let contact = line["contacts"]?["contacts"]?.array?.first?["id"]?.key
    var kept = line.object?.filter { conversationMembers.contains($0.key) } ?? [:]
    kept["source"] = .object([
      "type": source["type"] ?? .null, "url": source["url"] ?? .null,
    ])
    if line["state"] == nil, line["open"]?.bool == false { kept["state"] = .string("closed") }
    var records: [StagedRecords.Record] = [
      .init(
        kind: .conversation, key: key, parent: contact ?? "",
        at: line.time("updated_at") ?? created, value: .object(kept)),
      .init(
        kind: .message, key: "source:\(key)", parent: key, at: created, value: reduced(source)),
    ]
    for part in parts {
      guard part["part_type"]?.string != nil else { throw .member("part_type") }
      records.append(
        .init(
          kind: .message, key: try part.key("id"), parent: key,
          at: part.time("created_at") ?? created, value: reduced(part)))
    }
    return records
  }

  private static func reduced(_ part: JSONValue) -> JSONValue {
    var kept = part.object?.filter { partMembers.contains($0.key) } ?? [:]
    if let body = part["body"]?.string { kept["body"] = .string(ImportedMessage.cut(body)) }
    return .object(kept)
  }
}
