import Chat
import JSON
import Postgres
import Primitives

/// Which JSON a row becomes: an object with a member for each column, in their order. So a resource
/// says once what it shows, to the handlers and to the OpenAPI document, and no type stands between
/// PostgreSQL and the answer.
struct RowShape: Sendable {
  enum Kind: Sendable {
    case id, text, int, bool, time
    /// A text that is one of these.
    case word([String])
    /// `json` or `jsonb` as text.
    case json(Schema)
    /// Texts joined by line feeds; NULL is null, an empty text an empty array.
    case texts
    indirect case optional(Kind)
  }

  private let columns: [(name: StaticString, kind: Kind)]

  init(_ columns: [(StaticString, Kind)]) { self.columns = columns }

  var count: Int { columns.count }

  var schema: Schema {
    .object(
      Dictionary(
        uniqueKeysWithValues: columns.map { (String(describing: $0.name), $0.kind.schema) }))
  }

  /// Appends the object of a row.
  func append(_ rows: Rows, _ row: Int, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "{"))
    for (index, column) in columns.enumerated() {
      json.appendKey(column.name)
      guard !rows.isNull(row, index) else {
        json.append("null" as StaticString)
        continue
      }
      append(rows, row, index, column.kind, to: &json)
    }
    json.append(UInt8(ascii: "}"))
  }

  private func append(
    _ rows: Rows, _ row: Int, _ index: Int, _ kind: Kind, to json: inout [UInt8]
  ) {
    switch kind {
    case .id: JSONText.append(quoted: text(rows.uuid(row, index)), to: &json)
    case .text, .word: JSONText.append(quoted: rows.bytes(row, index) ?? [], to: &json)
    case .int: json.append(decimal: rows.int(row, index) ?? 0)
    case .bool: json.append(rows.bool(row, index) == true ? "true" : "false" as StaticString)
    case .time: JSONText.append(quoted: text(rows.time(row, index)), to: &json)
    case .json: json.append(contentsOf: rows.bytes(row, index) ?? [])
    case .texts:
      json.append(UInt8(ascii: "["))
      for text in (rows.bytes(row, index) ?? []).split(separator: UInt8(ascii: "\n")) {
        json.appendComma()
        JSONText.append(quoted: Array(text), to: &json)
      }
      json.append(UInt8(ascii: "]"))
    case .optional(let kind): append(rows, row, index, kind, to: &json)
    }
  }

  private func text(_ value: (some CustomStringConvertible)?) -> [UInt8] {
    Array((value?.description ?? "").utf8)
  }
}

extension RowShape.Kind {
  fileprivate var schema: Schema {
    switch self {
    case .id: .id
    case .text: .text
    case .int: .count
    case .bool: .bool
    case .time: .time
    case .word(let words): .word(words)
    case .json(let schema): schema
    case .texts: .array(of: .text)
    case .optional(let kind): kind.schema.orNull
    }
  }
}
