import CLibpq
import Primitives

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
