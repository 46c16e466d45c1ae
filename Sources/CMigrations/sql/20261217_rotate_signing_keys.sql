-- Keys that sign tokens are replaced with an overlap: `chirrup keys rotate`.
-- parent: 20261216_share_new_sessions
-- loses: every key but the first; whoever is logged in with a token of a later one logs in again

ALTER TABLE signing_keys ADD COLUMN IF NOT EXISTS starts_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE signing_keys ADD COLUMN IF NOT EXISTS ends_at timestamptz;
UPDATE signing_keys SET starts_at = created_at;
COMMENT ON COLUMN signing_keys.starts_at IS
  'From then on new tokens are signed with it; every gateway knows it before.';
COMMENT ON COLUMN signing_keys.ends_at IS 'Its tokens are refused from then on, when the last has expired. NULL: in use.';

-- down

DELETE FROM signing_keys WHERE id <> 'tokens';
ALTER TABLE signing_keys DROP COLUMN IF EXISTS starts_at, DROP COLUMN IF EXISTS ends_at;
