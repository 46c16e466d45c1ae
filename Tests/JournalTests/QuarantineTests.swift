import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// R10 of the faults: PostgreSQL always rejects one row of a batch. Only that row fails, the other
/// rows keep their order, and a separate statement writes the rejected row into the quarantine.
@Suite struct QuarantineTests {
  let database: TestDatabase
  /// The login of a gateway, which writes the quarantine.
  let gateway: BlockingConnection
  init() throws {
    database = try TestDatabase()
    gateway = try BlockingConnection(database.url)
  }

  private func append(
    _ fill: (inout Batch) -> Void
  ) throws -> (outcomes: [Outcome], quarantined: QuarantinedRows) {
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    var batch = Batch()
    fill(&batch)
    writer.submit(&batch, now: monotonicNow())
    let outcomes = try complete(&writer)
    return (outcomes, writer.takeQuarantined())
  }

  private func kept() throws -> Rows {
    try database.sql.run(
      Query(
        """
        SELECT message_id, sqlstate, refusals, body, payload, session_id, reason, sender_name
        FROM quarantine ORDER BY message_id
        """))
  }

  enum Poison: CaseIterable {
    case checkViolation, nul, invalidUTF8, tooLong, numberInPayload, trigger, sessionDeleted

    var state: String? {
      switch self {
      case .checkViolation: "23514"
      case .nul, .invalidUTF8: "22021"
      case .tooLong: "22001"
      case .numberInPayload: "22003"
      case .trigger: "P0001"
      case .sessionDeleted: nil
      }
    }
  }

  /// 25 senders with 4 messages each, and one poison row. The sender of the poison row has messages
  /// before and after it.
  @Test(arguments: Poison.allCases)
  func `in a batch of 100, only the poison row fails and the others keep their order`(
    poison: Poison
  ) throws {
    try prepare(poison)
    let sessions = try (0..<25).map { _ in try database.session() }
    let victim = sessions[12]
    let deleted = try database.session()
    var ids: [Identifier] = []
    let (outcomes, quarantined) = try append { batch in
      for row in 0..<100 where row != 62 { ids.append(batch.add(sessions[row % 25], "row \(row)")) }
      ids.append(add(poison, to: poison == .sessionDeleted ? deleted : victim, &batch))
      ids.append(batch.add(victim, "behind the poison"))
      if poison == .sessionDeleted {
        // The session is deleted after the message was accepted and before it is stored, as by
        // `chirrup retention`.
        _ = try? database.sql.run(
          Query("DELETE FROM chat_sessions WHERE id = $1", [.uuid(deleted)]))
      }
    }
    #expect(outcomes.count == 101)
    for (row, outcome) in outcomes.enumerated() where row != 99 {
      #expect(outcome.verdict == .stored, "row \(row)")
    }
    #expect(outcomes[99].verdict == (poison.state == nil ? .noSuchSession : .rejected))
    for session in sessions {
      let bodies = try database.sql.run(
        Query(
          "SELECT seq, content FROM chats WHERE session_id = $1 ORDER BY seq", [.uuid(session)]))
      #expect((0..<bodies.count).map { bodies.int($0, 0) } == [1, 2, 3, 4])
      let rows = (0..<bodies.count).compactMap { bodies.text($0, 1) }.compactMap {
        Int($0.replacing("row ", with: ""))
      }
      #expect(rows == rows.sorted())
    }
    // The last message of the poison's sender: the poison did not block it.
    #expect(outcomes[100].seq == 4)
    #expect(quarantined.rows.map(\.record.id) == (poison.state == nil ? [] : [ids[99]]))
    #expect(quarantined.rows.map(\.refusal.state.code) == (poison.state.map { [$0] } ?? []))
    for row in quarantined.rows {
      let rows = try gateway.run(Quarantine.storeQuery(row))
      #expect(rows.affected == 1)
    }
    let rows = try kept()
    #expect(rows.count == (poison.state == nil ? 0 : 1))
    guard poison.state != nil, rows.count == 1 else { return }
    #expect(rows.uuid(0, 0) == ids[99])
    #expect(rows.text(0, 1) == poison.state)
    #expect(rows.bytes(0, 3) == QuarantineTests.body(poison))
    #expect(rows.bytes(0, 4) == Array(QuarantineTests.payload(poison).utf8))
    #expect(rows.uuid(0, 5) == victim)
    #expect(rows.text(0, 6)?.isEmpty == false)
    #expect(rows.text(0, 7) == "Ada")
  }

  private static func body(_ poison: Poison) -> [UInt8] {
    switch poison {
    case .checkViolation: Array("forbidden word".utf8)
    case .nul: [0x61, 0x00, 0x62]
    case .invalidUTF8: [0x61, 0xFF, 0xC3]
    case .tooLong: [UInt8](repeating: 0x61, count: 5_000)
    case .numberInPayload: Array("a card".utf8)
    case .trigger: Array("not on a Sunday".utf8)
    case .sessionDeleted: Array("too late".utf8)
    }
  }

