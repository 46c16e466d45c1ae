-- Conversations that rest are closed by the gateways; an operator whose consoles have all disconnected is away.
-- parent: 20270215_figures_by_response
-- compatible: 20261229_gateways
-- locks: chat_sessions
-- loses: which operators have left
--
-- Upkeep reads the conversations that operators have, page by page. The index has no column that a batch of messages
-- changes, so their updates stay HOT.

CREATE INDEX IF NOT EXISTS idx_chat_sessions_held ON chat_sessions (workspace_id, id)
  WHERE status = 'active' AND deleted_at IS NULL;

-- The setting “queue” of a workspace. A missing or invalid member counts as the default.
CREATE OR REPLACE FUNCTION chirrup_close_after(workspace uuid) RETURNS interval LANGUAGE plpgsql STABLE AS $$
DECLARE
  given jsonb;
  minutes integer;
BEGIN
  BEGIN
    SELECT value::jsonb INTO given FROM system_settings WHERE workspace_id = workspace AND key = 'queue';
  EXCEPTION WHEN invalid_text_representation THEN NULL;
  END;
  minutes := CASE WHEN given ->> 'close_after_minutes' ~ '^[0-9]{1,5}$'
    THEN (given ->> 'close_after_minutes')::integer END;
  IF minutes IS NULL OR minutes > 10080 THEN minutes := 60; END IF;
  RETURN CASE WHEN minutes > 0 THEN make_interval(mins => minutes) END;
END
$$;
COMMENT ON FUNCTION chirrup_close_after(uuid) IS
  'After which rest a conversation that an operator has is closed; NULL: never.';

-- Of the last 20 conversations that operators took within two hours: each one's wait, divided by the number of those
-- that were taken meanwhile, itself included; of these the median. So neither hours without a visitor nor one forgotten
-- conversation prolong it. The settings leave the planner the index of claims, from which 40 rows are read.
CREATE OR REPLACE FUNCTION chirrup_pace(workspace uuid) RETURNS bigint LANGUAGE sql STABLE
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  WITH recent AS MATERIALIZED (
    SELECT c.claimed_at, c.queued_at FROM chat_sessions c
    WHERE c.workspace_id = workspace AND c.claimed_at > now() - interval '2 hours'
    ORDER BY c.claimed_at DESC LIMIT 40
  )
  SELECT CASE WHEN count(*) >= 3 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY place)::bigint END
  FROM (
    SELECT extract(epoch FROM r.claimed_at - r.queued_at)::float8 * 1000 / (
      SELECT count(*) FROM recent o WHERE o.claimed_at > r.queued_at AND o.claimed_at <= r.claimed_at) AS place
    FROM (SELECT * FROM recent WHERE queued_at < claimed_at ORDER BY claimed_at DESC LIMIT 20) AS r) AS waits
$$;
COMMENT ON FUNCTION chirrup_pace(uuid) IS
  'How long a position of the queue takes, in milliseconds; NULL without enough conversations of the last two hours.';

DO $$
DECLARE
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  FOR item IN
    SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('chirrup_close_after', 'chirrup_pace')
      AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;

-- step: the departure of operators
-- locks: operator_presence

ALTER TABLE operator_presence ADD COLUMN IF NOT EXISTS left_at timestamptz;
COMMENT ON COLUMN operator_presence.left_at IS
  'When the last console on a gateway disconnected. It counts until a gateway sees the operator again (seen_at).';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  GRANT UPDATE (left_at) ON operator_presence TO chirrup_gateway;
END
$$;

-- down
-- locks: chat_sessions, operator_presence IN ACCESS EXCLUSIVE MODE

ALTER TABLE operator_presence DROP COLUMN IF EXISTS left_at;
DROP FUNCTION IF EXISTS chirrup_pace(uuid);
DROP FUNCTION IF EXISTS chirrup_close_after(uuid);
DROP INDEX IF EXISTS idx_chat_sessions_held;
