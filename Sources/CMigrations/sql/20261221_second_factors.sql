-- Operators can have a second factor: an app for one-time codes, with recovery codes.
-- parent: 20261220_bind_roles
-- loses: the second factors and recovery codes; their operators log in with the password alone

CREATE TABLE IF NOT EXISTS second_factors (
  operator_id uuid PRIMARY KEY REFERENCES operators (id) ON DELETE CASCADE,
  key_id text,
  secret bytea,
  last_step bigint NOT NULL DEFAULT 0,
  confirmed_at timestamptz,
  pending_key_id text,
  pending_secret bytea,
  pending_at timestamptz,
  CHECK ((secret IS NULL) = (key_id IS NULL) AND (secret IS NULL) = (confirmed_at IS NULL)),
  CHECK ((pending_secret IS NULL) = (pending_key_id IS NULL) AND (pending_secret IS NULL) = (pending_at IS NULL))
);
COMMENT ON TABLE second_factors IS 'Operators'' secrets of one-time codes (RFC 6238).';
COMMENT ON COLUMN second_factors.key_id IS 'The key that sealed the secret: of the setting credentials_key, if there is one.';
COMMENT ON COLUMN second_factors.secret IS 'Encrypted (AES-256-GCM). NULL: none has been confirmed yet.';
COMMENT ON COLUMN second_factors.last_step IS 'The step of the last code that was used; it and earlier ones are used up.';
COMMENT ON COLUMN second_factors.pending_secret IS 'A new secret of which no code has been entered; the older one is valid until then.';

CREATE TABLE IF NOT EXISTS recovery_codes (
  operator_id uuid NOT NULL REFERENCES second_factors (operator_id) ON DELETE CASCADE,
  digest bytea NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (operator_id, digest)
);
COMMENT ON TABLE recovery_codes IS 'Codes that replace the second factor, once each; only their keyed digests.';

ALTER TABLE operator_sessions ADD COLUMN IF NOT EXISTS must_enrol boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN operator_sessions.must_enrol IS
  'The workspace requires a second factor and there was none: nothing but setting one up is allowed.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('second_factors', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('recovery_codes', NULL, NULL, 'INSERT, DELETE, UPDATE (used_at)');
  GRANT UPDATE (must_enrol) ON operator_sessions TO chirrup_gateway;
END
$$;

-- down

ALTER TABLE operator_sessions DROP COLUMN IF EXISTS must_enrol;
DROP TABLE IF EXISTS recovery_codes, second_factors;
