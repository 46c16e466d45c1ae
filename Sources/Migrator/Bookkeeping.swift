/// The migrator's own tables and functions: the applied migrations, and for each table whether
/// Chirrup created it or adopted an existing one. Reverting removes only additions.
///
/// Invariant: a table is dropped only if it is recorded as created by Chirrup; an adopted table
/// gets its earlier definition back.
enum Bookkeeping {
  /// Idempotent. Runs under the migrator's lock before every change.
  static let script =
    tables + Adoption.functions + Adoption.release
      + """
      SELECT chirrup_seal('chirrup_migrations'), chirrup_seal('chirrup_adoptions'),
        chirrup_seal('chirrup_begun');
      """

  private static let tables = """
    SET LOCAL client_min_messages = warning;
    CREATE TABLE IF NOT EXISTS chirrup_migrations (
      revision text PRIMARY KEY,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      duration_ms bigint NOT NULL
    );
    ALTER TABLE chirrup_migrations ADD COLUMN IF NOT EXISTS parent text;
    ALTER TABLE chirrup_migrations ADD COLUMN IF NOT EXISTS compatible text;
    COMMENT ON TABLE chirrup_migrations IS 'Which migrations of Chirrup this database has.';
    COMMENT ON COLUMN chirrup_migrations.compatible IS
      'Gateways of a release whose last migration is this one, or a later one, can run on it.';
    CREATE TABLE IF NOT EXISTS chirrup_begun (
      revision text PRIMARY KEY,
      began_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE chirrup_begun IS
      'Migrations of several steps of which the last one has not run: `down` reverts them too.';
    CREATE TABLE IF NOT EXISTS chirrup_adoptions (
      relation text NOT NULL, kind text NOT NULL, name text NOT NULL, definition text,
      PRIMARY KEY (relation, kind, name)
    );
    COMMENT ON TABLE chirrup_adoptions IS
      'Of each table: made by Chirrup, or found, and then what it was like before.';

    """

  /// Runs after the last migration was reverted: nothing of Chirrup remains.
  static let removal = """
    SET LOCAL client_min_messages = warning;
    DROP FUNCTION IF EXISTS chirrup_adopt(text), chirrup_expect(text, text, text[]),
      chirrup_release(text), chirrup_relax(text, text[]), chirrup_yield(text, text, text),
      chirrup_touch(text, text), chirrup_quiet(text), chirrup_loud(text), chirrup_seal(text),
      chirrup_readmit(text), chirrup_reset_options(text),
      chirrup_is_relaxed(text, name), chirrup_is_given(text, text, text);
    DROP TABLE IF EXISTS chirrup_adoptions, chirrup_begun, chirrup_migrations;
    """
}
