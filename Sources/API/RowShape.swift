import Chat
import Postgres
import Primitives

/// Which JSON a row becomes: an object with a member for each column, in their order. So a resource
/// says once what it shows, and no type stands between PostgreSQL and the answer.
struct RowShape: Sendable {
  enum Kind: Sendable {
    case id, text, int, bool, time
    /// `json` or `jsonb` as text.
    case json
    /// Texts joined by line feeds; NULL is null, an empty text an empty array.
    case texts
  }

  private let columns: [(name: StaticString, kind: Kind)]

  init(_ columns: [(StaticString, Kind)]) { self.columns = columns }

  var count: Int { columns.count }

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
    case .text: JSONText.append(quoted: rows.bytes(row, index) ?? [], to: &json)
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
    }
  }

  private func text(_ value: (some CustomStringConvertible)?) -> [UInt8] {
    Array((value?.description ?? "").utf8)
  }
}