  /// The number exceeds the range of PostgreSQL's numeric.
  private static func payload(_ poison: Poison) -> String {
    poison == .numberInPayload ? #"{"n":1e9999999}"# : ""
  }

  private func add(_ poison: Poison, to session: Identifier, _ batch: inout Batch) -> Identifier {
    batch.add(
      session, name: "Ada", body: QuarantineTests.body(poison),
      payload: QuarantineTests.payload(poison))
  }

  /// Changes that an administrator may have made to the table.
  private func prepare(_ poison: Poison) throws {
    switch poison {
    case .checkViolation:
      try database.sql.execute(
        script: "ALTER TABLE chats ADD CONSTRAINT words CHECK (content NOT LIKE '%forbidden%')")
    case .tooLong:
      try database.sql.execute(script: "ALTER TABLE chats ALTER COLUMN content TYPE varchar(4000)")
    case .trigger:
      try database.sql.execute(
        script: """
          CREATE FUNCTION sabbath() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            IF NEW.content LIKE '%Sunday%' THEN RAISE EXCEPTION 'we rest'; END IF;
            RETURN NEW;
          END $$;
          CREATE TRIGGER sabbath BEFORE INSERT ON chats FOR EACH ROW EXECUTE FUNCTION sabbath()
          """)
    default: break
    }
  }

  @Test
  func `repeated poison increments a counter, and a full workspace quota stores no more rows`()
    throws
  {
    let session = try database.session()
    let id = freshIdentifier()
    for round in 1...3 {
      let (outcomes, quarantined) = try append { batch in
        batch.add(session, id: id, body: [0x00])
        // Two rows with the same id in one batch are one message.
        batch.add(session, id: id, body: [0x00])
      }
      #expect(outcomes.map(\.verdict) == [.rejected, .rejected])
      #expect(quarantined.rows.count == 1)
      for row in quarantined.rows { try gateway.run(Quarantine.storeQuery(row)) }
      let rows = try kept()
      #expect(rows.count == 1)
      #expect(rows.int(0, 2) == Int64(round))
    }
    try database.sql.execute(
      script: """
        INSERT INTO quarantine (workspace_id, message_id, session_id, role, kind, sqlstate, reason)
        SELECT id, gen_random_uuid(), gen_random_uuid(), 'visitor', 'text', '22021', 'x'
        FROM workspaces, generate_series(2, \(Quarantine.rowsPerWorkspace))
        """)
    let other = try append { $0.add(session, body: [0x00]) }.quarantined
    #expect(try gateway.run(Quarantine.storeQuery(other.rows[0])).affected == 0)
    let again = try append { $0.add(session, id: id, body: [0x00]) }.quarantined
    #expect(try gateway.run(Quarantine.storeQuery(again.rows[0])).affected == 1)
    #expect(
      try database.count("SELECT count(*) FROM quarantine") == Int64(Quarantine.rowsPerWorkspace))
    // A deleted workspace keeps no quarantined rows.
    try database.sql.execute(script: "DELETE FROM workspaces")
    #expect(try database.count("SELECT count(*) FROM quarantine") == 0)
    #expect(try gateway.run(Quarantine.storeQuery(other.rows[0])).affected == 0)
  }

  @Test func `the poison rows of a batch are stored up to a limit, and the excess is counted`()
    throws
  {
    let session = try database.session()
    let (outcomes, quarantined) = try append { batch in
      for row in 0..<Quarantine.rowsPerBatch + 10 {
        batch.add(session, body: [0x00])
        batch.add(session, "row \(row)")
      }
    }
    #expect(outcomes.count(where: { $0.verdict == .rejected }) == Quarantine.rowsPerBatch + 10)
    #expect(
      outcomes.filter { $0.verdict == .stored }.map(\.seq)
        == Array(1...Int64(Quarantine.rowsPerBatch + 10)))
    #expect(quarantined.rows.count == Quarantine.rowsPerBatch)
    #expect(quarantined.dropped == 10)
  }

  @Test func `rows are deleted after 30 days, in bounded batches`() throws {
    try database.sql.execute(
      script: """
        INSERT INTO quarantine
          (workspace_id, message_id, session_id, role, kind, sqlstate, reason, refused_at)
        SELECT id, gen_random_uuid(), gen_random_uuid(), 'visitor', 'text', '22021', 'x',
          now() - n * interval '1 day' FROM workspaces, generate_series(26, 35) n
        """)
    #expect(try gateway.run(Quarantine.forgetQuery(limit: 3)).affected == 3)
    #expect(try gateway.run(Quarantine.forgetQuery(limit: 1_000)).affected == 3)
    #expect(try database.count("SELECT count(*) FROM quarantine") == 4)
  }
}
