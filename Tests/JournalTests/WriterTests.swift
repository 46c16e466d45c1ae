import Chat
import EmbeddedPostgres
import Glibc
import Postgres
import Primitives
import Testing

@testable import Journal

@Suite struct WriterTests {
  let database: TestDatabase
  init() throws { database = try TestDatabase() }

  private func readyWriter() throws -> Writer {
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    return writer
  }

  private func append(_ writer: inout Writer, _ fill: (inout Batch) -> Void) throws -> [Outcome] {
    try makeReady(&writer)
    var batch = Batch()
    fill(&batch)
    writer.submit(&batch, now: monotonicNow())
    let isEmptied = batch.isEmpty
    #expect(isEmptied)
    return try complete(&writer)
  }

  @Test func `messages are numbered 1 to n per session, in the order of the batch`() throws {
    let (a, b) = (try database.session(), try database.session())
    var writer = try readyWriter()
    let first = try append(&writer) { batch in
      batch.add(a, "one")
      batch.add(b, "eins")
      batch.add(a, "two")
    }
    #expect(first.map(\.verdict) == [.stored, .stored, .stored])
    #expect(first.map(\.seq) == [1, 1, 2])
    let second = try append(&writer) { $0.add(a, "three") }
    #expect(second.map(\.seq) == [3])
    #expect(try database.seqs(a) == [1, 2, 3])
    #expect(second[0].at >= first[0].at)
    let stored = try database.sql.run(
      Query("SELECT created_at, content FROM chats WHERE session_id = $1 AND seq = 3", [.uuid(a)]))
    #expect(stored.time(0, 0) == second[0].at)
    #expect(stored.text(0, 1) == "three")
  }

