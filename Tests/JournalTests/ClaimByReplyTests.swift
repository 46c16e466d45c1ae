import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// An operator's reply to a waiting conversation claims it in the same transaction.
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

  private func append(_ fill: (inout Batch) -> Void) throws -> [Outcome] {
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    var batch = Batch()
    fill(&batch)
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

  @Test("a reply claims the conversation; the claim's entry precedes all messages of the batch")
  func reply() throws {
    let session = try database.session(status: "waiting")
    let outcomes = try append { batch in
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

  @Test("a note, an event, a bot message and a non-member's message claim nothing")
  func others() throws {
    let session = try database.session(status: "waiting")
    let stranger = freshIdentifier()
    try database.sql.run(
      Query("INSERT INTO operators (id, email, name) VALUES ($1, 's', 's')", [.uuid(stranger)]))
    _ = try append { batch in
      batch.add(
        session, role: .operator_, kind: .note, sender: mika, name: "Mika", body: Array("n".utf8))
      batch.add(session, role: .bot, sender: nil, name: "Bot", body: Array("b".utf8))
      batch.add(session, role: .operator_, sender: stranger, name: "s", body: Array("s".utf8))
    }
    #expect(try state(session).hasPrefix("waiting 3 f t"))
  }

  @Test("a duplicate message claims nothing after the conversation has returned to the queue")
  func again() throws {
    let session = try database.session(status: "waiting")
    let id = freshIdentifier()
    let hi = Array("hi".utf8)
    _ = try append {
      $0.add(session, id: id, role: .operator_, sender: mika, name: "Mika", body: hi)
    }
    #expect(try state(session).hasPrefix("active Mika 2 t f"))
    try database.sql.run(
      Query(
        """
        UPDATE chat_sessions SET status = 'waiting', assigned_operator_id = NULL,
          operator_name = NULL WHERE id = $1
        """, [.uuid(session)]))
    let outcomes = try append {
      $0.add(session, id: id, role: .operator_, sender: mika, name: "Mika", body: hi)
    }
    #expect(outcomes.map(\.verdict) == [.duplicate] && outcomes.map(\.seq) == [2])
    #expect(try state(session).hasPrefix("waiting 2"))
  }

  @Test("a rejected message claims nothing, and an assigned conversation keeps its operator")
  func refused() throws {
    let session = try database.session(status: "waiting")
    let outcomes = try append {
      $0.add(session, role: .operator_, sender: mika, name: "Mika", body: [0x00])
    }
    #expect(outcomes.map(\.verdict) == [.rejected])
    #expect(try state(session).hasPrefix("waiting 0 f"))
    _ = try append {
      $0.add(session, role: .operator_, sender: noor, name: "Noor", body: Array("mine".utf8))
    }
    _ = try append {
      $0.add(session, role: .operator_, sender: mika, name: "Mika", body: Array("me".utf8))
    }
    #expect(try state(session) == "active Noor 3 t f 1claimed,2mine,3me")
  }

  @Test("of two simultaneous replies, one claims, and the log has one claim entry")
  func race() throws {
    let session = try database.session(status: "waiting")
    var one = Writer(url: database.url, seed: 1)
    var two = Writer(url: database.url, seed: 2)
    try makeReady(&one)
    try makeReady(&two)
    var first = Batch()
    var second = Batch()
    first.add(session, role: .operator_, sender: mika, name: "Mika", body: Array("a".utf8))
    second.add(session, role: .operator_, sender: noor, name: "Noor", body: Array("b".utf8))
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
}
