/// Compares the ledger with the rows in PostgreSQL during the load. Each row is checked when the
/// first subscriber has received it, and again by every full comparison.
///
/// Pure except for `read`, so that tests can inject faults. Invariant: rows up to `verified` agree
/// with every ack and every delivery.
import Postgres
import Primitives

struct TableCheck {
  private struct Session {
    var verified = 0
    /// An operator's first reply has claimed the session, which adds an event line of the gateway.
    var isClaimed = false
    /// The last number of each sender.
    var lastNumber: [Int: Int] = [:]
  }

  let stamp: Stamp
  let bodies: Bodies
  private(set) var violations = Violations()
  private(set) var rowCount = 0
  private var sessions: [Session]

  private static let rowsAtOnce = 10_000

  init(stamp: Stamp, bodies: Bodies, sessions: Int) {
    self.stamp = stamp
    self.bodies = bodies
    self.sessions = Array(repeating: Session(), count: sessions)
  }

  func verified(_ session: Int) -> Int { sessions[session].verified }

  /// Makes the next comparison a full one.
  mutating func startOver() {
    sessions = Array(repeating: Session(), count: sessions.count)
  }

  /// Checks rows after the verified ones, in the order of seq. `made` returns the number of
  /// messages that a client made. Rows that no client has received are left for later.
  mutating func take(
    _ rows: [StoredMessage], of index: Int, _ log: Ledger.Log, made: (Int) -> Int
  ) {
    for row in rows {
      guard row.seq <= log.head else { return }
      let expected = sessions[index].verified + 1
      let place = "session \(log.session) seq \(row.seq)"
      if row.seq > expected {
        for seq in expected..<row.seq { missing(seq, log) }
      } else if row.seq < expected {
        violations.note(.duplicated, "\(place): stored twice, as \(row.id) too")
        continue
      }
      sessions[index].verified = row.seq
      let slot = log.slots[row.seq - log.first]
      if slot.id != .zero, slot.id != row.id {
        let how = slot.acked ? "acknowledged" : "shown"
        violations.note(.mismatched, "\(place): the row is \(row.id), \(how) was \(slot.id)")
      }
      guard stamp.isOwn(row.id) else {
        if !sessions[index].isClaimed, row.body.suffix(7).elementsEqual(" joined".utf8) {
          sessions[index].isClaimed = true
          continue
        }
        violations.note(.mismatched, "\(place): \(row.id) is not of this run")
        continue
      }
      if !bodies.isBody(row.body, of: row.id) {
        violations.note(.mismatched, "\(place): the row has another body than \(row.id)'s")
      }
      judgeOrder(row, index, place, made)
    }
  }

  /// Checks the totals after all rows: `stored` is the number of rows, `lastSeq` the value in the
  /// session's row. With `isFinal`, every row must have been delivered.
  mutating func close(
    _ index: Int, _ log: Ledger.Log, stored: Int, lastSeq: Int, isFinal: Bool
  ) {
    let verified = sessions[index].verified
    if verified < log.head {
      for seq in verified + 1...log.head { missing(seq, log) }
      sessions[index].verified = log.head
    }
    if stored != lastSeq {
      violations.note(
        stored < lastSeq ? .lost : .duplicated,
        "session \(log.session): \(stored) rows, and last_seq is \(lastSeq)")
    }
    if isFinal, lastSeq > log.head {
      violations.note(
        .lost, count: lastSeq - log.head,
        "session \(log.session): \(log.head + 1)...\(lastSeq) are stored, but no client got them"
      )
    }
  }

  private mutating func missing(_ seq: Int, _ log: Ledger.Log) {
    let slot = log.slots[seq - log.first]
    let how = slot.acked ? "acknowledged" : "shown"
    violations.note(
      .lost, "session \(log.session) seq \(seq): no row, \(how) was \(slot.id)")
  }

  private mutating func judgeOrder(
    _ row: StoredMessage, _ index: Int, _ place: String, _ made: (Int) -> Int
  ) {
    let client = stamp.client(of: row.id)
    let number = stamp.number(of: row.id)
    if number >= made(client) {
      violations.note(.mismatched, "\(place): \(row.id) was never sent")
    }
    let last = sessions[index].lastNumber[client, default: -1]
    if number == last {
      violations.note(.duplicated, "\(place): \(row.id) is stored at an earlier seq too")
    } else if number < last {
      violations.note(
        .reordered, "\(place): number \(number) of client \(client) after its number \(last)")
    } else {
      sessions[index].lastNumber[client] = number
    }
  }

  // MARK: The database

  /// Compares all sessions with the table in one snapshot.
  mutating func read(
    _ logs: [Ledger.Log], on connection: BlockingConnection, isFinal: Bool, made: (Int) -> Int
  ) throws {
    try connection.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    let heads = try connection.run(
      Query(
        """
        SELECT s.id, s.last_seq, (SELECT count(*) FROM chats c WHERE c.session_id = s.id)
        FROM chat_sessions s WHERE s.id = ANY($1)
        """, [.uuids(logs.map(\.session))]))
    var stored: [Identifier: (lastSeq: Int, rows: Int)] = [:]
    for row in 0..<heads.count {
      if let id = heads.uuid(row, 0) {
        stored[id] = (Int(heads.int(row, 1) ?? 0), Int(heads.int(row, 2) ?? 0))
      }
    }
    for (index, log) in logs.enumerated() {
      let found = stored[log.session] ?? (-1, 0)
      // Rows were deleted: the whole session is read again to report which.
      if found.rows != found.lastSeq { sessions[index] = Session() }
      var isMore = true
      while isMore {
        let before = sessions[index].verified
        let rows = try page(log.session, after: before, on: connection)
        rowCount += rows.count
        take(rows, of: index, log, made: made)
        isMore = rows.count == TableCheck.rowsAtOnce && sessions[index].verified > before
      }
      close(index, log, stored: found.rows, lastSeq: found.lastSeq, isFinal: isFinal)
    }
    try connection.execute(script: "COMMIT")
  }

  private func page(
    _ session: Identifier, after: Int, on connection: BlockingConnection
  ) throws -> [StoredMessage] {
    let rows = try connection.run(
      Query(
        """
        SELECT seq, id, content FROM chats WHERE session_id = $1 AND seq > $2
        ORDER BY seq LIMIT 10000
        """, [.uuid(session), .int(Int64(after))]))
    return (0..<rows.count).compactMap { row in
      rows.uuid(row, 1).map {
        StoredMessage(seq: Int(rows.int(row, 0) ?? 0), id: $0, body: rows.bytes(row, 2) ?? [])
      }
    }
  }
}