  @Test
  func `a repeated id is a duplicate with the same content, a conflict with other content`()
    throws
  {
    let (a, b) = (try database.session(), try database.session())
    var writer = try readyWriter()
    let id = freshIdentifier()
    let first = try append(&writer) { $0.add(a, "hello", id: id) }
    let second = try append(&writer) { batch in
      batch.add(a, "hello", id: id)
      batch.add(a, "next")
    }
    #expect(second.map(\.verdict) == [.duplicate, .stored])
    #expect(second[0].seq == first[0].seq)
    #expect(second[0].at == first[0].at)
    #expect(second[1].seq == 2)
    #expect(try append(&writer) { $0.add(a, "other", id: id) }.map(\.verdict) == [.conflict])
    #expect(try append(&writer) { $0.add(b, "hello", id: id) }.map(\.verdict) == [.conflict])
    #expect(
      try append(&writer) { $0.add(a, "hello", id: id, kind: .note) }.map(\.verdict) == [.conflict])
    #expect(try database.seqs(a) == [1, 2])
  }

  @Test func `an id that occurs twice in one batch is stored once`() throws {
    let session = try database.session()
    var writer = try readyWriter()
    let id = freshIdentifier()
    let outcomes = try append(&writer) { batch in
      batch.add(session, "same", id: id)
      batch.add(session, "same", id: id)
      batch.add(session, "other", id: id)
      batch.add(session, "last")
    }
    #expect(outcomes.map(\.verdict) == [.stored, .duplicate, .conflict, .stored])
    #expect(outcomes.map(\.seq) == [1, 1, 0, 2])
  }

  @Test func `a payload is stored as JSON, and equal JSON in another notation is a duplicate`()
    throws
  {
    let session = try database.session()
    var writer = try readyWriter()
    let id = freshIdentifier()
    let body = Array("card".utf8)
    _ = try append(&writer) {
      $0.add(session, id: id, kind: .card, body: body, payload: "{\"a\":1, \"b\":[true]}")
    }
    let again = try append(&writer) {
      $0.add(session, id: id, kind: .card, body: body, payload: "{ \"b\": [true], \"a\": 1 }")
    }
    #expect(again.map(\.verdict) == [.duplicate])
  }

  @Test func `missing and deleted sessions refuse all writes, closed ones refuse a visitor's`()
    throws
  {
    let closed = try database.session(status: "closed")
    let deleted = try database.session()
    try database.sql.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1", [.uuid(deleted)]))
    var writer = try readyWriter()
    let outcomes = try append(&writer) { batch in
      batch.add(freshIdentifier(), "nowhere")
      batch.add(deleted, "gone")
      batch.add(closed, "visitor")
      batch.add(closed, "operator", role: .operator_)
      batch.add(closed, "closed by Dana", role: .system, kind: .event)
      batch.add(closed, "bot", role: .bot)
    }
    #expect(
      outcomes.map(\.verdict) == [
        .noSuchSession, .noSuchSession, .closed, .stored, .stored, .stored,
      ])
    #expect(outcomes.map(\.seq) == [0, 0, 0, 1, 2, 3])
  }

  @Test func `the session's row is updated with its log`() throws {
    let session = try database.session()
    var writer = try readyWriter()
    _ = try append(&writer) { batch in
      batch.add(session, "question")
      batch.add(session, "seen by operators only", role: .operator_, kind: .note)
    }
    func row() throws -> Rows {
      try database.sql.run(
        Query(
          """
          SELECT last_seq, message_count, last_message_preview, last_message_role,
            first_response_at, last_message_at, updated_at FROM chat_sessions WHERE id = $1
          """, [.uuid(session)]))
    }
    let before = try row()
    #expect(before.int(0, 0) == 2)
    #expect(before.int(0, 1) == 1)
    #expect(before.text(0, 2) == "question")
    #expect(before.text(0, 3) == "visitor")
    #expect(before.isNull(0, 4))
    let long = String(repeating: "ก", count: 300)
    let outcomes = try append(&writer) { batch in
      batch.add(session, long, role: .operator_)
      batch.add(session, "Dana joined", role: .system, kind: .event)
    }
    let after = try row()
    #expect(after.int(0, 0) == 4)
    #expect(after.int(0, 1) == 2)
    #expect(after.text(0, 2) == String(repeating: "ก", count: 120))
    #expect(after.text(0, 3) == "operator")
    #expect(after.time(0, 4) == outcomes[0].at)
    #expect(after.time(0, 5) == outcomes[0].at)
    #expect(after.time(0, 6) == outcomes[0].at)
    _ = try append(&writer) { $0.add(session, "again", role: .operator_) }
    #expect(try row().time(0, 4) == outcomes[0].at)
  }

  @Test
  func `three poison rows of a batch of 500 are rejected, and the others are stored in order`()
    throws
  {
    let session = try database.session()
    var writer = try readyWriter()
    let outcomes = try append(&writer) { batch in
      for row in 0..<500 {
        switch row {
        case 100: batch.add(session, body: [0x61, 0x00, 0x62])
        case 101: batch.add(session, body: [0xFF, 0xFE])
        case 499: batch.add(session, body: [0x61], payload: "{\"a\":\"\\u0000\"}")
        default: batch.add(session, "row \(row)")
        }
      }
    }
    for (row, outcome) in outcomes.enumerated() {
      #expect(outcome.verdict == ([100, 101, 499].contains(row) ? .rejected : .stored))
    }
    #expect(outcomes.filter { $0.verdict == .stored }.map(\.seq) == Array(1...497))
    #expect(try database.seqs(session) == Array(1...497))
  }

  @Test func `a batch at both of its limits is stored completely`() throws {
    let session = try database.session()
    var writer = try readyWriter()
    let body = [UInt8](repeating: 0x61, count: Limits.batchBytes / Limits.batchRecords)
    let outcomes = try append(&writer) { batch in
      for _ in 0..<Limits.batchRecords { batch.add(session, body: body) }
      let byteCount = batch.byteCount
      #expect(byteCount == Limits.batchBytes)
    }
    #expect(outcomes.map(\.seq) == Array(1...Int64(Limits.batchRecords)))
    let large = try append(&writer) { batch in
      batch.add(
        session, kind: .card, body: [UInt8](repeating: 0x62, count: Limits.bodyBytes),
        payload: "{\"x\":\"" + String(repeating: "y", count: Limits.payloadBytes - 8) + "\"}")
    }
    #expect(large.map(\.verdict) == [.stored])
  }

  @Test func `two writers of one session create one order without gaps`() throws {
    let session = try database.session()
    var one = try readyWriter()
    var two = try readyWriter()
    var seqs: [Int64] = []
    for round in 0..<40 {
      var a = Batch()
      var b = Batch()
      for row in 0..<(round % 7 + 1) {
        a.add(session, "a \(row)")
        b.add(session, "b \(row)")
      }
      one.submit(&a, now: monotonicNow())
      two.submit(&b, now: monotonicNow())
      seqs += try complete(&one).map(\.seq)
      seqs += try complete(&two).map(\.seq)
      try makeReady(&one)
      try makeReady(&two)
    }
    #expect(seqs.sorted() == Array(1...Int64(seqs.count)))
    #expect(try database.seqs(session) == Array(1...Int64(seqs.count)))
  }

  @Test func `a locked session delays only its own messages, for a bounded time`() throws {
    let (locked, free) = (try database.session(), try database.session())
    var writer = try readyWriter()
    let other = try BlockingConnection(database.url)
    try other.execute(script: "BEGIN")
    try other.run(
      Query("SELECT FROM chat_sessions WHERE id = $1 FOR UPDATE", [.uuid(locked)]))
    let outcomes = try append(&writer) { batch in
      batch.add(locked, "waits")
      batch.add(free, "goes on")
      batch.add(locked, "waits too")
    }
    #expect(outcomes.map(\.verdict) == [.unavailable, .stored, .unavailable])
    try other.execute(script: "COMMIT")
    #expect(try append(&writer) { $0.add(locked, "now") }.map(\.seq) == [1])
  }

  @Test func `a writer without a server reports that it is down`() throws {
    var writer = Writer(url: "postgresql:///chirrup?host=/nowhere&user=chirrup", seed: 1)
    let atFirst = writer.status.health
    #expect(atFirst == .connecting)
    try drive(&writer) {
      if case .down(let reason) = $0.status.health { return reason.contains("/nowhere") }
      return false
    }
    let (isReady, descriptor) = (writer.status.isReady, writer.status.descriptor)
    #expect(!isReady)
    #expect(descriptor == -1)
  }

  @Test func `a missing table is a fault of the store, not of the row`() throws {
    let session = try database.session()
    var writer = try readyWriter()
    try database.sql.execute(script: "ALTER TABLE chats RENAME TO hidden")
    var batch = Batch()
    batch.add(session, "patient")
    writer.submit(&batch, now: monotonicNow())
    try drive(&writer) {
      if case .down = $0.status.health { return true }
      return false
    }
    try database.sql.execute(script: "ALTER TABLE hidden RENAME TO chats")
    let outcomes = try complete(&writer)
    #expect(outcomes.map(\.verdict) == [.stored])
    try makeReady(&writer)
    let atLast = writer.status.health
    #expect(atLast == .ready)
  }

  /// The batch fails, no client sends another one, and the store recovers.
  @Test(arguments: ["missing", "full"])
  func `a recovered store becomes ready without a message`(fault: String) throws {
    let session = try database.session()
    var writer = try readyWriter()
    // A trigger raises the error that a full disk causes.
    let (broken, mended) =
      switch fault {
      case "missing":
        ("ALTER TABLE chats RENAME TO hidden", "ALTER TABLE hidden RENAME TO chats")
      default:
        (
          """
          CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
          CREATE TRIGGER full_disk BEFORE INSERT ON chats FOR EACH STATEMENT
            EXECUTE FUNCTION refuse()
          """, "DROP TRIGGER full_disk ON chats"
        )
      }
    try database.sql.execute(script: broken)
    var batch = Batch()
    batch.add(session, "given up")
    let now = monotonicNow()
    writer.submit(&batch, now: now)
    try drive(&writer) {
      if case .down = $0.status.health { return true }
      return false
    }
    // Time is a value: the clock advances six seconds.
    writer.advance(now: now.advanced(byMilliseconds: Limits.sendWaitMilliseconds + 1))
    var verdicts: [Outcome.Verdict] = []
    let isComplete = writer.takeCompletion { verdicts = $1.map(\.verdict) }
    #expect(isComplete)
    #expect(verdicts == [.unavailable])
    let atFirst = writer.status.health
    #expect(atFirst != .ready)
    // The writer probes the store, and every probe fails.
    let end = monotonicNow().advanced(byMilliseconds: 1_000)
    while monotonicNow() < end {
      writer.advance(now: monotonicNow())
      let isReady = writer.status.health == .ready
      #expect(!isReady)
      usleep(5_000)
    }
    try database.sql.execute(script: mended)
    try makeReady(&writer)
    let atLast = writer.status.health
    #expect(atLast == .ready)
    #expect(try database.seqs(session) == [])
  }
}
