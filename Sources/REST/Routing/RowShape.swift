import Chat
import JSON
import Postgres
import Primitives

/// The JSON object of a row, with one member for each column in order. A resource declares its
/// members once, for the handlers and for the OpenAPI document, and needs no type between
/// PostgreSQL and the response.
struct RowShape: Sendable {
  enum ColumnType: Sendable {
    case id, text, int, bool, time
    /// A text that is one of these.
    case word([String])
    /// The text of `json` or `jsonb`.
    case json(Schema)
    /// An array of texts, which the column joins by line feeds. NULL is null, an empty text an
    /// empty array.
    case texts
    indirect case optional(ColumnType)
  }

  private let columns: [(name: StaticString, type: ColumnType)]

  init(_ columns: [(StaticString, ColumnType)]) { self.columns = columns }

  /// The number of columns.
  var count: Int { columns.count }

  var schema: Schema {
    .object(
      Dictionary(
        uniqueKeysWithValues: columns.map { (String(describing: $0.name), $0.type.schema) }))
  }

  /// - Parameter start: the first column of the object.
  func append(_ rows: Rows, _ row: Int, from start: Int = 0, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "{"))
    for (offset, column) in columns.enumerated() {
      let index = start + offset
      json.appendKey(column.name)
      guard !rows.isNull(row, index) else {
        json.append("null" as StaticString)
        continue
      }
      append(rows, row, index, column.type, to: &json)
    }
    json.append(UInt8(ascii: "}"))
  }

  private func append(
    _ rows: Rows, _ row: Int, _ index: Int, _ type: ColumnType, to json: inout [UInt8]
  ) {
    switch type {
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
    case .optional(let type): append(rows, row, index, type, to: &json)
    }
  }

  private func text(_ value: (some CustomStringConvertible)?) -> [UInt8] {
    Array((value?.description ?? "").utf8)
  }
}

extension RowShape.ColumnType {
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
    case .optional(let type): type.schema.orNull
    }
  }
}
