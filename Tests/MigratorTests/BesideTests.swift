import Fixtures
import Migrator
import Postgres
import Testing

/// An older application that goes on writing and deleting beside Chirrup.
@Suite struct BesideTests {
  /// Sessions that the owner made by hand, in a table that does not demand a user.
  private static let ownSessions = """
    CREATE TABLE chat_sessions (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      title text
    );
    INSERT INTO chat_sessions (workspace_id, title)
    SELECT id, 'Legacy Chat' FROM workspaces WHERE name = 'Busy';
    """

  /// A message for a workspace that has no session yet.
  private static let message = """
    INSERT INTO chats (workspace_id, role, content)
    VALUES ('10000000-0000-4000-8000-000000000003', 'user', 'Of the old application')
    """

  @Test(arguments: ["", "ALTER TABLE chats ADD COLUMN session_id uuid REFERENCES chat_sessions;"])
  func `down removes the sessions that were opened for the application's messages`(column: String)
    throws
  {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 40)
    let connection = try BlockingConnection(database.url)
    try connection.execute(script: BesideTests.ownSessions + column)
    let before = try database.dump()
    let migrator = try Migrator(connection)
    try migrator.up()
    // The application's own sessions stay, also those with the title of Chirrup's.
    try connection.execute(
      script: """
        \(BesideTests.message); \(BesideTests.message);
        INSERT INTO chat_sessions (id, workspace_id, title) VALUES
          ('50000000-0000-4000-8000-000000000001', '10000000-0000-4000-8000-000000000005',
            'Legacy Chat')
        """)
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    try migrator.down(to: "none")
    #expect(
      try connection.number("SELECT count(*) FROM chats WHERE content = 'Of the old application'")
        == 2)
    #expect(
      try connection.number(
        "SELECT count(*) FROM chat_sessions WHERE id = '50000000-0000-4000-8000-000000000001'")
        == 1)
    try connection.execute(
      script: """
        DELETE FROM chats WHERE content = 'Of the old application';
        DELETE FROM chat_sessions WHERE id = '50000000-0000-4000-8000-000000000001'
        """)
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
  }

  @Test func `down keeps a session that the application's column demands of a message`() throws {
    let connection = try BlockingConnection(Shape("guide_applied").database().url)
    try connection.execute(script: "ALTER TABLE chat_sessions ALTER COLUMN user_id DROP NOT NULL")
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(script: BesideTests.message)
    try migrator.down(to: "none")
    #expect(
      try connection.number(
        """
        SELECT count(*) FROM chats c JOIN chat_sessions s ON s.id = c.session_id
        WHERE content = 'Of the old application'
        """) == 1)
  }

  @Test(arguments: ["plain", "guide_applied"])
  func `verify counts messages that the application has deleted`(name: String) throws {
    let connection = try BlockingConnection(Shape(name).database().url)
    let migrator = try Migrator(connection)
    try migrator.up()
    // In the middle, at the end, all of a session, and of a session that goes with its workspace.
    try connection.execute(
      script: """
        DELETE FROM chats WHERE content IN ('same instant 3', 'same instant 4');
        DELETE FROM chats WHERE id = (SELECT c.id FROM chats c JOIN chat_sessions s
          ON s.id = c.session_id AND s.last_seq = c.seq WHERE last_seq = 300);
        DELETE FROM chats WHERE workspace_id = '10000000-0000-4000-8000-000000000002'
        """)
    let checks = try migrator.verify()
    #expect(checks.filter { !$0.passed }.map(\.name) == [])
    #expect(
      checks.contains {
        $0.figures == "3 sessions with messages, 0 with holes; the older application has deleted "
          + "8 messages of 3 sessions"
      })
    try connection.execute(
      script: "DELETE FROM workspaces WHERE id = '10000000-0000-4000-8000-000000000004'")
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    #expect(try connection.number("SELECT count(*) FROM chirrup_deletions") == 2)
    // The next message of the application gets the next number.
    try connection.execute(
      script: """
        INSERT INTO chats (workspace_id, session_id, role, content)
        SELECT workspace_id, id, 'user', 'Next' FROM chat_sessions
        """)
    #expect(try migrator.verify().filter { !$0.passed }.map(\.name) == [])
    #expect(try connection.number("SELECT seq FROM chats WHERE content = 'Next' ORDER BY 1") == 6)
  }

  @Test func `verify fails for a hole that no deletion explains`() throws {
    let connection = try BlockingConnection(Shape("plain").database().url)
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(script: "DELETE FROM chats WHERE content = 'same instant 3'")
    // As if a message had been lost.
    try connection.execute(
      script: """
        ALTER TABLE chats DISABLE TRIGGER chats_note_deletions;
        DELETE FROM chats WHERE content = 'same instant 4';
        ALTER TABLE chats ENABLE TRIGGER chats_note_deletions
        """)
    #expect(
      try migrator.verify().filter { !$0.passed }.map(\.name) == [
        "the numbers of each session have no holes",
        "each legacy session has the messages that moved into it",
      ])
  }
}
