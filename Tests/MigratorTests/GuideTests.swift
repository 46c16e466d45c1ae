import Fixtures
import Migrator
import Postgres
import Testing

/// The usual guide to sessions, stopped after any of its statements: every state is adopted, and
/// restored by `down`.
@Suite struct GuideTests {
  static let statements = (try? Shape("guide_applied").statements) ?? []

  /// The numbers of statements to stop after; of indexes or policies in a row, after the last.
  static let counts = (1...statements.count).filter { count in
    count == statements.count
      || !["CREATE INDEX", "CREATE POLICY"].contains { kind in
        statements[count - 1].hasPrefix(kind) && statements[count].hasPrefix(kind)
      }
  }

  @Test(arguments: GuideTests.counts)
  func `the guide may stop after any of its statements`(count: Int) throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 40)
    let connection = try BlockingConnection(database.url)
    for statement in GuideTests.statements.prefix(count) {
      try connection.execute(script: statement)
    }
    let hasSession = try connection.number(
      """
      SELECT count(*) FROM pg_attribute
      WHERE attrelid = 'chats'::regclass AND attname = 'session_id' AND attnotnull
      """)
    let migrator = try Migrator(connection)
    let before = try database.dump()
    try migrator.up()
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    try migrator.down(to: "none")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)

    // Every third state once more, with messages of the old application before, while and after
    // Chirrup is there. They change its own rows (a trigger of the guide), so only the number of
    // rows is compared.
    guard count.isMultiple(of: 3) else { return }
    try insert(connection, withSession: hasSession == 1)
    try migrator.up()
    try insert(connection, withSession: hasSession == 1)
    try connection.execute(
      script: "BEGIN; " + Rehearsal.gatewayStatements.joined(separator: ";\n") + "; ROLLBACK")
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    try migrator.down(to: "none")
    try insert(connection, withSession: hasSession == 1)
    #expect(
      try connection.number("SELECT count(*) FROM chats WHERE content = 'Of the old application'")
        == 3)
    try connection.execute(script: "DELETE FROM chats WHERE content = 'Of the old application'")
    let last = try database.dump()
    #expect(last.schema == before.schema)
    #expect(last.rows.count == before.rows.count)
  }

  /// A message of the old application, of before or after the guide.
  private func insert(_ connection: BlockingConnection, withSession: Bool) throws {
    try connection.execute(
      script: withSession
        ? """
        INSERT INTO chats (workspace_id, session_id, role, content)
        SELECT workspace_id, id, 'user', 'Of the old application' FROM chat_sessions LIMIT 1
        """
        : """
        INSERT INTO chats (workspace_id, role, content)
        VALUES ('10000000-0000-4000-8000-000000000001', 'user', 'Of the old application')
        """)
  }
}
