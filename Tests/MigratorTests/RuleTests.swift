import Fixtures
import Migrator
import Postgres
import Testing

/// The rules for a conversation's status and for how it was deleted.
@Suite struct RuleTests {
  private static let before = "20270305_macros"
  private static let revision = "20270330_rules_by_column"

  private func refusals(_ connection: BlockingConnection) -> [String] {
    let statements = [
      "INSERT INTO chat_sessions (workspace_id, status) SELECT id, 'done' FROM workspaces",
      "INSERT INTO chat_sessions (workspace_id, deleted_via) SELECT id, 'hand' FROM workspaces",
      "UPDATE chat_sessions SET status = 'done'",
      "UPDATE chat_sessions SET last_seq = last_seq + 1, deleted_via = ''",
      "UPDATE chat_sessions SET (status, deleted_via) = ('active', 'hand')",
      """
      INSERT INTO chat_sessions (id, workspace_id) SELECT id, workspace_id FROM chat_sessions
      ON CONFLICT (id) DO UPDATE SET status = 'done'
      """,
    ]
    return statements.map { statement in
      do throws(ScriptFailure) {
        try connection.execute(script: statement)
        return "done"
      } catch .refused(let refusal, line: _) {
        return "\(refusal.state.code) \(refusal.message)"
      } catch {
        return "\(error)"
      }
    }
  }

  private static let refused: [String] = [
    "status", "deleted_via", "status", "deleted_via", "deleted_via", "status",
  ].map {
    "23514 new row for relation \"chat_sessions\" violates check constraint "
      + "\"chat_sessions_\($0)_check\""
  }

  @Test func `the rules hold as triggers and as constraints, with the same error`() throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    let migrator = try Migrator(connection)
    try migrator.up(to: Self.before)
    try connection.execute(
      script: """
        INSERT INTO workspaces (id, name) VALUES (gen_random_uuid(), 'A');
        INSERT INTO chat_sessions (workspace_id) SELECT id FROM workspaces;
        """)
    #expect(refusals(connection) == Self.refused)
    try migrator.up(to: Self.revision)
    #expect(refusals(connection) == Self.refused)
    // Both may be NULL or have any of their values.
    for (status, via) in [
      ("'waiting'", "NULL"), ("'active'", "'operator'"), ("'closed'", "'api_key'"),
      ("'closed'", "'command'"),
    ] {
      try connection.execute(
        script: "UPDATE chat_sessions SET status = \(status), deleted_via = \(via)")
    }
    try migrator.down(to: Self.before)
    #expect(refusals(connection) == Self.refused)
  }

  @Test func `a message's statement parses no rule of the conversation`() throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    try Migrator(connection).up()
    #expect(
      try connection.number(
        """
        SELECT count(*) FROM pg_constraint
        WHERE conrelid = 'chat_sessions'::regclass AND contype = 'c'
        """) == 0)
  }

  @Test func `an owner's check of the same name stays`() throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    let migrator = try Migrator(connection)
    try migrator.up(to: Self.before)
    try connection.execute(
      script: """
        ALTER TABLE chat_sessions DROP CONSTRAINT chat_sessions_status_check,
          ADD CONSTRAINT chat_sessions_status_check CHECK (status <> 'done');
        """)
    try migrator.up(to: Self.revision)
    let kept: StaticString = """
      SELECT count(*) FROM pg_constraint
      WHERE conname = 'chat_sessions_status_check' AND pg_get_constraintdef(oid) LIKE '%done%'
      """
    #expect(try connection.number(kept) == 1)
    try migrator.down(to: Self.before)
    #expect(try connection.number(kept) == 1)
  }
}
