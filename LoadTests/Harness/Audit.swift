/// The final comparison of the ledger with the rows in PostgreSQL.
import Postgres
import Primitives

/// One row of `chats`.
struct StoredMessage: Equatable {
  var seq: Int
  var id: Identifier
  var body: [UInt8]
}

/// Compares one session's log with its rows, which are in the order of seq. Pure, so that tests can
/// inject faults.
func compare(
  _ log: Ledger.Log, _ rows: [StoredMessage], lastSeq: Int, stamp: Stamp, bodies: Bodies,
  _ violations: inout Violations
) {
  let session = "session \(log.session)"
  var expected = 1
  for row in rows {
    if row.seq > expected {
      violations.note(
        .lost, count: row.seq - expected, "\(session): no rows \(expected)..<\(row.seq)")
    } else if row.seq < expected {
      violations.note(.duplicated, "\(session): seq \(row.seq) is stored twice")
    }
    expected = row.seq + 1
    let place = "\(session) seq \(row.seq)"
    if stamp.isOwn(row.id), !bodies.isBody(row.body, of: row.id) {
      violations.note(.mismatched, "\(place): the row has another body than \(row.id)'s")
    }
    guard row.seq <= log.head else {
      violations.note(.lost, "\(place): \(row.id) is stored, but was delivered to no client")
      continue
    }
    guard row.seq >= log.first else { continue }
    let slot = log.slots[row.seq - log.first]
    if slot.id != .zero, slot.id != row.id {
      violations.note(.mismatched, "\(place): the row is \(row.id), but \(slot.id) was delivered")
    }
  }
  if expected <= log.head {
    let acked = log.slots[max(0, expected - log.first)...].count { $0.acked }
    violations.note(
      .lost, count: log.head - expected + 1,
      "\(session): rows \(expected)...\(log.head) are missing, \(acked) of them acknowledged")
  }
  if lastSeq != expected - 1 {
    violations.note(
      .mismatched, "\(session): last_seq is \(lastSeq), the rows end at \(expected - 1)")
  }
}

/// Reads the rows of all sessions in batches.
struct Audit {
  private static let rowsAtOnce = 20_000

  let stamp: Stamp
  let bodies: Bodies
  private(set) var rowCount = 0
  /// The rows whose ids this run made.
  private(set) var ownRowCount = 0
  private(set) var sessionCount = 0
  var violations = Violations()

  init(stamp: Stamp, bodies: Bodies) {
    self.stamp = stamp
    self.bodies = bodies
  }

  mutating func run(_ logs: [Ledger.Log], on connection: BlockingConnection) throws {
    var start = 0
    while start < logs.count {
      var end = start
      var rows = 0
      while end < logs.count, end == start || rows + logs[end].slots.count <= Audit.rowsAtOnce {
        rows += logs[end].slots.count
        end += 1
      }
      try check(Array(logs[start..<end]), on: connection)
      start = end
    }
  }

  private mutating func check(_ logs: [Ledger.Log], on connection: BlockingConnection) throws {
    let ids = logs.map(\.session)
    let heads = try connection.run(
      Query("SELECT id, last_seq FROM chat_sessions WHERE id = ANY($1)", [.uuids(ids)]))
    var lastSeq: [Identifier: Int] = [:]
    for row in 0..<heads.count {
      if let id = heads.uuid(row, 0) { lastSeq[id] = Int(heads.int(row, 1) ?? 0) }
    }
    let rows = try connection.run(
      Query(
        """
        SELECT session_id, seq, id, content FROM chats WHERE session_id = ANY($1)
        ORDER BY session_id, seq
        """, [.uuids(ids)]))
    var stored: [Identifier: [StoredMessage]] = [:]
    for row in 0..<rows.count {
      guard let session = rows.uuid(row, 0), let id = rows.uuid(row, 2) else { continue }
      if stamp.isOwn(id) { ownRowCount += 1 }
      stored[session, default: []].append(
        StoredMessage(
          seq: Int(rows.int(row, 1) ?? 0), id: id, body: rows.bytes(row, 3) ?? []))
    }
    for log in logs {
      compare(
        log, stored[log.session] ?? [], lastSeq: lastSeq[log.session] ?? -1, stamp: stamp,
        bodies: bodies, &violations)
    }
    rowCount += rows.count
    sessionCount += logs.count
  }
}
