import Fixtures
import Postgres

/// The same numbers for the same seed (SplitMix64).
struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// Random conversations of two workspaces in the database of an older application, each change a
/// transaction: states, operators, ratings, tags, deletions, and the application's late messages.
struct AnalyticsPlay {
  let owner: BlockingConnection
  private var dice: Dice
  private var sessions: [(id: String, workspace: String)] = []
  private let workspaces: [String]
  private let operators: [String]

  /// A workspace chat whose application goes on writing: its trigger numbers what it inserts.
  static func database() throws -> EmptyDatabase {
    try EmptyDatabase(fixture: "workspace_chat", rows: 20)
  }

  init(_ owner: BlockingConnection, seed: UInt64) throws {
    self.owner = owner
    dice = Dice(state: seed)
    try owner.execute(
      script: """
        INSERT INTO workspaces (id, name) VALUES (gen_random_uuid(), 'second');
        INSERT INTO operators (id, email, name, password_hash)
        SELECT gen_random_uuid(), n || '@example.com', 'O' || n, '' FROM generate_series(1, 3) AS n
        """)
    workspaces = Array(
      try owner.texts("SELECT id::text FROM workspaces ORDER BY name = 'second' DESC, id LIMIT 2"))
    operators = try owner.texts("SELECT id::text FROM operators ORDER BY name")
  }

  private mutating func die(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &dice) }

  /// A conversation that began at most four days ago.
  private mutating func begin() throws {
    let workspace = workspaces[die(workspaces.count)]
    let id = try owner.run(Query("SELECT gen_random_uuid()::text")).text(0, 0) ?? ""
    sessions.append((id, workspace))
    let ago = die(400_000)
    try owner.execute(
      script: """
        BEGIN;
        INSERT INTO chat_sessions (id, workspace_id, last_seq, message_count)
        VALUES ('\(id)', '\(workspace)', 1, 1);
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash, created_at)
        VALUES ('\(workspace)', '\(id)', 1, 'visitor', 'x', '',
          clock_timestamp() - interval '1 second' * \(ago));
        COMMIT
        """)
  }

  mutating func step() throws {
    guard sessions.count > 2, die(6) > 0 else { return try begin() }
    let (id, workspace) = sessions[die(sessions.count)]
    let member = operators[die(operators.count)]
    let key = "id = '\(id)' AND workspace_id = '\(workspace)'"
    switch die(13) {
    case 0, 1: try change(id, "'active'", "'\(member)'", event: "claimed")
    case 2: try change(id, "'active'", "'\(member)'", event: "assigned")
    case 3: try change(id, "'waiting'", "NULL", event: "requeued")
    case 4, 5: try close(key)
    case 6:
      try owner.execute(
        script: "UPDATE chat_sessions SET status = 'active', closed_at = NULL WHERE \(key)")
    case 7: try rate(id, workspace)
    case 8:
      try owner.execute(
        script: """
          UPDATE chat_sessions SET first_response_at = coalesce(first_response_at,
            clock_timestamp() - interval '1 second' * \(die(9_000))) WHERE \(key)
          """)
    case 9: try tag(id, workspace)
    case 10: try delete(key, id)
    default: try write(id, workspace)
    }
  }

  private func change(_ id: String, _ status: String, _ member: String, event: String) throws {
    try owner.execute(
      script: """
        WITH s AS (
          UPDATE chat_sessions SET status = \(status), assigned_operator_id = \(member),
            claimed_at = CASE WHEN \(status) = 'active' THEN now() END, last_seq = last_seq + 1
          WHERE id = '\(id)' AND deleted_at IS NULL RETURNING id, workspace_id, last_seq)
        INSERT INTO chats
          (workspace_id, session_id, seq, role, kind, content, content_hash, payload)
        SELECT workspace_id, id, last_seq, 'system', 'event', '', '', '{"event":"\(event)"}' FROM s
        """)
  }

  private mutating func close(_ key: String) throws {
    try owner.execute(
      script: """
        UPDATE chat_sessions SET status = 'closed',
          closed_at = clock_timestamp() + interval '1 second' * \(die(90_000)) WHERE \(key)
        """)
  }

  private mutating func rate(_ id: String, _ workspace: String) throws {
    try owner.execute(
      script: """
        INSERT INTO csat_responses (workspace_id, session_id, rating)
        SELECT workspace_id, id, \(1 + die(5)) FROM chat_sessions
        WHERE id = '\(id)' AND workspace_id = '\(workspace)'
        ON CONFLICT (workspace_id, session_id) DO UPDATE SET rating = excluded.rating
        """)
  }

  private func tag(_ id: String, _ workspace: String) throws {
    try owner.execute(
      script: """
        INSERT INTO tags (workspace_id, name) VALUES ('\(workspace)', 'vip') ON CONFLICT DO NOTHING;
        INSERT INTO session_tags (workspace_id, session_id, tag)
        SELECT workspace_id, id, 'vip' FROM chat_sessions WHERE id = '\(id)' ON CONFLICT DO NOTHING
        """)
  }

  /// A deletion, its end, or the erasure.
  private mutating func delete(_ key: String, _ id: String) throws {
    switch die(5) {
    case 0:
      try owner.execute(script: "DELETE FROM chat_sessions WHERE \(key)")
      sessions.removeAll { $0.id == id }
    case 1, 2:
      try owner.execute(
        script: "UPDATE chat_sessions SET deleted_at = coalesce(deleted_at, now()) WHERE \(key)")
    default:
      try owner.execute(script: "UPDATE chat_sessions SET deleted_at = NULL WHERE \(key)")
    }
  }

  /// A message of the older application: late in this conversation, or without one.
  private mutating func write(_ id: String, _ workspace: String) throws {
    let session = die(4) == 0 ? "NULL" : "'\(id)'"
    try owner.execute(
      script: """
        INSERT INTO chats (workspace_id, session_id, role, content, created_at)
        VALUES ('\(workspace)', \(session), 'user', 'late',
          clock_timestamp() - interval '1 second' * \(die(900_000)))
        """)
  }
}
