/// The lines of config/live-helper-chat.sql as records.
import JSON
import Postgres
import Primitives

struct LiveHelperChatExport {
  /// The version of the lines, which the script writes into the first one.
  static let format = 1

  /// The field of a chat that has the host site's id of the visitor.
  var identity: String?

  func stage(_ export: ImportFile, _ empty: StagedRecords) throws -> StagedRecords {
    var records = empty
    var isBegun = false
    var isWhole = false
    try export.forEach { line in
      guard !isWhole else { throw ImportRefusal.Reason.afterEnd }
      let table = line["table"]?.string ?? ""
      if !isBegun {
        guard table == "export", line["system"]?.string == "live-helper-chat",
          line["format"]?.int == Self.format
        else { throw ImportRefusal.Reason.header }
        isBegun = true
      } else if table == "end" {
        isWhole = true
      } else {
        for record in try self.records(line, of: table) { try records.add(record) }
      }
    }
    guard isWhole else { throw ImportRefusal.incomplete(file: export.name) }
    try records.finish()
    return records
  }

  private func records(
    _ line: JSONValue, of table: String
  ) throws(ImportRefusal.Reason) -> [StagedRecords.Record] {
    let key = try line.key("id")
    switch table {
    case "lh_users": return [.init(kind: .member, key: key, value: line)]
    case "lh_departament": return [.init(kind: .team, key: key, value: line)]
    case "lh_abstract_subject": return [.init(kind: .tag, key: key, value: line)]
    case "lh_canned_msg": return [.init(kind: .reply, key: key, value: line)]
    case "lh_userdep":
      _ = try (line.key("department"), line.key("user"))
      return [.init(kind: .teamMember, key: key, value: line)]
    case "lh_abstract_subject_chat":
      return [.init(kind: .label, key: key, parent: try line.key("chat"), value: line)]
    case "lh_abstract_survey_item":
      return [.init(kind: .rating, key: key, parent: try line.key("chat"), value: line)]
    case "lh_chat_file":
      return [.init(kind: .file, key: key, parent: try line.key("chat"), value: line)]
    case "lh_chat": return try chat(line, key)
    case "lh_msg":
      guard let text = line["msg"]?.string, line["user"]?.int != nil else { throw .member("msg") }
      var kept = line.object ?? [:]
      kept["msg"] = .string(ImportedMessage.cut(text))
      return [
        .init(
          kind: .message, key: key, parent: try line.key("chat"), at: line.time("time"),
          value: .object(kept))
      ]
    default: throw .kind("line of a table that this version reads")
    }
  }

  /// A chat, its visitor, and the operators' remarks as a note.
  private func chat(
    _ line: JSONValue, _ key: String
  ) throws(ImportRefusal.Reason) -> [StagedRecords.Record] {
    guard line["status"]?.int != nil else { throw .member("status") }
    guard let began = line.time("time") else { throw .member("time") }
    let times = ["closed", "visitor_at", "operator_at"].compactMap { line.time($0) }
    let last = times.reduce(began) { max($0, $1) }
    let fields = Self.fields(line)
    let site = identity.flatMap { name in
      fields.first { $0.identifier == name || $0.name == name }?.value.key
    }
    let contact = Self.contact(line, key, site: site)
    var profile: [String: JSONValue] = [
      "name": line["nick"] ?? .null, "email": line["email"] ?? .null,
      "phone": line["phone"] ?? .null, "city": line["city"] ?? .null,
      "country": line["country"] ?? .null, "identity": .text(site),
    ]
    profile["fields"] = .array(
      fields.map { .object(["name": .string($0.name), "value": $0.value]) })
    var records: [StagedRecords.Record] = [
      .init(kind: .contact, key: contact, value: .object(profile)),
      .init(kind: .conversation, key: key, parent: contact, at: last, value: line),
    ]
    if let remarks = line.text("remarks") {
      let note = JSONValue.object(["msg": .string(remarks), "note": .bool(true), "user": .int(1)])
      records.append(
        .init(kind: .message, key: "remarks:\(key)", parent: key, at: last, value: note))
    }
    return records
  }

  /// Live Helper Chat has no table of visitors. Chats with the same id of the host site are those
  /// of one visitor, then those with the same address, then those of one browser.
  private static func contact(_ line: JSONValue, _ key: String, site: String?) -> String {
    if let site { return "site:\(site)" }
    if let email = line.text("email"), email.contains("@") { return "email:\(email.lowercased())" }
    if let browser = line["online_user"]?.int, browser > 0 { return "online:\(browser)" }
    return "chat:\(key)"
  }

  private struct Field {
    var identifier: String
    var name: String
    var value: JSONValue
  }

  /// The fields of a chat's form (a JSON array), then those that the page gave (a JSON object).
  private static func fields(_ line: JSONValue) -> [Field] {
    var fields: [Field] = []
    for field in line.inner("additional_data")?.array ?? [] {
      let name = field.text("key") ?? field.text("identifier") ?? ""
      guard !name.isEmpty, let value = field["value"] else { continue }
      fields.append(Field(identifier: field.text("identifier") ?? "", name: name, value: value))
    }
    let variables = line.inner("chat_variables")?.object ?? [:]
    for (name, value) in variables.sorted(by: { $0.key < $1.key }) where value != .null {
      fields.append(Field(identifier: name, name: name, value: value))
    }
    return fields
  }
}

extension JSONValue {
  /// The value of JSON text in a member.
  func inner(_ member: String) -> JSONValue? { self[member]?.string.flatMap { JSONValue($0) } }
}
