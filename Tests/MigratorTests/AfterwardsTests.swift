import Fixtures
import Migrator
import Postgres
import Testing

/// An older application that changes its own tables after it has moved in, and comes back.
@Suite struct AfterwardsTests {
  /// What a release of the application may do to its tables.
  private static let release = """
    ALTER TABLE chats ADD COLUMN rating integer DEFAULT 3, ADD COLUMN "isStarred" boolean,
      ALTER COLUMN content DROP NOT NULL, ALTER COLUMN user_id SET DEFAULT gen_random_uuid(),
      ADD CONSTRAINT app_rating CHECK (rating < 10), DROP COLUMN mood,
      SET (autovacuum_enabled = off);
    UPDATE chats SET rating = 5, "isStarred" = true WHERE role = 'system';
    INSERT INTO chats (workspace_id, role, content)
    SELECT id, 'user', NULL FROM workspaces WHERE name = 'Busy';
    ALTER TABLE chats ALTER COLUMN user_id SET NOT NULL;
    COMMENT ON COLUMN chats.content IS 'What was said.';
    COMMENT ON TABLE chats IS 'Messages';
    CREATE INDEX app_rating ON chats (rating);
    CREATE POLICY app_rating ON chats USING (rating > 3);
    CREATE FUNCTION app_keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER app_keep BEFORE UPDATE ON chats FOR EACH ROW EXECUTE FUNCTION app_keep();
    ALTER TABLE workspaces ADD COLUMN plan text NOT NULL DEFAULT 'free';
    CREATE TABLE reactions (chat_id uuid REFERENCES chats);
    INSERT INTO reactions SELECT id FROM chats WHERE role = 'system';
    DROP INDEX idx_chats_workspace;
    """

  /// Gives every message a user, so that a release can demand one.
  private static let prepared = """
    ALTER TABLE chats ADD COLUMN mood text;
    UPDATE chats SET user_id = gen_random_uuid() WHERE user_id IS NULL;
    """

  @Test func `down keeps what a release of the application has changed since`() throws {
    let pure = try EmptyDatabase(fixture: "workspace_chat", rows: 40)
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 40)
    let connection = try BlockingConnection(database.url)
    // Keys that are not random, so that both databases can be compared.
    let same = """
      UPDATE chats SET id = md5(content || created_at)::uuid, user_id = md5(content)::uuid;
      """
    try connection.execute(script: same + AfterwardsTests.prepared)
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(script: AfterwardsTests.release)
    #expect(try migrator.verify().filter { !$0.passed }.map(\.figures) == [])
    try migrator.down(to: "none")
    let other = try BlockingConnection(pure.url)
    try other.execute(script: same + AfterwardsTests.prepared + AfterwardsTests.release)
    #expect(try database.dump().schema == pure.dump().schema)
    for query in [
      "SELECT count(*) FROM chats WHERE rating = 5 AND \"isStarred\"",
      "SELECT count(*) FROM chats WHERE content IS NULL", "SELECT count(*) FROM reactions",
      "SELECT sum(hashtext(content)) FROM chats",
    ] { #expect(try connection.figure(query) == other.figure(query)) }
  }

  @Test func `down refuses while the application refers to what it takes away`() throws {
    let connection = try BlockingConnection(Shape("plain").database().url)
    let migrator = try Migrator(connection)
    try migrator.up()
    try connection.execute(
      script: """
        CREATE TABLE app_notes (session_id uuid REFERENCES chat_sessions (id));
        CREATE VIEW app_numbers AS SELECT id, seq FROM chats;
        CREATE POLICY app_own ON app_notes USING (EXISTS (SELECT FROM chat_sessions));
        """)
    do throws(MigrationFailure) {
      try migrator.down(to: "none")
      Issue.record("down has run")
    } catch {
      guard case .isNeeded(let findings) = error else { throw error }
      #expect(
        findings.map(\.remedy) == [
          "ALTER TABLE app_notes DROP CONSTRAINT app_notes_session_id_fkey;",
          "DROP POLICY app_own ON app_notes;", "DROP VIEW app_numbers;",
        ])
      for finding in findings { try connection.execute(script: finding.remedy) }
    }
    #expect(try migrator.plan().isEmpty)
    try migrator.down(to: "none")
  }

  @Test func `the names of all additions are known to down`() throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    try Migrator(connection).up()
    #expect(
      try connection.figure(
        """
        WITH tables AS (SELECT oid, relname::text AS name FROM pg_class WHERE relname IN
          ('workspaces', 'chats', 'chat_sessions', 'system_settings', 'intents', 'reply_objects')),
        given AS (
          SELECT 'policy' AS kind, t.name AS relation, polname::text AS name
          FROM pg_policy JOIN tables t ON t.oid = polrelid
          UNION ALL SELECT 'trigger', t.name, tgname
          FROM pg_trigger JOIN tables t ON t.oid = tgrelid
          WHERE NOT tgisinternal
          UNION ALL SELECT 'constraint', t.name, conname
          FROM pg_constraint JOIN tables t ON t.oid = conrelid WHERE contype IN ('f', 'c')
          UNION ALL SELECT 'index', t.name, c.relname
          FROM pg_index JOIN tables t ON t.oid = indrelid
          JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisprimary
          UNION ALL SELECT 'column', t.name, attname
          FROM pg_attribute JOIN tables t ON t.oid = attrelid WHERE attnum > 0 AND NOT attisdropped
        )
        SELECT count(*) FILTER (WHERE NOT chirrup_is_given(relation, kind, name))
          + CASE WHEN count(*) > 80 THEN 0 ELSE 1000 END FROM given
        """) == 0)
  }
}
