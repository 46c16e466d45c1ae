import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// Batches whose loop knows the heads of all their sessions go to PostgreSQL as one statement. It
/// stores what `AppendStatement` would store, and leaves what needs a decision.
@Suite struct FenceTests {
  let database: TestDatabase
  init() throws { database = try TestDatabase() }

  private func readyWriter(seed: UInt64 = 1) throws -> Writer {
    var writer = Writer(url: database.url, seed: seed)
    try makeReady(&writer)
    return writer
  }

  private func append(
    _ writer: inout Writer, heads: [Identifier: Int64], _ fill: (inout Batch) -> Void
  ) throws -> [Outcome] {
    try makeReady(&writer)
    var batch = Batch()
    fill(&batch)
    batch.setHeads(heads)
    writer.submit(&batch, now: monotonicNow())
    return try complete(&writer)
  }

  private func counts(_ passed: UInt64, _ refused: UInt64) -> FenceCounts {
    var counts = FenceCounts()
    counts.passed = passed
    counts.refused = refused
    return counts
  }

  @Test func `batches of one row, of one row for each session, and of several use the fence`()
    throws
  {
    let (a, b) = (try database.session(), try database.session())
    var writer = try readyWriter()
    let one = try append(&writer, heads: [a: 0]) { $0.add(a, "first") }
    #expect(one.map(\.verdict) == [.stored])
    #expect(one.map(\.seq) == [1])
    let each = try append(&writer, heads: [a: 1, b: 0]) { batch in
      batch.add(b, "eins")
      batch.add(a, "second")
    }
    #expect(each.map(\.seq) == [1, 2])
    let several = try append(&writer, heads: [a: 2, b: 1]) { batch in
      batch.add(a, "third")
      batch.add(b, "zwei")
      batch.add(a, "fourth")
      batch.add(b, "drei")
      batch.add(a, "fifth")
    }
    #expect(several.map(\.verdict) == Array(repeating: .stored, count: 5))
    #expect(several.map(\.seq) == [3, 2, 4, 3, 5])
    let fences = writer.fences
    #expect(fences == counts(3, 0))
    let page = try database.page(a, after: 0, limit: 10)
    #expect(
      page.entries.map { String(decoding: $0.body, as: UTF8.self) }
        == ["first", "second", "third", "fourth", "fifth"])
    #expect(
      page.entries.map(\.at) == [one[0], each[1], several[0], several[2], several[4]].map(\.at))
    // Each was a transaction of its own that is committed: another connection sees it.
    #expect(try database.seqs(b) == [1, 2, 3])
  }

  /// The reasons for which a session is left, each with the verdict of the statements under locks.
  enum Reason: CaseIterable {
    case newerHead, olderHead, closed, waiting, deleted, missing, foreign, knownID, otherContent

    var verdict: Outcome.Verdict {
      switch self {
      case .newerHead, .olderHead, .waiting: .stored
      case .closed: .closed
      case .deleted, .missing, .foreign: .noSuchSession
      case .knownID: .duplicate
      case .otherContent: .conflict
      }
    }
  }

  @Test(arguments: Reason.allCases, [false, true])
  func `what the fence leaves is settled under locks, and the other session is stored`(
    reason: Reason, isAlone: Bool
  ) throws {
    let other = try database.session()
    var session = try database.session(status: reason == .waiting ? "waiting" : "active")
    var writer = try readyWriter()
    let known = freshIdentifier()
    _ = try append(&writer, heads: [session: 0]) { $0.add(session, "known", id: known) }
    var head: Int64 = 1
    switch reason {
    case .newerHead:
      // Another gateway has written.
      var second = try readyWriter(seed: 2)
      _ = try append(&second, heads: [:]) { $0.add(session, "of another gateway") }
    case .olderHead: head = 7
    case .closed: try change("status = 'closed'", session)
    case .deleted: try change("deleted_at = now()", session)
    case .missing: session = freshIdentifier()
    case .foreign: session = try foreignSession()
    case .waiting, .knownID, .otherContent: break
    }
    let before = writer.fences
    #expect(before == counts(1, 0))
    let body = reason == .otherContent ? "other" : "known"
    let isReply = reason == .waiting
    let outcomes = try append(&writer, heads: [session: head, other: 0]) { batch in
      batch.add(
        session, body,
        id: reason == .knownID || reason == .otherContent ? known : freshIdentifier(),
        role: isReply ? .operator_ : .visitor)
      if !isAlone { batch.add(other, "meanwhile") }
    }
    #expect(outcomes[0].verdict == reason.verdict)
    if reason == .knownID { #expect(outcomes[0].seq == 1) }
    if reason == .newerHead { #expect(outcomes[0].seq == 3) }
    let fences = writer.fences
    #expect(fences == counts(1, 1))
    if !isAlone {
      #expect(outcomes[1].verdict == .stored)
      #expect(outcomes[1].seq == 1)
      #expect(try database.seqs(other) == [1])
    }
    let seqs = try database.seqs(session)
    #expect(seqs == Array(1...Int64(max(1, seqs.count))) || seqs.isEmpty)
  }

  /// The short form would not note it.
  @Test func `what changes the figures of a session is never stored by the short form`() throws {
    let session = try database.session()
    var writer = try readyWriter()
    func note(
      _ head: Int64, _ text: String, _ role: Role, _ kind: EntryKind = .text
    ) throws -> Int64? {
      let outcomes = try append(&writer, heads: [session: head]) {
        $0.add(session, text, role: role, kind: kind)
      }
      #expect(outcomes.map(\.seq) == [head + 1])
      let noted = Query(
        "SELECT count(*) FROM chat_analytics_pending WHERE session_id = $1", [.uuid(session)])
      return try database.sql.run(noted).int(0, 0)
    }
    // A line that nobody wrote is no message: the first message is the second entry.
    #expect(try note(0, "Dana joined", .system, .event) == 0)
    #expect(try note(1, "hello", .visitor) == 1)
    #expect(try note(2, "anybody there?", .visitor) == 1)
    #expect(try note(3, "to the team", .operator_, .note) == 1)
    #expect(try note(4, "yes", .operator_) == 2)
    #expect(try note(5, "how can I help?", .operator_) == 2)
    // The first message, and the first response.
    let fences = writer.fences
    #expect(fences == counts(4, 2))
  }

  private func change(_ assignment: String, _ session: Identifier) throws {
    try database.sql.execute(
      script: "UPDATE chat_sessions SET \(assignment) WHERE id = '\(session)'")
  }

  private func foreignSession() throws -> Identifier {
    try database.sql.run(
      Query(
        """
        WITH w AS (INSERT INTO workspaces (name) VALUES ('other') RETURNING id)
        INSERT INTO chat_sessions (workspace_id, status, last_seq)
        SELECT id, 'active', 1 FROM w RETURNING id
        """)
    ).uuid(0, 0) ?? .zero
  }

  @Test func `a session without a known head sends the whole batch under locks`() throws {
    let (a, b) = (try database.session(), try database.session())
    var writer = try readyWriter()
    let outcomes = try append(&writer, heads: [a: 0]) { batch in
      batch.add(a, "known")
      batch.add(b, "unknown")
    }
    #expect(outcomes.map(\.verdict) == [.stored, .stored])
    let fences = writer.fences
    #expect(fences == counts(0, 0))
  }

  @Test func `poison rows are found under locks, and the others keep their order`() throws {
    let session = try database.session()
    var writer = try readyWriter()
    let outcomes = try append(&writer, heads: [session: 0]) { batch in
      for row in 0..<40 {
        batch.add(session, body: row % 13 == 7 ? [0x61, 0xFF] : Array("row \(row)".utf8))
      }
    }
    #expect(outcomes.filter { $0.verdict == .rejected }.count == 3)
    #expect(outcomes.filter { $0.verdict == .stored }.map(\.seq) == Array(1...37))
    #expect(try database.seqs(session) == Array(1...37))
  }

  /// A deferred constraint fails when PostgreSQL commits, after it has answered the statement.
  @Test func `a statement that fails at its commit stores nothing and is not acknowledged`() throws
  {
    let (session, other) = (try database.session(), try database.session())
    try database.sql.execute(
      script: """
        CREATE FUNCTION refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF NEW.content = 'late' THEN RAISE EXCEPTION 'too late'; END IF;
          RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER late AFTER INSERT ON chats DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION refuse_late();
        """)
    var writer = try readyWriter()
    let outcomes = try append(&writer, heads: [session: 0, other: 0]) { batch in
      batch.add(session, "early")
      batch.add(other, "late")
      batch.add(session, "last")
    }
    #expect(outcomes.map(\.verdict) == [.stored, .rejected, .stored])
    #expect(try database.seqs(session) == [1, 2])
    #expect(try database.seqs(other) == [])
  }

  @Test(arguments: 0..<8)
  func `a fenced batch whose backend was killed is stored once`(round: Int) throws {
    let session = try database.session()
    var writer = try readyWriter(seed: UInt64(round))
    var batch = Batch()
    for row in 0..<100 { batch.add(session, "row \(row)") }
    batch.setHeads([session: 0])
    writer.submit(&batch, now: monotonicNow())
    if round % 2 == 1 { for _ in 0..<round * 40 { writer.advance(now: monotonicNow()) } }
    // In some rounds it has committed, and nobody has read the answer.
    if round % 4 == 2 { while try database.seqs(session).isEmpty {} }
    try database.terminateOthers()
    let outcomes = try complete(&writer)
    #expect(outcomes.allSatisfy { $0.verdict == .stored || $0.verdict == .duplicate })
    #expect(outcomes.map(\.seq) == Array(1...100))
    #expect(try database.seqs(session) == Array(1...100))
  }

  @Test func `two writers that both believe in their head create one order without gaps`() throws {
    let (a, b) = (try database.session(), try database.session())
    var one = try readyWriter(seed: 1)
    var two = try readyWriter(seed: 2)
    var seqs: [Identifier: [Int64]] = [:]
    var heads: [Identifier: Int64] = [a: 0, b: 0]
    for round in 0..<40 {
      var first = Batch()
      var second = Batch()
      for row in 0..<(round % 5 + 1) {
        // The two lock their sessions in the same order.
        for session in row % 2 == 0 ? [a, b] : [b, a] {
          first.add(session, "one \(row)")
          second.add(session, "two \(row)")
        }
      }
      first.setHeads(heads)
      second.setHeads(heads)
      let sessions = (0..<first.count).map { first.record($0).session }
      one.submit(&first, now: monotonicNow())
      two.submit(&second, now: monotonicNow())
      for outcomes in [try complete(&one), try complete(&two)] {
        #expect(outcomes.allSatisfy { $0.verdict == .stored })
        for (session, outcome) in zip(sessions, outcomes) {
          seqs[session, default: []].append(outcome.seq)
          heads[session] = max(heads[session] ?? 0, outcome.seq)
        }
      }
      try makeReady(&one)
      try makeReady(&two)
    }
    for session in [a, b] {
      #expect(seqs[session]?.sorted() == Array(1...Int64(seqs[session]?.count ?? 0)))
      #expect(try database.seqs(session) == seqs[session]?.sorted())
    }
    let fences = (one.fences, two.fences)
    #expect(fences.0.passed + fences.1.passed >= 40)
    #expect(fences.0.refused + fences.1.refused >= 1)
  }

  @Test func `rows are sent by session in the order of the locks`() {
    let ids = (0..<4).map { Identifier(high: UInt64(4 - $0), low: 7) }
    var batch = Batch()
    for place in [0, 1, 0, 0, 3, 1, 2, 2, 3, 0] { batch.add(ids[place], "x") }
    batch.setHeads(Dictionary(uniqueKeysWithValues: ids.map { ($0, Int64($0.high) * 10) }))
    var rows = FencedRows()
    rows.group(batch, Array(0..<batch.count))
    #expect(rows.order == [4, 8, 6, 7, 1, 5, 0, 2, 3, 9])
    #expect(rows.groups.map(\.rows) == [0..<2, 2..<4, 4..<6, 6..<10])
    #expect(rows.groups.map(\.head) == [10, 20, 30, 40])
    #expect(rows.first == [4, 6, 1, 0])
    #expect(rows.further == [8, 7, 5, 2, 3, 9])
    #expect(rows.further.map { rows.seq(of: $0) } == [12, 22, 32, 42, 43, 44])
    #expect(rows.statement.description == "several")
    // Part of a batch, as after a duplicate id in it.
    rows.group(batch, [1, 4, 5])
    #expect(rows.order == [4, 1, 5])
    rows.group(batch, [2])
    #expect(rows.statement.description == "one")
    var outcomes = [Outcome(verdict: .unavailable)]
    rows.settle(0, at: WallTime(microseconds: 5), in: &outcomes)
    #expect(
      outcomes == [Outcome(verdict: .stored, seq: 41, at: WallTime(microseconds: 5))])
  }
}

extension Batch {
  /// Sets what a loop knows; sessions that are not listed are unknown.
  mutating func setHeads(_ heads: [Identifier: Int64]) {
    for row in 0..<count { setHead(row, heads[record(row).session] ?? Batch.unknownHead) }
  }
}
