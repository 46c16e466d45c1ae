import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// The same random batches, once with the heads and once without, leave the same rows.
@Suite struct FenceEquivalenceTests {
  private static let statuses = ["active", "active", "active", "waiting", "closed"]

  /// What a batch holds; a session is an index, so that two sets of sessions can get the same.
  private struct Row {
    var session: Int
    var id: Int
    var role: Role
    var kind: EntryKind
    var name: String
    var body: String
    var payload: String
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `a fenced writer and one under locks store the same`(seed: UInt64) throws {
    let database = try TestDatabase()
    let operator_ = freshIdentifier()
    try database.sql.run(
      Query(
        """
        WITH o AS (INSERT INTO operators (id, email, name, password_hash)
          VALUES ($1, 'm@example.org', 'Mika', 'x') RETURNING id)
        INSERT INTO memberships (workspace_id, operator_id, role) SELECT $2, id, 'agent' FROM o
        """, [.uuid(operator_), .uuid(database.workspace)]))
    var random = Random(state: seed)
    let statuses = (0..<12).map { _ in Self.statuses[random.below(Self.statuses.count)] }
    var (fencedSessions, lockedSessions): ([Identifier], [Identifier]) = ([], [])
    for status in statuses {
      fencedSessions.append(try database.session(status: status))
      lockedSessions.append(try database.session(status: status))
    }
    var fenced = Writer(url: database.url, seed: 1)
    var locked = Writer(url: database.url, seed: 2)
    var fencedIDs: [Int: Identifier] = [:]
    var lockedIDs: [Int: Identifier] = [:]
    var known = 0
    for _ in 0..<25 {
      let returned = random.below(12)
      for session in [fencedSessions[returned], lockedSessions[returned]] {
        try database.sql.run(
          Query(Self.returnToQueue, [.uuid(session), .uuid(database.workspace)]))
      }
      let rows = (0..<random.below([2, 6, 40][random.below(3)]) + 1).map { _ in
        row(&random, &known)
      }
      let stored = try Self.known(of: fencedSessions, database)
      // Now and then the loop has not heard of the last entry, or of a claim.
      let told = stored.mapValues { session in
        Known(
          head: random.below(12) == 0 ? max(0, session.head - 1) : session.head,
          isUnclaimed: random.below(12) == 0 ? !session.isUnclaimed : session.isUnclaimed)
      }
      let one = try append(
        rows, fencedSessions, &fencedIDs, operator_, &fenced, sessions: told)
      let two = try append(rows, lockedSessions, &lockedIDs, operator_, &locked, sessions: [:])
      #expect(one.map(\.verdict) == two.map(\.verdict))
      #expect(one.map(\.seq) == two.map(\.seq))
    }
    let fences = fenced.fences
    #expect(fences.passed > 0)
    #expect(fences.refused > 0)
    let untouched = locked.fences
    #expect(untouched == FenceCounts())
    for (a, b) in zip(fencedSessions, lockedSessions) {
      let (left, right) = (try Self.content(a, database), try Self.content(b, database))
      #expect(left == right)
    }
  }

  private struct Random {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(limit))
    }
  }

  private func row(_ random: inout Random, _ known: inout Int) -> Row {
    // One of twenty repeats an earlier id, perhaps with other content or in another session.
    let isRepeated = known > 0 && random.below(20) == 0
    if !isRepeated { known += 1 }
    let role: Role = [.visitor, .visitor, .operator_, .operator_, .bot, .system][random.below(6)]
    let kind: EntryKind =
      role == .system
      ? .event : [.text, .text, .note, .card][random.below(role == .operator_ ? 4 : 2)]
    let bodies = [
      "hello", "", String(repeating: "ä€😀", count: 60), String(repeating: "x", count: 121),
    ]
    return Row(
      session: random.below(12), id: isRepeated ? random.below(known) + 1 : known, role: role,
      kind: kind, name: role == .operator_ ? "Mika" : "", body: bodies[random.below(4)],
      payload: ["", "", #"{"b": 1, "a":[true,null]}"#][random.below(3)])
  }

  private func append(
    _ rows: [Row], _ sessions: [Identifier], _ ids: inout [Int: Identifier],
    _ operator_: Identifier, _ writer: inout Writer, sessions known: [Identifier: Known]
  ) throws -> [Outcome] {
    try makeReady(&writer)
    var batch = Batch()
    for row in rows {
      let id = ids[row.id] ?? freshIdentifier()
      ids[row.id] = id
      batch.add(
        sessions[row.session], id: id, role: row.role, kind: row.kind,
        sender: row.role == .operator_ ? operator_ : nil, name: row.name,
        body: Array(row.body.utf8), payload: row.payload)
    }
    for row in 0..<batch.count {
      guard let session = known[batch.record(row).session] else { continue }
      batch.setHead(row, session.head, isUnclaimed: session.isUnclaimed)
    }
    writer.submit(&batch, now: monotonicNow())
    return try complete(&writer)
  }

  private static let returnToQueue: SQL = """
    SELECT chirrup_change($2, id, 'unassigned', NULL, NULL, NULL, NULL, gen_random_uuid(),
      'back in the queue', '{"event": "unassigned"}')
    FROM chat_sessions WHERE id = $1 AND status = 'active'
    """

  /// What a loop knows of a session.
  private struct Known {
    var head: Int64
    var isUnclaimed: Bool
  }

  private static func known(
    of sessions: [Identifier], _ database: TestDatabase
  ) throws -> [Identifier: Known] {
    let rows = try database.sql.run(
      Query(
        """
        SELECT id, last_seq, status = 'waiting' AND assigned_operator_id IS NULL
        FROM chat_sessions WHERE id = ANY ($1) ORDER BY id
        """, [.uuids(sessions)]))
    return Dictionary(
      uniqueKeysWithValues: (0..<rows.count).map {
        (
          rows.uuid($0, 0) ?? .zero,
          Known(head: rows.int($0, 1) ?? -1, isUnclaimed: rows.bool($0, 2) ?? false)
        )
      })
  }

  /// Everything of a session and its log except ids and times; those of which only whether they
  /// are set, and the order of the log by time. And how often its figures have changed.
  private static func content(_ session: Identifier, _ database: TestDatabase) throws -> [String] {
    let rows = try database.sql.run(
      Query(
        """
        SELECT concat_ws('|', last_seq, message_count, status, assigned_operator_id,
          operator_name, last_message_preview, last_message_role, last_message_at IS NULL,
          first_response_at IS NULL, waiting_since IS NULL, claimed_at IS NULL, queued_at IS NULL,
          returned_by, closed_at IS NULL,
          last_message_at = (SELECT max(created_at) FROM chats c WHERE c.session_id = s.id
            AND c.workspace_id = s.workspace_id AND kind NOT IN ('note', 'event')),
          (SELECT count(*) FROM chat_analytics_pending p WHERE p.session_id = s.id))
        FROM chat_sessions s WHERE id = $1
        UNION ALL
        SELECT concat_ws('|', seq, role, kind, content, payload::text, user_id, operator_id,
          operator_name, encode(content_hash, 'hex'),
          created_at >= lag(created_at) OVER (ORDER BY seq))
        FROM (SELECT * FROM chats WHERE session_id = $1 ORDER BY seq) AS log
        """, [.uuid(session)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }
}
