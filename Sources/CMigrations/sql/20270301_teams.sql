-- Teams of operators: their members, hours, capacity and languages, and the team of a conversation.
-- parent: 20270220_close_resting
-- compatible: 20261229_gateways
-- locks: chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE
-- loses: the teams, their members, and which team a conversation had
--
-- A conversation waits in a line: that of its team, or the workspace's own without one. The line has the id of the team
-- or of the workspace, so that one index serves both. It has no column that a batch of messages changes, beside those of
-- idx_chat_sessions_line. Gateways of older releases see one queue for everybody.

CREATE TABLE IF NOT EXISTS chat_teams (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 50 AND name = btrim(name)),
  assign text CHECK (assign IN ('off', 'least_busy', 'round_robin')),
  capacity integer CHECK (capacity BETWEEN 1 AND 1000),
  overflow_after_minutes integer CHECK (overflow_after_minutes BETWEEN 0 AND 10080),
  languages text[] NOT NULL DEFAULT '{}',
  hours jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (workspace_id, id),
  UNIQUE (workspace_id, name)
);
COMMENT ON TABLE chat_teams IS 'The teams (departments) of a workspace.';
COMMENT ON COLUMN chat_teams.assign IS 'Automatic assignment to its members; NULL: as the workspace.';
COMMENT ON COLUMN chat_teams.capacity IS 'The most open conversations of a member; NULL: as the workspace.';
COMMENT ON COLUMN chat_teams.overflow_after_minutes IS
  'While no member is available, conversations that wait so long are for every operator; NULL: never.';
COMMENT ON COLUMN chat_teams.languages IS 'The languages that it speaks, as language tags; empty: all.';
COMMENT ON COLUMN chat_teams.hours IS 'Its business hours, as the setting “hours” of the workspace; NULL: those.';

