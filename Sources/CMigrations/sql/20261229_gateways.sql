-- Each gateway says which program it is, and where it runs: gateways that differ are noticed, and `migrate down` refuses
-- while one runs.
-- parent: 20261228_guard_adoption
-- loses: the versions and hosts of the gateways that run

-- An older gateway beside a new one inserts only its id.
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS version text NOT NULL DEFAULT '';
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS schema_revision text NOT NULL DEFAULT '';
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS secret_keys text NOT NULL DEFAULT '';
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS host text NOT NULL DEFAULT '';
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS process_id bigint;
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS started_at timestamptz;
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS stopped_at timestamptz;
COMMENT ON COLUMN gateways.version IS 'Of the program; empty: of a release that did not say it.';
COMMENT ON COLUMN gateways.schema_revision IS 'The last migration that the program knows.';
COMMENT ON COLUMN gateways.secret_keys IS
  'Ids of the keys (credentials_key) that open its secrets, space-separated; the first one encrypts. An id reveals no key.';
COMMENT ON COLUMN gateways.host IS 'The name of its machine.';
COMMENT ON COLUMN gateways.process_id IS 'Its process on that machine.';
COMMENT ON COLUMN gateways.stopped_at IS 'It has ended in an orderly way. After a crash this stays null, and seen_at grows old.';

-- down

ALTER TABLE gateways DROP COLUMN IF EXISTS stopped_at;
ALTER TABLE gateways DROP COLUMN IF EXISTS started_at;
ALTER TABLE gateways DROP COLUMN IF EXISTS process_id;
ALTER TABLE gateways DROP COLUMN IF EXISTS host;
ALTER TABLE gateways DROP COLUMN IF EXISTS secret_keys;
ALTER TABLE gateways DROP COLUMN IF EXISTS schema_revision;
ALTER TABLE gateways DROP COLUMN IF EXISTS version;
