-- The gateways that run on this database. A gateway that finds others announces its changes to them (NOTIFY chirrup).
-- parent: 20261128_create_bot_progress
-- loses: nothing

CREATE TABLE IF NOT EXISTS gateways (
  id uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE gateways IS 'Processes that serve this database; each has another id after its next start.';
COMMENT ON COLUMN gateways.seen_at IS 'It runs while this is younger than 15 seconds.';

-- down

DROP TABLE IF EXISTS gateways;
