-- The logins of an operator can be told apart and ended one by one: each has an id, a device and the time of its last
-- request.
-- parent: 20261217_rotate_signing_keys
-- loses: on which devices operators are logged in, and when they were last seen; the logins stay

ALTER TABLE operator_sessions ADD COLUMN IF NOT EXISTS id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE operator_sessions ADD COLUMN IF NOT EXISTS device text NOT NULL DEFAULT '';
ALTER TABLE operator_sessions ADD COLUMN IF NOT EXISTS address text NOT NULL DEFAULT '';
ALTER TABLE operator_sessions ADD COLUMN IF NOT EXISTS last_seen_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN operator_sessions.id IS 'The public name of the login; token_hash would give away nothing, but is no name.';
COMMENT ON COLUMN operator_sessions.device IS 'Browser and system in words, from the User-Agent; empty: of an older release.';
COMMENT ON COLUMN operator_sessions.address IS 'The address of the last request: of IPv6 the /64 prefix; empty: of an older release.';
COMMENT ON COLUMN operator_sessions.last_seen_at IS 'The last request, to about a minute.';
CREATE UNIQUE INDEX IF NOT EXISTS operator_sessions_id ON operator_sessions (id);

-- down

DROP INDEX IF EXISTS operator_sessions_id;
ALTER TABLE operator_sessions DROP COLUMN IF EXISTS last_seen_at;
ALTER TABLE operator_sessions DROP COLUMN IF EXISTS address;
ALTER TABLE operator_sessions DROP COLUMN IF EXISTS device;
ALTER TABLE operator_sessions DROP COLUMN IF EXISTS id;
