import CLibpq
public import Primitives

/// One result of libpq, owned and freed by this value.
@safe package struct Answer: ~Copyable {
  package enum Form: Sendable {
    /// The statement succeeded; its rows are available.
    case done
    /// PostgreSQL refused the statement, see `refusal`.
    case refused
    /// Skipped because an earlier statement of the pipeline failed.
    case skipped
    /// The end of the statements before one `sync()`.
    case sync
  }

  private let result: OpaquePointer

  init(_ result: OpaquePointer) { unsafe self.result = unsafe result }

  // SAFETY (whole type): `result` comes from libpq and is freed only here; libpq's getters check
  // row and column.
  deinit { unsafe PQclear(result) }

  package var form: Form {
    // SAFETY: see above.
    switch unsafe PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY: .done
    case PGRES_PIPELINE_SYNC: .sync
    case PGRES_PIPELINE_ABORTED: .skipped
    default: .refused
    }
  }

  package var rowCount: Int {
    // SAFETY: see above.
    Int(unsafe PQntuples(result))
  }

  /// For example `COMMIT`. After a failure in the transaction, COMMIT answers `ROLLBACK`.
  package var commandTag: String {
    // SAFETY: libpq stores the tag, a C string, in the result.
    guard let tag = unsafe PQcmdStatus(result) else { return "" }
    return unsafe String(cString: tag)
  }

  /// Lends one value in binary form; empty for NULL too.
  package func withValue<Result>(
    _ row: Int, _ column: Int, _ body: (RawSpan) -> Result
  ) -> Result {
    let length = Int(unsafe PQgetlength(result, Int32(row), Int32(column)))
    // SAFETY: libpq stores `length` bytes at this address while the result lives, and `self` is
    // borrowed during the call.
    let bytes = unsafe UnsafeRawBufferPointer(
      start: PQgetvalue(result, Int32(row), Int32(column)), count: length)
    return body(unsafe bytes.bytes)
  }

  package func isNull(_ row: Int, _ column: Int) -> Bool {
    // SAFETY: see above.
    unsafe PQgetisnull(result, Int32(row), Int32(column)) != 0
  }

  /// Copies the rows, which then may outlive the connection.
  package func rows() -> Rows {
    // SAFETY: see above.
    let columns = Int(unsafe PQnfields(result))
    var values: [[UInt8]?] = []
    values.reserveCapacity(rowCount * columns)
    for row in 0..<rowCount {
      for column in 0..<columns {
        if isNull(row, column) {
          values.append(nil)
        } else {
          values.append(
            withValue(row, column) { span in
              var copy: [UInt8] = []
              copy.append(span)
              return copy
            })
        }
      }
    }
    return Rows(columnCount: columns, values: values, affected: affected)
  }

  private var affected: Int {
    // SAFETY: libpq stores the count, a C string, in the result.
    guard let text = unsafe PQcmdTuples(result) else { return 0 }
    return Int(unsafe String(cString: text)) ?? 0
  }

  package var refusal: ServerRefusal {
    ServerRefusal(
      state: SQLState(field(0x43) ?? "XX000"),
      message: field(0x4D) ?? wholeMessage, detail: field(0x44), hint: field(0x48),
      position: field(0x50).flatMap { Int($0) }, context: field(0x57))
  }

  private var wholeMessage: String {
    // SAFETY: libpq stores the message, a C string, in the result.
    guard let text = unsafe PQresultErrorMessage(result) else { return "" }
    return unsafe String(cString: text)
  }

  /// A field of the error by its code (manual 55.8).
  private func field(_ letter: Int32) -> String? {
    // SAFETY: libpq stores the field, a C string, in the result.
    guard let text = unsafe PQresultErrorField(result, letter) else { return nil }
    return unsafe String(cString: text)
  }
}

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
