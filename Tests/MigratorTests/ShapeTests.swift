import Fixtures
import Migrator
import Postgres
import Testing

/// Databases that nobody prepared for Chirrup (Tests/Fixtures/legacy/shapes): each is adopted, with
/// the old application running on, and given back as it was; or refused before the first change.
@Suite struct ShapeTests {
  static let names = (try? Shape.all().map(\.name)) ?? []

  @Test(arguments: names) func `a database moves in and out, or is refused untouched`(name: String)
    throws
  {
    let shape = try Shape(name)
    let database = try shape.database()
    let connection = try BlockingConnection(database.url)
    let migrator = try Migrator(connection)
    let before = try database.dump()
    var row = Outcome()
    do throws(MigrationFailure) {
      try migrator.up()
      row.up = "done"
    } catch {
      row.up = "refused"
      row.detail = "\(error)"
    }
    if row.up == "done" {
      row.old = try outcome(of: shape.oldStatements + ShapeTests.everyday(shape), on: connection)
      row.gateway = try outcome(of: ShapeTests.gateway, on: connection)
      let failed = try migrator.verify().filter { !$0.passed }
      row.verify = failed.isEmpty ? "pass" : failed.map { "\($0.name): \($0.figures)" }.joined()
      do throws(MigrationFailure) { try migrator.down(to: "none") } catch { row.down = "\(error)" }
    }
    let after = try database.dump()
    row.schema = after.schema == before.schema
    row.rows = after.rows == before.rows
    print("SHAPE \(name): \(row)")
    if let refusal = shape.refusal {
      #expect(row.up == "refused")
      #expect(row.detail.contains(refusal))
    } else {
      #expect(row.up == "done", "\(row.detail)")
      #expect(row.old == "done")
      #expect(row.gateway == "done")
      #expect(row.verify == "pass")
      #expect(row.down == "done")
    }
    #expect(row.schema, "\(difference(before.schema, after.schema))")
    #expect(row.rows)
  }

  private struct Outcome {
    var up = ""
    var old = "done"
    var gateway = "done"
    var verify = ""
    var down = "done"
    var schema = false
    var rows = false
    var detail = ""
  }

  /// Runs statements in a transaction that is rolled back.
  private func outcome(of statements: [String], on connection: BlockingConnection) throws
    -> String
  {
    try connection.execute(script: "BEGIN")
    defer { try? connection.execute(script: "ROLLBACK") }
    for statement in statements {
      do throws(ScriptFailure) {
        try connection.execute(script: statement)
      } catch {
        return "\(statement.prefix(80)): \(error)"
      }
    }
    return "done"
  }

  /// The statements that every workspace chat runs.
  private static func everyday(_ shape: Shape) -> [String] {
    guard !shape.name.hasPrefix("line_") else { return ["SELECT * FROM messages, intents LIMIT 1"] }
    return [
      """
      SELECT id, role, content, created_at FROM chats
      WHERE workspace_id = '10000000-0000-4000-8000-000000000001' ORDER BY created_at
      """,
      """
      INSERT INTO workspaces (user_id, name) VALUES ('a0000000-0000-4000-8000-000000000001', 'W')
      """,
      "DELETE FROM workspaces WHERE name = 'W'",
    ]
  }

  /// The statements of a gateway: a visitor writes, an operator claims, answers and closes.
  private static let gateway = [
    """
    INSERT INTO workspaces (id, name) VALUES ('30000000-0000-4000-8000-000000000001', 'Gateway');
    INSERT INTO visitors (id, workspace_id) VALUES
      ('30000000-0000-4000-8000-000000000002', '30000000-0000-4000-8000-000000000001');
    INSERT INTO operators (id, email, name) VALUES
      ('30000000-0000-4000-8000-000000000003', 'dana@example.org', 'Dana');
    INSERT INTO chat_sessions (id, workspace_id, user_id, context, waiting_since) VALUES
      ('30000000-0000-4000-8000-000000000004', '30000000-0000-4000-8000-000000000001',
        '30000000-0000-4000-8000-000000000002', '{}', NULL)
    """,
    """
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload, user_id,
      operator_id, operator_name, content_hash, created_at)
    VALUES ('30000000-0000-4000-8000-000000000005', '30000000-0000-4000-8000-000000000001',
      '30000000-0000-4000-8000-000000000004', 1, 'visitor', 'text', 'Hello', NULL,
      '30000000-0000-4000-8000-000000000002', NULL, NULL, '', now());
    UPDATE chat_sessions SET last_seq = 1, message_count = 1, waiting_since = now()
    WHERE id = '30000000-0000-4000-8000-000000000004'
    """,
    """
    SELECT chirrup_change('30000000-0000-4000-8000-000000000001',
      '30000000-0000-4000-8000-000000000004', 'claimed', '30000000-0000-4000-8000-000000000003',
      'Dana', '30000000-0000-4000-8000-000000000003', 'Dana', gen_random_uuid(), 'Dana joined',
      '{"event": "claimed"}', gen_random_uuid(), 'a note')
    """,
    """
    SELECT 1 / count(*) FROM chat_sessions WHERE last_seq = 3 AND status = 'active'
      AND workspace_id = '30000000-0000-4000-8000-000000000001'
    """,
  ]

  private func difference(_ a: String, _ b: String) -> String {
    let (a, b) = (a.split(separator: "\n"), b.split(separator: "\n"))
    return "\(b.difference(from: a))"
  }
}
