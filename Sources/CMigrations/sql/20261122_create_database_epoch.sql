-- The epoch of the database: it changes when the logs may have gone back, and clients then start over.
-- parent: 20261122_create_row_security
-- loses: nothing that clients need
--
-- A restored or promoted database is recognised by the cluster's identifier, the timeline of its WAL (another one
-- after a point-in-time recovery and after a fail-over), and the table's own oid (another one after pg_restore). A copy
-- of the data folder has the same values: run chirrup epoch --renew.

SELECT chirrup_adopt('database_epoch');
CREATE TABLE IF NOT EXISTS database_epoch (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  epoch text NOT NULL DEFAULT '',
  fingerprint text NOT NULL,
  generation bigint NOT NULL DEFAULT 0,
  changed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE database_epoch IS 'One row: what is appended to the epoch of every session.';
COMMENT ON COLUMN database_epoch.fingerprint IS 'What the database ran on when this was written; another one: restored.';
COMMENT ON COLUMN database_epoch.generation IS
  'Counts changes behind the gateways'' backs (erasure, retention): they read the sessions in memory again.';

CREATE OR REPLACE FUNCTION chirrup_fingerprint() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
    CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
    'database_epoch'::regclass::oid)
$$;
COMMENT ON FUNCTION chirrup_fingerprint() IS 'What this database runs on.';

INSERT INTO database_epoch (fingerprint) VALUES (chirrup_fingerprint()) ON CONFLICT DO NOTHING;

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN GRANT SELECT ON database_epoch TO chirrup_reader; END IF;
END
$$;

-- down

DROP FUNCTION IF EXISTS chirrup_fingerprint();
SELECT chirrup_release('database_epoch');
