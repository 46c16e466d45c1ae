public import Primitives

/// The result of a query: a table of binary values, copied from libpq, so that it may outlive the
/// connection and cross threads. Columns are read by position.
public struct Rows: Sendable {
  public let columnCount: Int
  /// Rows changed by an INSERT, UPDATE or DELETE without RETURNING.
  public let affected: Int
  private let values: [[UInt8]?]

  public init(columnCount: Int, values: [[UInt8]?], affected: Int = 0) {
    self.columnCount = columnCount
    self.values = values
    self.affected = affected
  }

  public var count: Int { columnCount == 0 ? 0 : values.count / columnCount }
  public var isEmpty: Bool { count == 0 }

  public func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
    precondition(column < columnCount, "the statement has fewer columns than expected")
    return values[row * columnCount + column]
  }

  public func isNull(_ row: Int, _ column: Int) -> Bool { bytes(row, column) == nil }

  public func text(_ row: Int, _ column: Int) -> String? {
    bytes(row, column).map { String(decoding: $0, as: UTF8.self) }
  }

  /// `int2`, `int4` or `int8`.
  public func int(_ row: Int, _ column: Int) -> Int64? {
    guard let bytes = bytes(row, column) else { return nil }
    switch bytes.count {
    case 2: return bytes.withRawSpan { Int64(Int16(bitPattern: $0.uint16(at: 0))) }
    case 4:
      return bytes.withRawSpan { span in
        let high = UInt32(span.uint16(at: 0))
        let low = UInt32(span.uint16(at: 2))
        return Int64(Int32(bitPattern: high << 16 | low))
      }
    case 8: return bytes.withRawSpan { Int64(bitPattern: $0.uint64(at: 0)) }
    default: preconditionFailure("the column is not an integer")
    }
  }

  public func bool(_ row: Int, _ column: Int) -> Bool? {
    bytes(row, column).map { $0 == [1] }
  }

  public func uuid(_ row: Int, _ column: Int) -> Identifier? {
    guard let bytes = bytes(row, column) else { return nil }
    precondition(bytes.count == 16, "the column is not a uuid")
    return bytes.withRawSpan { Identifier(high: $0.uint64(at: 0), low: $0.uint64(at: 8)) }
  }

  /// `timestamptz`: microseconds since 2000-01-01 in binary form.
  public func time(_ row: Int, _ column: Int) -> WallTime? {
    int(row, column).map { WallTime(microseconds: $0 + microsecondsTo2000) }
  }

  /// `json` or `jsonb` as text; a binary `jsonb` starts with a version byte.
  public func json(_ row: Int, _ column: Int) -> [UInt8]? {
    guard let bytes = bytes(row, column) else { return nil }
    return bytes.first == 1 ? Array(bytes.dropFirst()) : bytes
  }
}

/// PostgreSQL counts from 2000-01-01 00:00:00 UTC.
package let microsecondsTo2000: Int64 = 946_684_800_000_000
