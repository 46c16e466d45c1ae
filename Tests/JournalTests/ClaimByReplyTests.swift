import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// An operator's reply to a waiting conversation claims it in the same transaction: under locks, or
/// by the fenced statement if the loop knows the conversation.
@Suite struct ClaimByReplyTests {
  let database: TestDatabase
  let mika = freshIdentifier()
  let noor = freshIdentifier()

  init() throws {
    database = try TestDatabase()
    for (id, name) in [(mika, "Mika"), (noor, "Noor")] {
      try database.sql.run(
        Query(
          "INSERT INTO operators (id, email, name) VALUES ($1, $2, $2)", [.uuid(id), .text(name)]))
      try database.sql.run(
        Query(
          "INSERT INTO memberships (workspace_id, operator_id) VALUES ($1, $2)",
          [.uuid(database.workspace), .uuid(id)]))
    }
  }

  private func append(
    isFenced: Bool, _ fill: (inout Batch) -> Void
  ) throws -> [Outcome] {
    var writer = Writer(url: database.url, seed: 1)
    return try append(&writer, isFenced: isFenced, fill)
  }

  /// - Parameter isFenced: the loop knows the sessions as they are in the database.
  private func append(
    _ writer: inout Writer, isFenced: Bool, _ fill: (inout Batch) -> Void
  ) throws -> [Outcome] {
    try makeReady(&writer)
    var batch = Batch()
    fill(&batch)
    if isFenced { try batch.setHeads(from: database) }
    writer.submit(&batch, now: monotonicNow())
    return try complete(&writer)
  }

  private func state(_ session: Identifier) throws -> String {
    let rows = try database.sql.run(
      Query(
        """
        SELECT concat_ws(' ', status, operator_name, last_seq, claimed_at IS NOT NULL,
          waiting_since IS NOT NULL, (SELECT string_agg(seq || coalesce(payload->>'event', content),
            ',' ORDER BY seq) FROM chats c WHERE c.session_id = s.id))
        FROM chat_sessions s WHERE id = $1
        """, [.uuid(session)]))
    return rows.text(0, 0) ?? ""
  }

  @Test(
    "a reply claims the conversation; the claim's entry precedes all messages of the batch",
    arguments: [false, true])
  func reply(isFenced: Bool) throws {
    let session = try database.session(status: "waiting")
    let outcomes = try append(isFenced: isFenced) { batch in
      batch.add(session, "hello")
      batch.add(
        session, role: .operator_, sender: mika, name: "Mika", body: Array("hi".utf8))
      batch.add(session, role: .operator_, sender: noor, name: "Noor", body: Array("me too".utf8))
    }
    // The claim entry precedes all rows of the batch, regardless of their senders.
    #expect(outcomes.map(\.verdict) == [.stored, .stored, .stored])
    #expect(outcomes.map(\.seq) == [2, 3, 4])
    #expect(try state(session) == "active Mika 4 t f 1claimed,2hello,3hi,4me too")
  }

  @Test(
    "a note, an event, a bot message and a non-member's message claim nothing",
    arguments: [false, true])
  func others(isFenced: Bool) throws {
    let session = try database.session(status: "waiting")
    let stranger = freshIdentifier()
    try database.sql.run(
      Query("INSERT INTO operators (id, email, name) VALUES ($1, 's', 's')", [.uuid(stranger)]))
    _ = try append(isFenced: isFenced) { batch in
      batch.add(
        session, role: .operator_, kind: .note, sender: mika, name: "Mika", body: Array("n".utf8))
      batch.add(session, role: .bot, sender: nil, name: "Bot", body: Array("b".utf8))
      batch.add(session, role: .operator_, sender: stranger, name: "s", body: Array("s".utf8))
    }
    #expect(try state(session).hasPrefix("waiting 3 f t"))
  }

  @Test(
    "a duplicate message claims nothing after the conversation has returned to the queue",
    arguments: [false, true])
  func again(isFenced: Bool) throws {
    let session = try database.session(status: "waiting")
    let id = freshIdentifier()
    let hi = Array("hi".utf8)
    _ = try append(isFenced: isFenced) {
      $0.add(session, id: id, role: .operator_, sender: mika, name: "Mika", body: hi)
    }
    #expect(try state(session).hasPrefix("active Mika 2 t f"))
    try database.sql.run(
      Query(
        """
        UPDATE chat_sessions SET status = 'waiting', assigned_operator_id = NULL,
          operator_name = NULL WHERE id = $1
        """, [.uuid(session)]))
    let outcomes = try append(isFenced: isFenced) {
      $0.add(session, id: id, role: .operator_, sender: mika, name: "Mika", body: hi)
    }
    #expect(outcomes.map(\.verdict) == [.duplicate] && outcomes.map(\.seq) == [2])
    #expect(try state(session).hasPrefix("waiting 2"))
  }

