/// Falsifications that test the verifier: it must detect each of them.
import Postgres
import Primitives

extension Tamper {
  /// Falsifies the table, or the ledger.
  func play(on connection: BlockingConnection, _ ledger: inout Ledger) throws {
    let longest = ledger.logs.indices.max {
      ledger.logs[$0].slots.count < ledger.logs[$1].slots.count
    }
    guard let longest else { return }
    let log = ledger.logs[longest]
    let session = Parameter.uuid(log.session)
    let middle = Parameter.int(Int64((log.head + 1) / 2))
    switch self {
    case .deleteRow:
      try connection.run(
        Query("DELETE FROM chats WHERE session_id = $1 AND seq = $2", [session, middle]))
    case .changeRow:
      try connection.run(
        Query(
          "UPDATE chats SET content = content || '!' WHERE session_id = $1 AND seq = $2",
          [session, .int(Int64(log.head))]))
    case .exchangeRows:
      // By way of an unused number.
      for (from, to) in [(log.head, 1_000_000_000), (1, log.head), (1_000_000_000, 1)] {
        try connection.run(
          Query(
            "UPDATE chats SET seq = $3 WHERE session_id = $1 AND seq = $2",
            [session, .int(Int64(from)), .int(Int64(to))]))
      }
    case .falseAck:
      ledger.acked(
        longest, seq: log.head + 1, id: Identifier(high: 0x0190_0000_0000_7000, low: 1 << 63))
    case .doubleDelivery, .dropDelivery: break
    }
  }
}