CREATE TABLE IF NOT EXISTS chat_team_members (
  workspace_id uuid NOT NULL,
  team_id uuid NOT NULL,
  operator_id uuid NOT NULL,
  given_at timestamptz,
  PRIMARY KEY (workspace_id, team_id, operator_id),
  FOREIGN KEY (workspace_id, team_id) REFERENCES chat_teams (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, operator_id) REFERENCES memberships (workspace_id, operator_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS chat_team_members_operator ON chat_team_members (workspace_id, operator_id);
COMMENT ON TABLE chat_team_members IS 'Which operators belong to which team.';
COMMENT ON COLUMN chat_team_members.given_at IS 'When the team last gave the operator a conversation by itself.';

ALTER TABLE chat_sessions
  ADD COLUMN IF NOT EXISTS team_id uuid,
  ADD COLUMN IF NOT EXISTS team_since timestamptz;
COMMENT ON COLUMN chat_sessions.team_id IS 'The team whose members take it; NULL: every operator.';
COMMENT ON COLUMN chat_sessions.team_since IS 'When it was given to that team.';

CREATE INDEX IF NOT EXISTS idx_chat_sessions_team_line
  ON chat_sessions (workspace_id, coalesce(team_id, workspace_id), waiting_since, id)
  WHERE status = 'waiting' AND deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS idx_chat_sessions_team ON chat_sessions (workspace_id, team_id) WHERE team_id IS NOT NULL;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'chat_sessions'::regclass AND conname = 'chat_sessions_team_fkey')
  THEN RETURN; END IF;
  ALTER TABLE chat_sessions ADD CONSTRAINT chat_sessions_team_fkey
    FOREIGN KEY (workspace_id, team_id) REFERENCES chat_teams (workspace_id, id) NOT VALID;
END
$$;

-- PostgreSQL before 15 cannot set one column of a foreign key to NULL.
CREATE OR REPLACE FUNCTION chirrup_dissolve_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chat_sessions s SET team_id = NULL, team_since = NULL
  WHERE s.workspace_id = OLD.workspace_id AND s.team_id = OLD.id;
  RETURN OLD;
END
$$;
CREATE OR REPLACE TRIGGER chat_teams_dissolve BEFORE DELETE ON chat_teams FOR EACH ROW
  EXECUTE FUNCTION chirrup_dissolve_team();

CREATE OR REPLACE FUNCTION chirrup_is_team_available(workspace uuid, team uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM chat_team_members m
    JOIN operator_presence p ON p.workspace_id = m.workspace_id AND p.operator_id = m.operator_id
    JOIN operators o ON o.id = p.operator_id
    WHERE m.workspace_id = workspace AND m.team_id = team AND p.is_available AND o.disabled_at IS NULL
      AND chirrup_is_present(p.seen_at))
$$;
COMMENT ON FUNCTION chirrup_is_team_available(uuid, uuid) IS 'Whether a member is there who takes conversations.';

-- The same hours as those of a workspace, whose spans of the next days the gateway computes.
CREATE OR REPLACE FUNCTION chirrup_is_open(hours jsonb, moment timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT (hours ->> 'always')::boolean OR EXISTS (
    SELECT FROM (SELECT hours ->> 'time_zone' AS name) AS zone
    CROSS JOIN LATERAL (SELECT (moment AT TIME ZONE zone.name)::date + n AS day FROM generate_series(-1, 0) AS n) AS d
    JOIN jsonb_to_recordset(hours -> 'days') AS w (day integer, "from" interval, "to" interval)
      ON w.day = extract(isodow FROM d.day)
    WHERE NOT hours -> 'holidays' ? to_char(d.day, 'YYYY-MM-DD')
      AND moment >= (d.day + w."from") AT TIME ZONE zone.name
      AND moment < (d.day + w."to" + CASE WHEN w."to" > w."from" THEN interval '0' ELSE interval '1 day' END)
        AT TIME ZONE zone.name)
$$;
COMMENT ON FUNCTION chirrup_is_open(jsonb, timestamptz) IS 'Whether the business hours of a team include the moment.';

-- The caller has locked the session's row in the same transaction, and checked that the workspace has the team.
-- chirrup_change returns a conversation to queued_at, so one that waits keeps its place.
CREATE OR REPLACE FUNCTION chirrup_set_team(workspace uuid, session uuid, team uuid) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chat_sessions s SET team_id = team, team_since = CASE WHEN team IS NOT NULL THEN clock_timestamp() END,
    queued_at = coalesce(s.waiting_since, s.queued_at)
  WHERE s.workspace_id = workspace AND s.id = session;
  RETURN true;
END
$$;
COMMENT ON FUNCTION chirrup_set_team(uuid, uuid, uuid) IS 'Gives a conversation to a team, or to no team.';

-- As chirrup_pace, of one line.
CREATE OR REPLACE FUNCTION chirrup_line_pace(workspace uuid, line uuid) RETURNS bigint LANGUAGE sql STABLE
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  WITH recent AS MATERIALIZED (
    SELECT c.claimed_at, c.queued_at FROM chat_sessions c
    WHERE c.workspace_id = workspace AND c.claimed_at > now() - interval '2 hours'
      AND coalesce(c.team_id, c.workspace_id) = line
    ORDER BY c.claimed_at DESC LIMIT 40
  )
  SELECT CASE WHEN count(*) >= 3 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY place)::bigint END
  FROM (
    SELECT extract(epoch FROM r.claimed_at - r.queued_at)::float8 * 1000 / (
      SELECT count(*) FROM recent o WHERE o.claimed_at > r.queued_at AND o.claimed_at <= r.claimed_at) AS place
    FROM (SELECT * FROM recent WHERE queued_at < claimed_at ORDER BY claimed_at DESC LIMIT 20) AS r) AS waits
$$;
COMMENT ON FUNCTION chirrup_line_pace(uuid, uuid) IS
  'How long a position of the line takes, in milliseconds; NULL without enough conversations of the last two hours.';

DO $$
DECLARE
  staff text := 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id'')) AND '
    '(SELECT chirrup_setting(''chirrup.user_id'')) IS NULL';
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('chat_teams', staff, '*',
    'INSERT, DELETE, UPDATE (name, assign, capacity, overflow_after_minutes, languages, hours)');
  PERFORM chirrup_secure('chat_team_members', staff, '*', 'INSERT, DELETE, UPDATE (given_at)');
  FOR item IN
    SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('chirrup_dissolve_team', 'chirrup_is_team_available', 'chirrup_is_open', 'chirrup_set_team',
        'chirrup_line_pace')
      AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;

-- step: the teams of conversations are checked while the table is read and written

ALTER TABLE chat_sessions VALIDATE CONSTRAINT chat_sessions_team_fkey;

-- down
-- locks: chat_sessions, operator_presence IN ACCESS EXCLUSIVE MODE

DROP FUNCTION IF EXISTS chirrup_line_pace(uuid, uuid), chirrup_set_team(uuid, uuid, uuid),
  chirrup_is_open(jsonb, timestamptz), chirrup_is_team_available(uuid, uuid);
ALTER TABLE chat_sessions DROP COLUMN IF EXISTS team_since, DROP COLUMN IF EXISTS team_id;
DROP TABLE IF EXISTS chat_team_members, chat_teams;
DROP FUNCTION IF EXISTS chirrup_dissolve_team();