  @Test(
    "a rejected message claims nothing, and an assigned conversation keeps its operator",
    arguments: [false, true])
  func refused(isFenced: Bool) throws {
    let session = try database.session(status: "waiting")
    let outcomes = try append(isFenced: isFenced) {
      $0.add(session, role: .operator_, sender: mika, name: "Mika", body: [0x00])
    }
    #expect(outcomes.map(\.verdict) == [.rejected])
    #expect(try state(session).hasPrefix("waiting 0 f"))
    _ = try append(isFenced: isFenced) {
      $0.add(session, role: .operator_, sender: noor, name: "Noor", body: Array("mine".utf8))
    }
    _ = try append(isFenced: isFenced) {
      $0.add(session, role: .operator_, sender: mika, name: "Mika", body: Array("me".utf8))
    }
    #expect(try state(session) == "active Noor 3 t f 1claimed,2mine,3me")
  }

  @Test(
    "of two simultaneous replies, one claims, and the log has one claim entry",
    arguments: [false, true])
  func race(isFenced: Bool) throws {
    let session = try database.session(status: "waiting")
    var one = Writer(url: database.url, seed: 1)
    var two = Writer(url: database.url, seed: 2)
    try makeReady(&one)
    try makeReady(&two)
    var first = Batch()
    var second = Batch()
    first.add(session, role: .operator_, sender: mika, name: "Mika", body: Array("a".utf8))
    second.add(session, role: .operator_, sender: noor, name: "Noor", body: Array("b".utf8))
    if isFenced {
      try first.setHeads(from: database)
      try second.setHeads(from: database)
    }
    one.submit(&first, now: monotonicNow())
    two.submit(&second, now: monotonicNow())
    let outcomes = try complete(&one) + complete(&two)
    #expect(outcomes.map(\.verdict) == [.stored, .stored])
    #expect(try database.seqs(session) == [1, 2, 3])
    #expect(
      try database.count(
        "SELECT count(*) FROM chats WHERE session_id = $1 AND kind = 'event'", [.uuid(session)])
        == 1)
  }

  @Test func `one statement claims and stores, alone and in batches of several sessions`() throws {
    let sessions = try (0..<4).map { _ in try database.session(status: "waiting") }
    let hi = Array("hi".utf8)
    var writer = Writer(url: database.url, seed: 1)
    func reply(_ session: Int, in batch: inout Batch) {
      batch.add(sessions[session], role: .operator_, sender: mika, name: "Mika", body: hi)
    }
    let one = try append(&writer, isFenced: true) { reply(0, in: &$0) }
    #expect(one.map(\.seq) == [2])
    let each = try append(&writer, isFenced: true) { batch in
      reply(0, in: &batch)
      reply(1, in: &batch)
      batch.add(sessions[2], "hello")
    }
    #expect(each.map(\.seq) == [3, 2, 1])
    let several = try append(&writer, isFenced: true) { batch in
      batch.add(sessions[3], "hello")
      reply(2, in: &batch)
      reply(3, in: &batch)
      batch.add(sessions[1], "thanks")
      reply(2, in: &batch)
    }
    #expect(several.map(\.seq) == [2, 3, 3, 3, 4])
    let fences = writer.fences
    #expect(fences.passed == 3 && fences.refused == 0)
    #expect(
      try sessions.map { try state($0) } == [
        "active Mika 3 t f 1claimed,2hi,3hi", "active Mika 3 t f 1claimed,2hi,3thanks",
        "active Mika 4 t f 1hello,2claimed,3hi,4hi", "active Mika 3 t f 1claimed,2hello,3hi",
      ])
  }

  /// What the loop does not know: the fence refuses a claim that would be wrong, and the statements
  /// under locks settle it.
  @Test(arguments: [
    "status = 'active', assigned_operator_id = o.id, operator_name = o.name",
    "status = 'active'", "assigned_operator_id = o.id, operator_name = o.name",
  ])
  func `a conversation that was taken meanwhile is not claimed`(assignment: String) throws {
    let session = try database.session(status: "waiting")
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    var batch = Batch()
    batch.add(session, role: .operator_, sender: mika, name: "Mika", body: Array("hi".utf8))
    try batch.setHeads(from: database)
    try database.sql.execute(
      script: """
        UPDATE chat_sessions SET \(assignment) FROM operators AS o
        WHERE chat_sessions.id = '\(session)' AND o.id = '\(noor)'
        """)
    writer.submit(&batch, now: monotonicNow())
    let outcomes = try complete(&writer)
    #expect(outcomes.map(\.verdict) == [.stored] && outcomes.map(\.seq) == [1])
    let fences = writer.fences
    #expect(fences.passed == 0 && fences.refused == 1)
    let claims = try database.count(
      "SELECT count(*) FROM chats WHERE session_id = $1 AND kind = 'event'", [.uuid(session)])
    #expect(claims == 0)
  }
}

extension Batch {
  /// Sets what a loop knows that has just read the sessions.
  mutating func setHeads(from database: TestDatabase) throws {
    let rows = try database.sql.run(
      Query(
        """
        SELECT id, last_seq, status = 'waiting' AND assigned_operator_id IS NULL
        FROM chat_sessions
        """))
    for row in 0..<rows.count {
      for index in 0..<count where record(index).session == rows.uuid(row, 0) {
        setHead(
          index, rows.int(row, 1) ?? Batch.unknownHead, isUnclaimed: rows.bool(row, 2) ?? false)
      }
    }
  }
}
