-- The last run of each task of upkeep: the figures and alerts of any gateway stay true after a restart.
-- parent: 20270130_follow_application
-- compatible: 20261229_gateways
-- loses: when upkeep has last run and succeeded

CREATE TABLE IF NOT EXISTS upkeep_runs (
  task text PRIMARY KEY,
  since timestamptz NOT NULL,
  ended_at timestamptz,
  milliseconds bigint NOT NULL DEFAULT 0 CHECK (milliseconds >= 0),
  rows bigint NOT NULL DEFAULT 0 CHECK (rows >= 0),
  outcome text CHECK (outcome IN ('done', 'failed', 'interrupted')),
  succeeded_at timestamptz
);
COMMENT ON TABLE upkeep_runs IS
  'What the gateways remove by themselves: the last run of each task that the settings turn on.';
COMMENT ON COLUMN upkeep_runs.since IS 'Since when the settings turn the task on.';
COMMENT ON COLUMN upkeep_runs.ended_at IS 'The end of its last run; NULL: there was none.';
COMMENT ON COLUMN upkeep_runs.milliseconds IS 'The time that its last run took.';
COMMENT ON COLUMN upkeep_runs.rows IS 'What its last run has removed or counted.';
COMMENT ON COLUMN upkeep_runs.outcome IS
  'How its last run ended: done: nothing is left to do; interrupted: the window closed.';
COMMENT ON COLUMN upkeep_runs.succeeded_at IS 'The end of the last run with the outcome done.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('upkeep_runs', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down

DROP TABLE IF EXISTS upkeep_runs;
