import Fixtures
import Migrator
import Postgres
import Testing

/// Statements of an older application that insert no row after all, or change what a message
/// belongs to.
@Suite struct FollowTests {
  private static let busy = "'10000000-0000-4000-8000-000000000001'"
  private static let small = "'10000000-0000-4000-8000-000000000002'"

  private func adopted(_ script: String = "") throws -> (BlockingConnection, Migrator) {
    let connection = try BlockingConnection(EmptyDatabase(fixture: "workspace_chat", rows: 20).url)
    try connection.execute(script: script)
    let migrator = try Migrator(connection)
    try migrator.up()
    return (connection, migrator)
  }

  private func faults(_ migrator: Migrator) throws -> [String] {
    try migrator.verify().filter { !$0.passed }.map { "\($0.name): \($0.figures)" }
  }

  @Test func `upserts leave no number unused`() throws {
    let (connection, migrator) = try adopted(
      "ALTER TABLE chats ADD COLUMN external text UNIQUE")
    let last = "SELECT last_seq FROM chat_sessions WHERE workspace_id = \(FollowTests.busy)"
    #expect(try connection.figure(last) == 20)
    try connection.execute(
      script: """
        INSERT INTO chats (id, workspace_id, role, content)
        SELECT id, workspace_id, role, content || '!' FROM chats
        ON CONFLICT (id) DO UPDATE SET content = EXCLUDED.content;
        INSERT INTO chats (workspace_id, role, content, external)
        VALUES (\(FollowTests.busy), 'user', 'first', 'a');
        INSERT INTO chats (workspace_id, role, content, external)
        VALUES (\(FollowTests.busy), 'user', 'refused', 'a') ON CONFLICT DO NOTHING;
        """)
    #expect(try connection.figure("SELECT count(*) FROM chats WHERE content LIKE '%!'") > 20)
    #expect(try connection.figure(last) == 21)
    #expect(
      try connection.figure(
        "SELECT message_count FROM chat_sessions WHERE last_message_preview = 'first'") == 21)
    #expect(try faults(migrator) == [])
    // In the middle of a statement: the number stays free.
    try connection.execute(
      script: """
        INSERT INTO chats (workspace_id, role, content, external)
        SELECT \(FollowTests.busy), 'user', 'one of ' || e, e FROM unnest(ARRAY['b', 'a', 'c']) AS e
        ON CONFLICT (external) DO UPDATE SET content = EXCLUDED.content
        """)
    #expect(try connection.figure(last) == 24)
    #expect(try faults(migrator) == [])
  }

  @Test func `messages of the application change the figures of a conversation`() throws {
    let (connection, migrator) = try adopted()
    try connection.execute(
      script: """
        INSERT INTO visitors (id, workspace_id)
        VALUES ('20000000-0000-4000-8000-000000000001', \(FollowTests.small));
        INSERT INTO chat_sessions (id, workspace_id, user_id)
        VALUES ('30000000-0000-4000-8000-000000000001', \(FollowTests.small),
          '20000000-0000-4000-8000-000000000001');
        """)
    func noted(after script: String) throws -> Int64? {
      try connection.execute(script: "DELETE FROM chat_analytics_pending; \(script)")
      return try connection.figure("SELECT count(*) FROM chat_analytics_pending")
    }
    let insert = """
      INSERT INTO chats (workspace_id, session_id, role, content)
      VALUES (\(FollowTests.small), '30000000-0000-4000-8000-000000000001', 'user', 'hello')
      """
    #expect(try noted(after: insert) == 1)
    #expect(try noted(after: insert) == 0)
    #expect(try noted(after: "UPDATE chat_sessions SET status = 'closed' WHERE last_seq = 2") == 1)
    #expect(try noted(after: insert) == 1)
    #expect(try faults(migrator) == [])
  }

  @Test func `a trigger that drops messages leaves no number unused`() throws {
    let (connection, migrator) = try adopted(
      """
      CREATE FUNCTION drop_spam() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.content = 'spam' THEN RETURN NULL; END IF;
        RETURN NEW;
      END
      $$;
      CREATE TRIGGER zz_drop_spam BEFORE INSERT ON chats FOR EACH ROW EXECUTE FUNCTION drop_spam();
      """)
    try connection.execute(
      script: """
        INSERT INTO chats (workspace_id, role, content)
        SELECT \(FollowTests.small), 'user', c FROM unnest(ARRAY['spam', 'ham', 'spam']) AS c
        """)
    #expect(try faults(migrator) == [])
  }

  @Test func `messages that move get a number where they arrive`() throws {
    let (connection, migrator) = try adopted()
    try connection.execute(
      script: """
        UPDATE chats SET workspace_id = \(FollowTests.small) WHERE content LIKE 'same instant%';
        UPDATE chats SET session_id = (SELECT id FROM chat_sessions
            WHERE workspace_id = \(FollowTests.busy)), workspace_id = \(FollowTests.busy)
        WHERE content = 'same instant 7'
        """)
    #expect(try faults(migrator) == [])
    #expect(
      try connection.figure(
        "SELECT count(*) FROM chats WHERE workspace_id = \(FollowTests.small)") == 54)
    try migrator.down(to: "none")
    #expect(
      try connection.figure(
        "SELECT count(*) FROM chats WHERE workspace_id = \(FollowTests.busy)") == 21)
  }

  @Test func `TRUNCATE and rows that are copied by a replica keep the numbers right`() throws {
    let (connection, migrator) = try adopted()
    let message = """
      INSERT INTO public.chats (workspace_id, role, content)
      VALUES (\(FollowTests.busy), 'user', 'x');
      """
    try connection.execute(
      script: """
        SET session_replication_role = replica; \(message) RESET session_replication_role;
        BEGIN; SET LOCAL search_path = ''; \(message) COMMIT
        """)
    #expect(try faults(migrator) == [])
    try connection.execute(script: "TRUNCATE chats; \(message)")
    #expect(try faults(migrator) == [])
    #expect(try connection.figure("SELECT seq FROM chats") == 23)
  }

  @Test func `a value that the application's table demands is demanded of its messages`() throws {
    let (connection, migrator) = try adopted(
      """
      ALTER TABLE chats ADD COLUMN model text NOT NULL DEFAULT 'm';
      ALTER TABLE chats ALTER COLUMN model DROP DEFAULT;
      """)
    for (script, isRefused) in [
      (
        """
        INSERT INTO chats (workspace_id, role, content) VALUES (\(FollowTests.busy), 'user', '')
        """, true
      ),
      (
        """
        INSERT INTO chats (workspace_id, role, content, model)
        VALUES (\(FollowTests.busy), 'user', '', 'm')
        """, false
      ),
    ] {
      var state: String?
      do throws(ScriptFailure) { try connection.execute(script: script) } catch {
        guard case .refused(let refusal, _) = error else { throw error }
        state = refusal.state.code
      }
      #expect(state == (isRefused ? "23502" : nil))
    }
    #expect(try faults(migrator) == [])
  }

  @Test func `a gateway's login inserts messages with the application's sequences`() throws {
    let (connection, migrator) = try adopted("ALTER TABLE chats ADD COLUMN number bigserial")
    try connection.execute(
      script: """
        BEGIN;
        SET LOCAL ROLE chirrup_gateway;
        INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, content_hash)
        SELECT gen_random_uuid(), workspace_id, id, last_seq + 1, 'visitor', 'text', 'Hi', ''
        FROM chat_sessions WHERE workspace_id = \(FollowTests.busy);
        ROLLBACK
        """)
    #expect(try faults(migrator) == [])
  }
}

extension BlockingConnection {
  /// The number in the first row and column of a statement's result.
  func figure(_ script: String) throws -> Int64 {
    let rows = try ask(script: script)
    return rows.isEmpty ? -1 : rows.int(0, 0) ?? -1
  }
}
