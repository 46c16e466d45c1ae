import Fixtures
import Migrator
import Postgres
import Testing

/// The completeness of findings: an administrator can act on each without a look at the database.
@Suite struct PreflightTests {
  /// Findings that concern no table of rows.
  private static let withoutRows = [
    "search_path", "schema ", "default privileges", "event triggers",
    "default_transaction_read_only",
  ]

  @Test(arguments: ShapeTests.names)
  func `each finding names rows, an example, an action and a statement`(name: String) throws {
    let shape = try Shape(name)
    let connection = try BlockingConnection(shape.database().url)
    let findings = try Migrator(connection).examine()
    #expect(!findings.isEmpty || shape.refusal == nil)
    for finding in findings {
      #expect(!finding.problem.isEmpty && !finding.action.isEmpty, "\(finding)")
      #expect(
        finding.remedy.hasSuffix(";") || finding.remedy.contains("; ")
          || finding.remedy.contains("--database-url"), "\(finding)")
      guard !finding.table.contains("("),
        !Self.withoutRows.contains(where: { finding.table.hasPrefix($0) })
      else { continue }
      // The server of a foreign table does not answer.
      guard let rows = try? connection.ask(script: "SELECT count(*) FROM \(finding.table)"),
        rows.int(0, 0) != 0
      else { continue }
      #expect(finding.rows != nil && finding.example?.contains("=") == true, "\(finding)")
    }
  }

  @Test func `the roles, policies and event triggers that stay are named`() throws {
    let connection = try BlockingConnection(Shape("supabase").database().url)
    try connection.execute(
      script: """
        CREATE FUNCTION watch() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
        CREATE EVENT TRIGGER app_watch ON ddl_command_end EXECUTE FUNCTION watch();
        """)
    let findings = try Migrator(connection).examine()
    #expect(
      Set(findings.filter { $0.problem.contains("rows of the table") }.map(\.object))
        .isSuperset(of: ["anon", "authenticated", "service_role"]))
    // No policy binds the third.
    #expect(
      findings.filter { $0.action.contains("BYPASSRLS") }.map { "\($0.table) \($0.object)" }
        == ["chats service_role", "workspaces service_role"])
    #expect(findings.contains { $0.table == "chats" && $0.object == "chats_owner" })
    #expect(
      findings.contains { $0.problem == "app_watch fire for statements of the migrations" })
  }

  @Test func `default privileges on tables, sequences, functions and schemas are found`() throws {
    let connection = try BlockingConnection(Shape("supabase").database().url)
    try connection.execute(script: "ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO anon")
    let findings = try Migrator(connection).examine().filter { $0.table == "default privileges" }
    #expect(
      findings.map(\.remedy).sorted() == [
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON FUNCTIONS FROM anon, "
          + "authenticated, service_role;",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON SEQUENCES FROM anon, "
          + "authenticated, service_role;",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM anon, "
          + "authenticated, service_role;",
        "ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM anon;",
      ])
    // The statements do what they say.
    try connection.execute(script: findings.map(\.remedy).joined())
    #expect(try !Migrator(connection).examine().contains { $0.table == "default privileges" })
  }

  @Test func `the example of a duplicate is the key of its group`() throws {
    let connection = try BlockingConnection(Shape("double_ids").database().url)
    let finding = try #require(try Migrator(connection).examine().first { $0.object == "id" })
    let double = try connection.texts(
      "SELECT 'id = ' || id FROM chats GROUP BY id HAVING count(*) > 1")
    #expect(finding.rows == Int64(double.count))
    #expect(double.contains(finding.example ?? ""))
  }

  @Test func `rows are examined also where definitions are obstacles`() throws {
    let connection = try BlockingConnection(Shape("orphans").database().url)
    try connection.execute(script: "ALTER TABLE chats ADD COLUMN kind text")
    let obstacles = try Migrator(connection).examine().filter(\.isObstacle)
    #expect(Set(obstacles.map(\.object)) == ["kind", "workspace_id"])
  }

  @Test func `an example shows no text that people wrote`() throws {
    let connection = try BlockingConnection(Shape("generated").database().url)
    let finding = try #require(try Migrator(connection).examine().first)
    #expect(finding.object == "content")
    let example = try #require(finding.example)
    let expected = /id = [0-9a-f-]{36}, content = ..… \([0-9]+ characters\)/
    #expect(example.wholeMatch(of: expected) != nil, "\(example)")
  }

  @Test func `defaults of a session change neither the findings nor the migrations`() throws {
    let url = try Shape("guide_applied").database().url
    let findings = try Migrator(BlockingConnection(url)).examine()
    let defaults = [
      "quote_all_identifiers=on", "statement_timeout=30", "lock_timeout=1",
      "idle_in_transaction_session_timeout=5", "default_transaction_isolation=serializable",
      "default_transaction_deferrable=on", "datestyle=German", "intervalstyle=sql_standard",
      "bytea_output=escape", "row_security=off", "transform_null_equals=on", "array_nulls=off",
      "standard_conforming_strings=off", "client_min_messages=debug1",
    ]
    let options = defaults.map { "-c\($0.replacing("=", with: "%3D"))" }.joined(separator: "%20")
    let migrator = try Migrator(BlockingConnection("\(url)&options=\(options)"))
    #expect(try migrator.examine() == findings)
    var notices: [String] = []
    try migrator.up { if case .notice(let text) = $0 { notices.append(text) } }
    #expect(!notices.contains { $0.contains("DEBUG") || $0.contains("rewriting") })
    #expect(try migrator.verify().allSatisfy(\.passed))
  }

  @Test func `a user whose transactions write nothing is refused`() throws {
    let url = try Shape("plain").database().url
    let migrator = try Migrator(
      BlockingConnection("\(url)&options=-cdefault_transaction_read_only%3Don"))
    let finding = try #require(try migrator.examine().first)
    #expect(finding.isObstacle && finding.problem == "is on for this connection")
    #expect(throws: MigrationFailure.self) { try migrator.up() }
  }
}
