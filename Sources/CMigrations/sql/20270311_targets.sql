-- Targets (SLA): by when a conversation gets its first response and is closed, counted in business hours.
-- parent: 20270310_saved_views
-- compatible: 20261229_gateways
-- locks: chat_sessions, chat_teams IN ACCESS EXCLUSIVE MODE
-- loses: the targets of teams and conversations, and which were missed
--
-- A table of its own: a batch of messages does not change it, and its rows are written once and again when a target is
-- missed or the conversation ends.

ALTER TABLE chat_teams
  ADD COLUMN IF NOT EXISTS first_response_minutes integer CHECK (first_response_minutes BETWEEN 0 AND 43200),
  ADD COLUMN IF NOT EXISTS resolution_minutes integer CHECK (resolution_minutes BETWEEN 0 AND 43200);
COMMENT ON COLUMN chat_teams.first_response_minutes IS 'Target of its conversations; 0: none; NULL: as the workspace.';
COMMENT ON COLUMN chat_teams.resolution_minutes IS 'Target of its conversations; 0: none; NULL: as the workspace.';

CREATE TABLE IF NOT EXISTS chat_targets (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  started_at timestamptz NOT NULL,
  team_id uuid,
  first_response_minutes integer NOT NULL,
  resolution_minutes integer NOT NULL,
  first_response_due_at timestamptz,
  resolution_due_at timestamptz,
  first_response_missed_at timestamptz,
  resolution_missed_at timestamptz,
  is_settled boolean NOT NULL DEFAULT false,
  PRIMARY KEY (workspace_id, session_id),
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS chat_targets_running ON chat_targets (workspace_id, session_id) WHERE NOT is_settled;
CREATE INDEX IF NOT EXISTS chat_targets_first_response_missed
  ON chat_targets (workspace_id, first_response_missed_at) WHERE first_response_missed_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS chat_targets_resolution_missed
  ON chat_targets (workspace_id, resolution_missed_at) WHERE resolution_missed_at IS NOT NULL;
COMMENT ON TABLE chat_targets IS 'By when conversations have to be answered and closed.';
COMMENT ON COLUMN chat_targets.started_at IS 'From when on the time counts: the entry into the queue.';
COMMENT ON COLUMN chat_targets.team_id IS 'The team by whose targets and hours it was computed.';
COMMENT ON COLUMN chat_targets.first_response_minutes IS 'The target then; 0: none.';
COMMENT ON COLUMN chat_targets.resolution_minutes IS 'The target then; 0: none.';
COMMENT ON COLUMN chat_targets.first_response_due_at IS 'NULL: no target, or no business hours within a year.';
COMMENT ON COLUMN chat_targets.first_response_missed_at IS 'When it was due, if it was missed.';
COMMENT ON COLUMN chat_targets.resolution_missed_at IS 'When it was due, if it was missed.';
COMMENT ON COLUMN chat_targets.is_settled IS 'The conversation was closed or deleted. One that is reopened starts again.';

-- The settings of a workspace. A missing or invalid one counts as the default.
CREATE OR REPLACE FUNCTION chirrup_setting_value(workspace uuid, name text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT value::jsonb FROM system_settings WHERE workspace_id = workspace AND key = name);
EXCEPTION WHEN invalid_text_representation THEN RETURN NULL;
END
$$;
COMMENT ON FUNCTION chirrup_setting_value(uuid, text) IS 'A setting of a workspace; NULL: missing or no JSON.';

CREATE OR REPLACE FUNCTION chirrup_target_minutes(queue jsonb, name text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN queue ->> name ~ '^[0-9]{1,5}$' AND (queue ->> name)::integer <= 43200
    THEN (queue ->> name)::integer ELSE 0 END
$$;
COMMENT ON FUNCTION chirrup_target_minutes(jsonb, text) IS 'A target in the setting “queue”; 0: none.';

-- Spans that overlap count once. A year is looked at.
CREATE OR REPLACE FUNCTION chirrup_due(hours jsonb, since timestamptz, minutes integer) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN coalesce((hours ->> 'always')::boolean, true) THEN since + make_interval(mins => minutes) ELSE (
    SELECT f.opens + (make_interval(mins => minutes) - f.before)
    FROM (
      SELECT o.opens, o.closes, sum(o.closes - o.opens) OVER (ORDER BY o.opens) - (o.closes - o.opens) AS before
      FROM (
        SELECT greatest(s.opens, since, max(s.closes) OVER (
          ORDER BY s.opens, s.closes ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS opens, s.closes
        FROM (
          SELECT (d.day + w."from") AT TIME ZONE zone.name AS opens,
            (d.day + w."to" + CASE WHEN w."to" > w."from" THEN interval '0' ELSE interval '1 day' END)
              AT TIME ZONE zone.name AS closes
          FROM (SELECT hours ->> 'time_zone' AS name) AS zone
          CROSS JOIN LATERAL (SELECT (since AT TIME ZONE zone.name)::date + n AS day FROM generate_series(-1, 366) AS n) AS d
          JOIN jsonb_to_recordset(hours -> 'days') AS w (day integer, "from" interval, "to" interval)
            ON w.day = extract(isodow FROM d.day)
          WHERE NOT coalesce(hours -> 'holidays', '[]') ? to_char(d.day, 'YYYY-MM-DD')
        ) AS s WHERE s.closes > since
      ) AS o WHERE o.closes > o.opens
    ) AS f
    WHERE f.before + (f.closes - f.opens) >= make_interval(mins => minutes)
    ORDER BY f.opens LIMIT 1) END
$$;
COMMENT ON FUNCTION chirrup_due(jsonb, timestamptz, integer) IS
  'When so many minutes of business hours are over; NULL: not within a year.';

DO $$
DECLARE
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('chat_targets', 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id'')) AND '
    '(SELECT chirrup_setting(''chirrup.user_id'')) IS NULL', '*', 'INSERT, UPDATE');
  GRANT UPDATE (first_response_minutes, resolution_minutes) ON chat_teams TO chirrup_gateway;
  FOR item IN
    SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('chirrup_setting_value', 'chirrup_target_minutes', 'chirrup_due')
      AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;

-- down
-- locks: chat_sessions, chat_teams IN ACCESS EXCLUSIVE MODE

DROP FUNCTION IF EXISTS chirrup_due(jsonb, timestamptz, integer), chirrup_target_minutes(jsonb, text),
  chirrup_setting_value(uuid, text);
DROP TABLE IF EXISTS chat_targets;
ALTER TABLE chat_teams DROP COLUMN IF EXISTS resolution_minutes, DROP COLUMN IF EXISTS first_response_minutes;
