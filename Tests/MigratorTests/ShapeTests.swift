import Fixtures
import Migrator
import Postgres
import Testing

/// Legacy databases without preparation for Chirrup (Tests/Fixtures/legacy/shapes). Each one is
/// adopted while the old application runs, and then restored to its original state; or it is
/// refused before the first change.
@Suite struct ShapeTests {
  static let names = (try? Shape.all().map(\.name)) ?? []

  @Test(arguments: names) func `a database is adopted and restored, or is refused unchanged`(
    name: String
  )
    throws
  {
    let shape = try Shape(name)
    let database = try shape.database()
    let connection = try BlockingConnection(database.url)
    let migrator = try Migrator(connection)
    let before = try database.dump()
    var row = Outcome()
    row.rehearsal = try rehearse(shape, migrator)
    do throws(MigrationFailure) {
      try migrator.up()
      row.up = "done"
    } catch {
      row.up = "refused"
      row.detail = "\(error)"
    }
    if row.up == "done" {
      row.old = try outcome(of: shape.oldStatements + ShapeTests.everyday(shape), on: connection)
      row.gateway = try outcome(of: Rehearsal.gatewayStatements, on: connection)
      let failed = try migrator.verify().filter { !$0.passed }
      row.verify = failed.isEmpty ? "pass" : failed.map { "\($0.name): \($0.figures)" }.joined()
      do throws(MigrationFailure) { try migrator.down(to: "none") } catch { row.down = "\(error)" }
    }
    let after = try database.dump()
    row.schema = after.schema == before.schema
    // A sequence goes on after a statement that was rolled back.
    let sequences = " pg_catalog.setval("
    row.rows =
      after.rows.filter { !$0.contains(sequences) }
      == before.rows.filter { !$0.contains(sequences) }
    print("SHAPE \(name): \(row)")
    if let refusal = shape.refusal {
      #expect(row.up == "refused")
      #expect(row.detail.contains(refusal))
      #expect(row.rehearsal == "refused")
    } else {
      #expect(row.up == "done", "\(row.detail)")
      #expect(row.old == "done")
      #expect(row.gateway == "done")
      #expect(row.verify == "pass")
      #expect(row.rehearsal == "done")
      #expect(row.down == "done")
    }
    #expect(row.schema, "\(difference(before.schema, after.schema))")
    #expect(row.rows)
  }

  private func rehearse(_ shape: Shape, _ migrator: Migrator) throws -> String {
    do throws(MigrationFailure) {
      let rehearsal = try migrator.rehearse(
        application: (shape.oldStatements + ShapeTests.everyday(shape)).joined(separator: ";\n"))
      return rehearsal.isSuccess ? "done" : "\(rehearsal.broken) \(rehearsal.checks)"
    } catch {
      guard case .notAdoptable = error else { return "\(error)" }
      return "refused"
    }
  }

  private struct Outcome {
    var rehearsal = ""
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

  /// The statements that every workspace chat runs regularly.
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

  private func difference(_ a: String, _ b: String) -> String {
    let (a, b) = (a.split(separator: "\n"), b.split(separator: "\n"))
    return "\(b.difference(from: a))"
  }
}
