-- Recent revocations of access. Every gateway reads from this table whose connections it must check again; the rows of
-- operators, memberships, operator_sessions and visitors decide about access.
-- parent: 20261202_own_passwords
-- loses: the visitors erased within the last day; their tokens would open connections until they expire

CREATE TABLE IF NOT EXISTS revocations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('operator', 'visitor')),
  subject_id uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
);
COMMENT ON TABLE revocations IS 'Operators and visitors whose tokens or logins ended, kept for as long as a token lives.';
COMMENT ON COLUMN revocations.transaction_id IS
  'A reader that has seen all transactions before one reads on from there, and misses none that commits late.';
CREATE INDEX IF NOT EXISTS revocations_transaction_id ON revocations (transaction_id);
CREATE INDEX IF NOT EXISTS revocations_subject_id ON revocations (subject_id);
CREATE INDEX IF NOT EXISTS revocations_at ON revocations (at);

ALTER TABLE operator_sessions ADD COLUMN IF NOT EXISTS credential text;
COMMENT ON COLUMN operator_sessions.credential IS
  'Of the password that was given: a login that overtakes a change of the password is worth nothing. NULL: older.';

-- Both functions have as arguments the kind and the column of the subject. The notification names no gateway as its
-- sender, so every gateway handles it.
CREATE OR REPLACE FUNCTION chirrup_note_revocation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  INSERT INTO revocations (kind, subject_id) VALUES (TG_ARGV[0], (to_jsonb(NEW) ->> TG_ARGV[1])::uuid);
  PERFORM pg_notify('chirrup', '00000000-0000-0000-0000-000000000000 r');
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_note_revocation() IS 'A row was changed so that its subject may not come in any more.';

CREATE OR REPLACE FUNCTION chirrup_note_removals() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  EXECUTE format('INSERT INTO revocations (kind, subject_id) SELECT DISTINCT $1, g.%I FROM gone g', TG_ARGV[1])
  USING TG_ARGV[0];
  PERFORM pg_notify('chirrup', '00000000-0000-0000-0000-000000000000 r');
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_note_removals() IS 'Rows without which their subjects may not come in are gone.';

CREATE OR REPLACE TRIGGER operators_revoked AFTER UPDATE OF disabled_at, password_hash ON operators FOR EACH ROW
  WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL
    OR OLD.password_hash IS DISTINCT FROM NEW.password_hash)
  EXECUTE FUNCTION chirrup_note_revocation('operator', 'id');
CREATE OR REPLACE TRIGGER memberships_revoked AFTER UPDATE OF role ON memberships FOR EACH ROW
  WHEN (OLD.role IS DISTINCT FROM NEW.role)
  EXECUTE FUNCTION chirrup_note_revocation('operator', 'operator_id');
CREATE OR REPLACE TRIGGER visitors_revoked AFTER UPDATE OF banned_at ON visitors FOR EACH ROW
  WHEN (OLD.banned_at IS NULL AND NEW.banned_at IS NOT NULL)
  EXECUTE FUNCTION chirrup_note_revocation('visitor', 'id');
CREATE OR REPLACE TRIGGER memberships_removed AFTER DELETE ON memberships REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_note_removals('operator', 'operator_id');
CREATE OR REPLACE TRIGGER operator_sessions_removed AFTER DELETE ON operator_sessions REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_note_removals('operator', 'operator_id');
CREATE OR REPLACE TRIGGER visitors_removed AFTER DELETE ON visitors REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_note_removals('visitor', 'id');

-- down

DROP TRIGGER IF EXISTS visitors_removed ON visitors;
DROP TRIGGER IF EXISTS operator_sessions_removed ON operator_sessions;
DROP TRIGGER IF EXISTS memberships_removed ON memberships;
DROP TRIGGER IF EXISTS visitors_revoked ON visitors;
DROP TRIGGER IF EXISTS memberships_revoked ON memberships;
DROP TRIGGER IF EXISTS operators_revoked ON operators;
DROP FUNCTION IF EXISTS chirrup_note_removals();
DROP FUNCTION IF EXISTS chirrup_note_revocation();
ALTER TABLE operator_sessions DROP COLUMN IF EXISTS credential;
DROP TABLE IF EXISTS revocations;
