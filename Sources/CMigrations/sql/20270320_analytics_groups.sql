-- Analytics by team and by tag, the ratings from 1 to 5 of each day, and the list of ratings.
-- parent: 20270315_watch_visitors
-- compatible: 20261229_gateways
-- locks: session_tags, workspaces
-- loses: the figures of teams and of tags, the ratings of each day by their number of stars
--
-- A team or a tag has the figures of its conversations by day, each as a distribution, as everybody and operators have:
-- how many began, their messages, their times and their ratings. What is added up over days, and its percentiles, then
-- cost what the days cost and not what their conversations do. Other percentiles would need every conversation of the
-- period. Gateways of older releases read the tables that they know, with what they know.
--
-- chat_analytics_sessions takes the place of chat_session_figures, whose row is the result of older functions.
-- No trigger of chat_sessions changes, since PostgreSQL looks at each one in a batch of messages: whoever gives a
-- conversation to a team notes it.

-- A count that runs ends before its functions change.
SELECT pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));

CREATE TABLE IF NOT EXISTS chat_analytics_sessions (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  session_id uuid NOT NULL,
  day date NOT NULL,
  hour smallint NOT NULL CHECK (hour BETWEEN 0 AND 23),
  operator_id uuid,
  messages integer NOT NULL CHECK (messages >= 0),
  wait_ms bigint CHECK (wait_ms >= 0),
  first_response_ms bigint CHECK (first_response_ms >= 0),
  resolution_ms bigint CHECK (resolution_ms >= 0),
  rating smallint CHECK (rating BETWEEN 1 AND 5),
  team_id uuid,
  tags text[] NOT NULL DEFAULT '{}',
  rated_at timestamptz,
  PRIMARY KEY (workspace_id, session_id)
);
COMMENT ON TABLE chat_analytics_sessions IS
  'What the figures hold of each session; kept when the session is gone, as it names nobody but the operator.';
COMMENT ON COLUMN chat_analytics_sessions.rated_at IS 'When the visitor last changed the rating.';

ALTER TABLE chat_analytics_buckets DROP CONSTRAINT IF EXISTS chat_analytics_buckets_metric_check,
  ADD CONSTRAINT chat_analytics_buckets_metric_check
  CHECK (metric IN ('hour', 'wait', 'first_response', 'resolution', 'rating'));
COMMENT ON COLUMN chat_analytics_buckets.bucket IS 'The hour, the rating, or chirrup_bucket() of the milliseconds.';

CREATE TABLE IF NOT EXISTS chat_analytics_groups (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('team', 'tag')),
  day date NOT NULL,
  name text NOT NULL,
  metric text NOT NULL CHECK (metric IN ('sessions', 'messages', 'wait', 'first_response', 'resolution', 'rating')),
  bucket smallint NOT NULL,
  amount integer NOT NULL CHECK (amount > 0),
  PRIMARY KEY (workspace_id, kind, day, name, metric, bucket)
);
COMMENT ON TABLE chat_analytics_groups IS 'The figures of a day, of each team and of each tag.';
COMMENT ON COLUMN chat_analytics_groups.name IS 'The id of the team, or the name of the tag.';
COMMENT ON COLUMN chat_analytics_groups.bucket IS
  'The rating, chirrup_bucket() of the milliseconds, or 0 for sessions and messages.';
COMMENT ON COLUMN chat_analytics_groups.amount IS 'How many sessions, or messages.';

-- The teams and tags to whose figures a session contributes.
CREATE OR REPLACE FUNCTION chirrup_groups(f chat_analytics_sessions) RETURNS TABLE (kind text, name text)
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE t.place WHEN 1 THEN 'team' ELSE 'tag' END, t.name
  FROM unnest(array_prepend(f.team_id::text, f.tags)) WITH ORDINALITY AS t (name, place) WHERE t.name IS NOT NULL
$$;

-- The current figures of a session from its tables; no row for a session without a message. OFFSET 0, and the CASE,
-- which implies no partial index, keep the planner from any other path to the session than its key.
CREATE OR REPLACE FUNCTION chirrup_counted(workspace uuid, session uuid, zone text)
RETURNS SETOF chat_analytics_sessions LANGUAGE sql STABLE AS $$
  SELECT s.workspace_id, s.id, (began.at AT TIME ZONE zone)::date,
    extract(hour FROM began.at AT TIME ZONE zone)::smallint, s.assigned_operator_id,
    CASE WHEN s.status = 'closed' THEN s.message_count ELSE 0 END::integer,
    CASE WHEN taken.at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (taken.at - began.at)) * 1000)::bigint END,
    CASE WHEN s.first_response_at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (s.first_response_at - began.at)) * 1000)::bigint END,
    CASE WHEN s.status = 'closed' AND s.closed_at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (s.closed_at - began.at)) * 1000)::bigint END,
    rated.rating, s.team_id,
    ARRAY(SELECT t.tag FROM session_tags t WHERE t.workspace_id = s.workspace_id AND t.session_id = s.id
      ORDER BY t.tag),
    rated.created_at
  FROM (
    SELECT c.workspace_id, c.id, c.assigned_operator_id, c.status, c.message_count, c.claimed_at, c.first_response_at,
      c.closed_at, c.team_id
    FROM chat_sessions c
    WHERE c.workspace_id = workspace AND c.id = session AND CASE WHEN c.deleted_at IS NULL THEN true ELSE false END
      AND c.channel <> 'legacy'
    OFFSET 0) AS s
  CROSS JOIN LATERAL (
    SELECT c.created_at AS at FROM chats c
    WHERE c.workspace_id = s.workspace_id AND c.session_id = s.id AND c.kind NOT IN ('note', 'event')
    ORDER BY c.seq LIMIT 1) AS began
  LEFT JOIN LATERAL (
    SELECT c.created_at AS at FROM chats c
    WHERE s.claimed_at IS NOT NULL AND c.workspace_id = s.workspace_id AND c.session_id = s.id
      AND c.kind = 'event' AND (c.payload ->> 'event' IN ('claimed', 'assigned')
        OR c.payload ->> 'event' = 'transferred' AND c.payload ->> 'to' IS NOT NULL)
    ORDER BY c.seq LIMIT 1) AS taken ON true
  LEFT JOIN LATERAL (
    SELECT r.rating, r.created_at FROM csat_responses r
    WHERE r.workspace_id = s.workspace_id AND r.session_id = s.id OFFSET 0) AS rated ON true
$$;

-- The contribution of a session to the distributions of its day.
CREATE OR REPLACE FUNCTION chirrup_counted_buckets(f chat_analytics_sessions)
RETURNS TABLE (metric text, bucket smallint) LANGUAGE sql IMMUTABLE AS $$
  SELECT m.name, m.bucket FROM (VALUES ('hour', f.hour), ('wait', chirrup_bucket(f.wait_ms)),
    ('first_response', chirrup_bucket(f.first_response_ms)), ('resolution', chirrup_bucket(f.resolution_ms)),
    ('rating', f.rating))
    AS m (name, bucket)
  WHERE m.bucket IS NOT NULL
$$;

-- Counts at most `changes` changes, and returns how many; NULL if another transaction counts for longer than `patience`
-- milliseconds. The statement begins under the lock, so that it sees what the last count has committed. The settings
-- leave the planner the way by keys: its figures of these tables are often old, and a log is read up to its first
-- message and claim only. A workspace that is being deleted is passed over until it is gone; one that is gone is
-- forgotten.
CREATE OR REPLACE FUNCTION chirrup_count(changes integer, patience integer DEFAULT 0) RETURNS integer
LANGUAGE plpgsql SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
  everybody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
  counting CONSTANT bigint := hashtextextended('chirrup_count', 0);
  counted integer;
BEGIN
  IF NOT EXISTS (SELECT FROM chat_analytics_pending) THEN RETURN 0; END IF;
  IF NOT pg_try_advisory_xact_lock(counting) THEN
    IF patience <= 0 THEN RETURN NULL; END IF;
    BEGIN
      PERFORM set_config('lock_timeout', patience::text, true);
      PERFORM pg_advisory_xact_lock(counting);
    EXCEPTION WHEN lock_not_available THEN RETURN NULL;
    END;
  END IF;
  WITH head AS MATERIALIZED (
    SELECT p.id, p.workspace_id, p.session_id FROM chat_analytics_pending p ORDER BY p.id LIMIT changes
  ), places AS MATERIALIZED (
    SELECT w.id, chirrup_time_zone(w.id) AS zone FROM workspaces w
    WHERE w.id IN (SELECT h.workspace_id FROM head h) FOR KEY SHARE OF w SKIP LOCKED
  ), taken AS (
    DELETE FROM chat_analytics_pending WHERE id = ANY (ARRAY(
      SELECT h.id FROM head h WHERE h.workspace_id IN (SELECT w.id FROM places w)
        OR NOT EXISTS (SELECT FROM workspaces w WHERE w.id = h.workspace_id)))
    RETURNING id
  ), changed AS MATERIALIZED (
    SELECT ROW(f.*)::chat_analytics_sessions AS after, b.before
    FROM (
      SELECT DISTINCT h.workspace_id, h.session_id, w.zone FROM head h JOIN places w ON w.id = h.workspace_id
    ) AS t
    CROSS JOIN LATERAL chirrup_counted(t.workspace_id, t.session_id, t.zone) AS f
    LEFT JOIN LATERAL (
      SELECT o AS before FROM chat_analytics_sessions o
      WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id OFFSET 0) AS b ON true
    WHERE b.before IS DISTINCT FROM ROW(f.*)::chat_analytics_sessions
  ), figures AS (
    INSERT INTO chat_analytics_sessions AS f SELECT (c.after).* FROM changed c
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET day = excluded.day, hour = excluded.hour,
      operator_id = excluded.operator_id, messages = excluded.messages, wait_ms = excluded.wait_ms,
      first_response_ms = excluded.first_response_ms, resolution_ms = excluded.resolution_ms, rating = excluded.rating,
      team_id = excluded.team_id, tags = excluded.tags, rated_at = excluded.rated_at
  ), sides AS MATERIALIZED (
    SELECT x.sign, x.f, chirrup_bucket((x.f).wait_ms) AS wait, chirrup_bucket((x.f).first_response_ms) AS response,
      chirrup_bucket((x.f).resolution_ms) AS resolution
    FROM changed c CROSS JOIN LATERAL (VALUES (1, c.after), (-1, c.before)) AS x (sign, f)
    WHERE (x.f).session_id IS NOT NULL
  ), parties AS MATERIALIZED (
    SELECT (s.f).workspace_id, (s.f).day, o.id AS operator_id, s.* FROM sides s
    CROSS JOIN LATERAL (VALUES (everybody), ((s.f).operator_id)) AS o (id) WHERE o.id IS NOT NULL
  ), days AS MATERIALIZED (
    SELECT p.workspace_id, p.day, p.operator_id, sum(p.sign)::integer AS sessions,
      sum(p.sign * (p.f).messages)::integer AS messages,
      sum(CASE WHEN (p.f).rating IS NOT NULL THEN p.sign ELSE 0 END)::integer AS ratings,
      sum(p.sign * coalesce((p.f).rating, 0))::integer AS rated
    FROM parties p GROUP BY p.workspace_id, p.day, p.operator_id
  ), buckets AS MATERIALIZED (
    SELECT p.workspace_id, p.day, p.operator_id, m.metric, m.bucket, sum(p.sign)::integer AS sessions
    FROM parties p CROSS JOIN LATERAL (VALUES ('hour', (p.f).hour), ('wait', p.wait), ('first_response', p.response),
      ('resolution', p.resolution), ('rating', (p.f).rating)) AS m (metric, bucket)
    WHERE m.bucket IS NOT NULL
    GROUP BY p.workspace_id, p.day, p.operator_id, m.metric, m.bucket HAVING sum(p.sign) <> 0
  ), fuller AS (
    INSERT INTO chat_analytics_buckets AS b (workspace_id, day, operator_id, metric, bucket, sessions)
    SELECT * FROM buckets d WHERE d.sessions > 0
    ON CONFLICT (workspace_id, day, operator_id, metric, bucket) DO UPDATE SET sessions = b.sessions + excluded.sessions
  ), lower AS (
    UPDATE chat_analytics_buckets b SET sessions = b.sessions + d.sessions FROM buckets d
    WHERE d.sessions < 0 AND b.sessions > -d.sessions AND b.workspace_id = d.workspace_id AND b.day = d.day
      AND b.operator_id = d.operator_id AND b.metric = d.metric AND b.bucket = d.bucket
  ), empty AS (
    DELETE FROM chat_analytics_buckets b USING buckets d
    WHERE d.sessions < 0 AND b.sessions <= -d.sessions AND b.workspace_id = d.workspace_id AND b.day = d.day
      AND b.operator_id = d.operator_id AND b.metric = d.metric AND b.bucket = d.bucket
  ), groups AS MATERIALIZED (
    SELECT (s.f).workspace_id, g.kind, (s.f).day, g.name, m.metric, m.bucket, sum(s.sign * m.amount)::integer AS amount
    FROM sides s
    CROSS JOIN LATERAL chirrup_groups(s.f) AS g
    CROSS JOIN LATERAL (VALUES ('sessions', 0::smallint, 1), ('messages', 0, (s.f).messages), ('wait', s.wait, 1),
      ('first_response', s.response, 1), ('resolution', s.resolution, 1), ('rating', (s.f).rating, 1))
      AS m (metric, bucket, amount)
    WHERE m.bucket IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(s.sign * m.amount) <> 0
  ), fuller_groups AS (
    INSERT INTO chat_analytics_groups AS b (workspace_id, kind, day, name, metric, bucket, amount)
    SELECT * FROM groups d WHERE d.amount > 0
    ON CONFLICT (workspace_id, kind, day, name, metric, bucket) DO UPDATE SET amount = b.amount + excluded.amount
  ), lower_groups AS (
    UPDATE chat_analytics_groups b SET amount = b.amount + d.amount FROM groups d
    WHERE d.amount < 0 AND b.amount > -d.amount AND b.workspace_id = d.workspace_id AND b.kind = d.kind
      AND b.day = d.day AND b.name = d.name AND b.metric = d.metric AND b.bucket = d.bucket
  ), empty_groups AS (
    DELETE FROM chat_analytics_groups b USING groups d
    WHERE d.amount < 0 AND b.amount <= -d.amount AND b.workspace_id = d.workspace_id AND b.kind = d.kind
      AND b.day = d.day AND b.name = d.name AND b.metric = d.metric AND b.bucket = d.bucket
  ), spread AS (
    -- What is stored and what changes, together: the distributions of these days after this statement.
    SELECT u.*, sum(u.sessions) OVER (whole ORDER BY u.bucket) AS upto, sum(u.sessions) OVER whole AS whole
    FROM (
      SELECT a.workspace_id, a.day, a.operator_id, a.metric, a.bucket, sum(a.sessions) AS sessions
      FROM (
        SELECT d.workspace_id, d.day, d.operator_id, b.* FROM days d CROSS JOIN LATERAL (
          SELECT b.metric, b.bucket, b.sessions FROM chat_analytics_buckets b
          WHERE b.workspace_id = d.workspace_id AND b.day = d.day AND b.operator_id = d.operator_id OFFSET 0) AS b
        UNION ALL SELECT * FROM buckets) AS a
      WHERE a.metric NOT IN ('hour', 'rating')
      GROUP BY a.workspace_id, a.day, a.operator_id, a.metric, a.bucket HAVING sum(a.sessions) > 0) AS u
    WINDOW whole AS (PARTITION BY u.workspace_id, u.day, u.operator_id, u.metric)
  ), ends AS (
    SELECT s.workspace_id, s.day, s.operator_id, s.metric,
      chirrup_bucket_end(min(s.bucket) FILTER (WHERE s.upto >= 0.5 * s.whole)) AS p50,
      chirrup_bucket_end(min(s.bucket) FILTER (WHERE s.upto >= 0.9 * s.whole)) AS p90
    FROM spread s GROUP BY s.workspace_id, s.day, s.operator_id, s.metric
  ), settled AS MATERIALIZED (
    SELECT d.workspace_id, d.day, d.operator_id, coalesce(a.sessions, 0) + d.sessions AS sessions,
      coalesce(a.messages, 0) + d.messages AS messages, coalesce(a.csat_count, 0) + d.ratings AS ratings,
      coalesce(a.csat_sum, 0) + d.rated AS rated, d.wait_p50, d.wait_p90, d.response_p50, d.response_p90,
      d.resolution_p50, d.resolution_p90
    FROM (
      SELECT u.workspace_id, u.day, u.operator_id, sum(u.sessions)::integer AS sessions,
        sum(u.messages)::integer AS messages, sum(u.ratings)::integer AS ratings, sum(u.rated)::integer AS rated,
        max(u.p50) FILTER (WHERE u.metric = 'wait') AS wait_p50,
        max(u.p90) FILTER (WHERE u.metric = 'wait') AS wait_p90,
        max(u.p50) FILTER (WHERE u.metric = 'first_response') AS response_p50,
        max(u.p90) FILTER (WHERE u.metric = 'first_response') AS response_p90,
        max(u.p50) FILTER (WHERE u.metric = 'resolution') AS resolution_p50,
        max(u.p90) FILTER (WHERE u.metric = 'resolution') AS resolution_p90
      FROM (
        SELECT n.*, NULL AS metric, NULL::bigint AS p50, NULL::bigint AS p90 FROM days n
        UNION ALL SELECT e.workspace_id, e.day, e.operator_id, 0, 0, 0, 0, e.metric, e.p50, e.p90 FROM ends e) AS u
      GROUP BY u.workspace_id, u.day, u.operator_id) AS d
    LEFT JOIN LATERAL (
      SELECT a.* FROM chat_analytics a
      WHERE a.workspace_id = d.workspace_id AND a.day = d.day AND a.operator_id = d.operator_id OFFSET 0) AS a ON true
  ), changed_days AS (
    INSERT INTO chat_analytics AS a (workspace_id, day, operator_id, sessions, messages, csat_count, csat_sum,
      wait_p50_ms, wait_p90_ms, first_response_p50_ms, first_response_p90_ms, resolution_p50_ms, resolution_p90_ms)
    SELECT * FROM settled d WHERE d.sessions > 0
    ON CONFLICT (workspace_id, day, operator_id) DO UPDATE SET sessions = excluded.sessions,
      messages = excluded.messages, csat_count = excluded.csat_count, csat_sum = excluded.csat_sum,
      wait_p50_ms = excluded.wait_p50_ms, wait_p90_ms = excluded.wait_p90_ms,
      first_response_p50_ms = excluded.first_response_p50_ms, first_response_p90_ms = excluded.first_response_p90_ms,
      resolution_p50_ms = excluded.resolution_p50_ms, resolution_p90_ms = excluded.resolution_p90_ms,
      computed_at = excluded.computed_at
  ), empty_days AS (
    DELETE FROM chat_analytics a USING settled d
    WHERE d.sessions <= 0 AND a.workspace_id = d.workspace_id AND a.day = d.day AND a.operator_id = d.operator_id
  )
  SELECT count(*) INTO counted FROM taken;
  RETURN counted;
END
$$;

-- Counts everything again: the figures of existing sessions from their tables, those of deleted sessions as they were
-- counted, and the days from the figures. Returns the number of sessions.
CREATE OR REPLACE FUNCTION chirrup_recompute(workspace uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  zone text;
  counted bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));
  zone := chirrup_time_zone(workspace);
  DELETE FROM chat_analytics_sessions f USING chat_sessions s
  WHERE f.workspace_id = workspace AND s.workspace_id = workspace AND s.id = f.session_id AND s.deleted_at IS NULL;
  INSERT INTO chat_analytics_sessions
  SELECT f.* FROM chat_sessions s CROSS JOIN LATERAL chirrup_counted(workspace, s.id, zone) AS f
  WHERE s.workspace_id = workspace AND s.deleted_at IS NULL;
  DELETE FROM chat_analytics_buckets WHERE workspace_id = workspace;
  DELETE FROM chat_analytics WHERE workspace_id = workspace;
  DELETE FROM chat_analytics_groups WHERE workspace_id = workspace;
  INSERT INTO chat_analytics_buckets
  SELECT workspace, f.day, o.id, m.metric, m.bucket, count(*)
  FROM chat_analytics_sessions f, chirrup_counted_buckets(f) AS m,
    unnest(ARRAY['00000000-0000-0000-0000-000000000000', f.operator_id]) AS o (id)
  WHERE f.workspace_id = workspace AND o.id IS NOT NULL GROUP BY 2, 3, 4, 5;
  INSERT INTO chat_analytics_groups
  SELECT workspace, g.kind, f.day, g.name, m.metric, m.bucket, sum(m.amount)
  FROM chat_analytics_sessions f CROSS JOIN LATERAL chirrup_groups(f) AS g
  CROSS JOIN LATERAL (VALUES ('sessions', 0::smallint, 1), ('messages', 0, f.messages),
    ('wait', chirrup_bucket(f.wait_ms), 1), ('first_response', chirrup_bucket(f.first_response_ms), 1),
    ('resolution', chirrup_bucket(f.resolution_ms), 1), ('rating', f.rating, 1)) AS m (metric, bucket, amount)
  WHERE f.workspace_id = workspace AND m.bucket IS NOT NULL GROUP BY 2, 3, 4, 5, 6 HAVING sum(m.amount) > 0;
  INSERT INTO chat_analytics (workspace_id, day, operator_id, sessions, messages, csat_count, csat_sum,
    wait_p50_ms, wait_p90_ms, first_response_p50_ms, first_response_p90_ms, resolution_p50_ms, resolution_p90_ms)
  SELECT workspace, d.day, d.operator, d.sessions, d.messages, d.ratings, d.rated,
    t.times[1], t.times[2], t.times[3], t.times[4], t.times[5], t.times[6]
  FROM (
    SELECT f.day, o.id AS operator, count(*) AS sessions, sum(f.messages) AS messages, count(f.rating) AS ratings,
      coalesce(sum(f.rating), 0) AS rated
    FROM chat_analytics_sessions f,
      unnest(ARRAY['00000000-0000-0000-0000-000000000000', f.operator_id]) AS o (id)
    WHERE f.workspace_id = workspace AND o.id IS NOT NULL GROUP BY 1, 2) AS d
  CROSS JOIN LATERAL (SELECT chirrup_times(workspace, d.day, d.day, d.operator) AS times) AS t;
  SELECT count(*) INTO counted FROM chat_analytics_sessions f WHERE f.workspace_id = workspace;
  RETURN counted;
END
$$;

-- The caller has locked the session's row in the same transaction, and checked that the workspace has the team.
-- chirrup_change returns a conversation to queued_at, so one that waits keeps its place.
CREATE OR REPLACE FUNCTION chirrup_set_team(workspace uuid, session uuid, team uuid) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chat_sessions s SET team_id = team, team_since = CASE WHEN team IS NOT NULL THEN clock_timestamp() END,
    queued_at = coalesce(s.waiting_since, s.queued_at)
  WHERE s.workspace_id = workspace AND s.id = session;
  INSERT INTO chat_analytics_pending (workspace_id, session_id) VALUES (workspace, session);
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION chirrup_dissolve_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chat_analytics_pending (workspace_id, session_id)
  SELECT s.workspace_id, s.id FROM chat_sessions s WHERE s.workspace_id = OLD.workspace_id AND s.team_id = OLD.id;
  UPDATE chat_sessions s SET team_id = NULL, team_since = NULL
  WHERE s.workspace_id = OLD.workspace_id AND s.team_id = OLD.id;
  RETURN OLD;
END
$$;

CREATE OR REPLACE FUNCTION chirrup_note_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chat_analytics_pending (workspace_id, session_id)
  VALUES (coalesce(NEW.workspace_id, OLD.workspace_id), coalesce(NEW.session_id, OLD.session_id));
  RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER session_tags_figures AFTER INSERT OR UPDATE OR DELETE ON session_tags FOR EACH ROW
  EXECUTE FUNCTION chirrup_note_tags();

-- A rating whose conversation is gone has no time of its own.
INSERT INTO chat_analytics_sessions
SELECT f.*, NULL::uuid, '{}'::text[], CASE WHEN f.rating IS NOT NULL THEN coalesce((
  SELECT r.created_at FROM csat_responses r WHERE r.workspace_id = f.workspace_id AND r.session_id = f.session_id),
  f.day::timestamp AT TIME ZONE 'UTC') END
FROM chat_session_figures f
ON CONFLICT DO NOTHING;
DELETE FROM chat_session_figures;
INSERT INTO chat_analytics_buckets (workspace_id, day, operator_id, metric, bucket, sessions)
SELECT f.workspace_id, f.day, o.id, 'rating', f.rating, count(*)
FROM chat_analytics_sessions f, unnest(ARRAY['00000000-0000-0000-0000-000000000000', f.operator_id]) AS o (id)
WHERE f.rating IS NOT NULL AND o.id IS NOT NULL GROUP BY 1, 2, 3, 5
ON CONFLICT DO NOTHING;

-- In the order of the list of ratings: by the day on which the conversation began, then by the rating's time.
CREATE INDEX IF NOT EXISTS chat_analytics_sessions_rated
  ON chat_analytics_sessions (workspace_id, day, rated_at, session_id) WHERE rating IS NOT NULL;
-- Conversations that are not closed: their messages are added when figures are read.
CREATE INDEX IF NOT EXISTS chat_analytics_sessions_open ON chat_analytics_sessions (workspace_id, day)
  WHERE resolution_ms IS NULL;

DO $$
DECLARE
  staff text := 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id'')) AND '
    '(SELECT chirrup_setting(''chirrup.user_id'')) IS NULL';
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('chat_analytics_groups', staff, '*', 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('chat_analytics_sessions', staff, '*', 'INSERT, UPDATE, DELETE');
  FOR item IN
    SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('chirrup_groups', 'chirrup_note_tags', 'chirrup_counted', 'chirrup_counted_buckets')
      AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;

-- step: conversations with a team or a tag are counted again in the background

INSERT INTO chat_analytics_pending (workspace_id, session_id)
SELECT workspace_id, session_id FROM session_tags
UNION SELECT workspace_id, id FROM chat_sessions WHERE team_id IS NOT NULL;

-- down
-- locks: session_tags, chat_analytics_pending IN ACCESS EXCLUSIVE MODE

SELECT pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));
DROP TRIGGER IF EXISTS session_tags_figures ON session_tags;
DROP FUNCTION IF EXISTS chirrup_note_tags();
DROP TABLE IF EXISTS chat_analytics_groups;
DROP FUNCTION IF EXISTS chirrup_groups(chat_analytics_sessions), chirrup_counted_buckets(chat_analytics_sessions),
  chirrup_counted(uuid, uuid, text);
INSERT INTO chat_session_figures
SELECT workspace_id, session_id, day, hour, operator_id, messages, wait_ms, first_response_ms, resolution_ms, rating
FROM chat_analytics_sessions ON CONFLICT DO NOTHING;
DROP TABLE IF EXISTS chat_analytics_sessions;
DELETE FROM chat_analytics_buckets WHERE metric = 'rating';
ALTER TABLE chat_analytics_buckets DROP CONSTRAINT IF EXISTS chat_analytics_buckets_metric_check,
  ADD CONSTRAINT chat_analytics_buckets_metric_check CHECK (metric IN ('hour', 'wait', 'first_response', 'resolution'));
COMMENT ON COLUMN chat_analytics_buckets.bucket IS 'The hour, or chirrup_bucket() of the milliseconds.';
-- Counts at most `changes` changes, and returns how many; NULL if another transaction counts for longer than `patience`
-- milliseconds. The statement begins under the lock, so that it sees what the last count has committed. The settings
-- leave the planner the way by keys: its figures of these tables are often old, and a log is read up to its first
-- message and claim only. A workspace that is being deleted is passed over until it is gone; one that is gone is
-- forgotten.
CREATE OR REPLACE FUNCTION chirrup_count(changes integer, patience integer DEFAULT 0) RETURNS integer
LANGUAGE plpgsql SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
  everybody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
  counting CONSTANT bigint := hashtextextended('chirrup_count', 0);
  counted integer;
BEGIN
  IF NOT EXISTS (SELECT FROM chat_analytics_pending) THEN RETURN 0; END IF;
  IF NOT pg_try_advisory_xact_lock(counting) THEN
    IF patience <= 0 THEN RETURN NULL; END IF;
    BEGIN
      PERFORM set_config('lock_timeout', patience::text, true);
      PERFORM pg_advisory_xact_lock(counting);
    EXCEPTION WHEN lock_not_available THEN RETURN NULL;
    END;
  END IF;
  WITH head AS MATERIALIZED (
    SELECT p.id, p.workspace_id, p.session_id FROM chat_analytics_pending p ORDER BY p.id LIMIT changes
  ), places AS MATERIALIZED (
    SELECT w.id, chirrup_time_zone(w.id) AS zone FROM workspaces w
    WHERE w.id IN (SELECT h.workspace_id FROM head h) FOR KEY SHARE OF w SKIP LOCKED
  ), taken AS (
    DELETE FROM chat_analytics_pending WHERE id = ANY (ARRAY(
      SELECT h.id FROM head h WHERE h.workspace_id IN (SELECT w.id FROM places w)
        OR NOT EXISTS (SELECT FROM workspaces w WHERE w.id = h.workspace_id)))
    RETURNING id
  ), changed AS MATERIALIZED (
    SELECT ROW(f.*)::chat_session_figures AS after, b.before
    FROM (
      SELECT DISTINCT h.workspace_id, h.session_id, w.zone FROM head h JOIN places w ON w.id = h.workspace_id
    ) AS t
    CROSS JOIN LATERAL chirrup_figures(t.workspace_id, t.session_id, t.zone) AS f
    LEFT JOIN LATERAL (
      SELECT o AS before FROM chat_session_figures o
      WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id OFFSET 0) AS b ON true
    WHERE b.before IS DISTINCT FROM ROW(f.*)::chat_session_figures
  ), figures AS (
    INSERT INTO chat_session_figures AS f SELECT (c.after).* FROM changed c
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET day = excluded.day, hour = excluded.hour,
      operator_id = excluded.operator_id, messages = excluded.messages, wait_ms = excluded.wait_ms,
      first_response_ms = excluded.first_response_ms, resolution_ms = excluded.resolution_ms, rating = excluded.rating
  ), sides AS MATERIALIZED (
    SELECT x.sign, x.f, chirrup_bucket((x.f).wait_ms) AS wait, chirrup_bucket((x.f).first_response_ms) AS response,
      chirrup_bucket((x.f).resolution_ms) AS resolution
    FROM changed c CROSS JOIN LATERAL (VALUES (1, c.after), (-1, c.before)) AS x (sign, f)
    WHERE (x.f).session_id IS NOT NULL
  ), parties AS MATERIALIZED (
    SELECT (s.f).workspace_id, (s.f).day, o.id AS operator_id, s.* FROM sides s
    CROSS JOIN LATERAL (VALUES (everybody), ((s.f).operator_id)) AS o (id) WHERE o.id IS NOT NULL
  ), days AS MATERIALIZED (
    SELECT p.workspace_id, p.day, p.operator_id, sum(p.sign)::integer AS sessions,
      sum(p.sign * (p.f).messages)::integer AS messages,
      sum(CASE WHEN (p.f).rating IS NOT NULL THEN p.sign ELSE 0 END)::integer AS ratings,
      sum(p.sign * coalesce((p.f).rating, 0))::integer AS rated
    FROM parties p GROUP BY p.workspace_id, p.day, p.operator_id
  ), buckets AS MATERIALIZED (
    SELECT p.workspace_id, p.day, p.operator_id, m.metric, m.bucket, sum(p.sign)::integer AS sessions
    FROM parties p CROSS JOIN LATERAL (VALUES ('hour', (p.f).hour), ('wait', p.wait), ('first_response', p.response),
      ('resolution', p.resolution)) AS m (metric, bucket)
    WHERE m.bucket IS NOT NULL
    GROUP BY p.workspace_id, p.day, p.operator_id, m.metric, m.bucket HAVING sum(p.sign) <> 0
  ), fuller AS (
    INSERT INTO chat_analytics_buckets AS b (workspace_id, day, operator_id, metric, bucket, sessions)
    SELECT * FROM buckets d WHERE d.sessions > 0
    ON CONFLICT (workspace_id, day, operator_id, metric, bucket) DO UPDATE SET sessions = b.sessions + excluded.sessions
  ), lower AS (
    UPDATE chat_analytics_buckets b SET sessions = b.sessions + d.sessions FROM buckets d
    WHERE d.sessions < 0 AND b.sessions > -d.sessions AND b.workspace_id = d.workspace_id AND b.day = d.day
      AND b.operator_id = d.operator_id AND b.metric = d.metric AND b.bucket = d.bucket
  ), empty AS (
    DELETE FROM chat_analytics_buckets b USING buckets d
    WHERE d.sessions < 0 AND b.sessions <= -d.sessions AND b.workspace_id = d.workspace_id AND b.day = d.day
      AND b.operator_id = d.operator_id AND b.metric = d.metric AND b.bucket = d.bucket
  ), spread AS (
    -- What is stored and what changes, together: the distributions of these days after this statement.
    SELECT u.*, sum(u.sessions) OVER (whole ORDER BY u.bucket) AS upto, sum(u.sessions) OVER whole AS whole
    FROM (
      SELECT a.workspace_id, a.day, a.operator_id, a.metric, a.bucket, sum(a.sessions) AS sessions
      FROM (
        SELECT d.workspace_id, d.day, d.operator_id, b.* FROM days d CROSS JOIN LATERAL (
          SELECT b.metric, b.bucket, b.sessions FROM chat_analytics_buckets b
          WHERE b.workspace_id = d.workspace_id AND b.day = d.day AND b.operator_id = d.operator_id OFFSET 0) AS b
        UNION ALL SELECT * FROM buckets) AS a
      WHERE a.metric <> 'hour'
      GROUP BY a.workspace_id, a.day, a.operator_id, a.metric, a.bucket HAVING sum(a.sessions) > 0) AS u
    WINDOW whole AS (PARTITION BY u.workspace_id, u.day, u.operator_id, u.metric)
  ), ends AS (
    SELECT s.workspace_id, s.day, s.operator_id, s.metric,
      chirrup_bucket_end(min(s.bucket) FILTER (WHERE s.upto >= 0.5 * s.whole)) AS p50,
      chirrup_bucket_end(min(s.bucket) FILTER (WHERE s.upto >= 0.9 * s.whole)) AS p90
    FROM spread s GROUP BY s.workspace_id, s.day, s.operator_id, s.metric
  ), settled AS MATERIALIZED (
    SELECT d.workspace_id, d.day, d.operator_id, coalesce(a.sessions, 0) + d.sessions AS sessions,
      coalesce(a.messages, 0) + d.messages AS messages, coalesce(a.csat_count, 0) + d.ratings AS ratings,
      coalesce(a.csat_sum, 0) + d.rated AS rated, d.wait_p50, d.wait_p90, d.response_p50, d.response_p90,
      d.resolution_p50, d.resolution_p90
    FROM (
      SELECT u.workspace_id, u.day, u.operator_id, sum(u.sessions)::integer AS sessions,
        sum(u.messages)::integer AS messages, sum(u.ratings)::integer AS ratings, sum(u.rated)::integer AS rated,
        max(u.p50) FILTER (WHERE u.metric = 'wait') AS wait_p50,
        max(u.p90) FILTER (WHERE u.metric = 'wait') AS wait_p90,
        max(u.p50) FILTER (WHERE u.metric = 'first_response') AS response_p50,
        max(u.p90) FILTER (WHERE u.metric = 'first_response') AS response_p90,
        max(u.p50) FILTER (WHERE u.metric = 'resolution') AS resolution_p50,
        max(u.p90) FILTER (WHERE u.metric = 'resolution') AS resolution_p90
      FROM (
        SELECT n.*, NULL AS metric, NULL::bigint AS p50, NULL::bigint AS p90 FROM days n
        UNION ALL SELECT e.workspace_id, e.day, e.operator_id, 0, 0, 0, 0, e.metric, e.p50, e.p90 FROM ends e) AS u
      GROUP BY u.workspace_id, u.day, u.operator_id) AS d
    LEFT JOIN LATERAL (
      SELECT a.* FROM chat_analytics a
      WHERE a.workspace_id = d.workspace_id AND a.day = d.day AND a.operator_id = d.operator_id OFFSET 0) AS a ON true
  ), changed_days AS (
    INSERT INTO chat_analytics AS a (workspace_id, day, operator_id, sessions, messages, csat_count, csat_sum,
      wait_p50_ms, wait_p90_ms, first_response_p50_ms, first_response_p90_ms, resolution_p50_ms, resolution_p90_ms)
    SELECT * FROM settled d WHERE d.sessions > 0
    ON CONFLICT (workspace_id, day, operator_id) DO UPDATE SET sessions = excluded.sessions,
      messages = excluded.messages, csat_count = excluded.csat_count, csat_sum = excluded.csat_sum,
      wait_p50_ms = excluded.wait_p50_ms, wait_p90_ms = excluded.wait_p90_ms,
      first_response_p50_ms = excluded.first_response_p50_ms, first_response_p90_ms = excluded.first_response_p90_ms,
      resolution_p50_ms = excluded.resolution_p50_ms, resolution_p90_ms = excluded.resolution_p90_ms,
      computed_at = excluded.computed_at
  ), empty_days AS (
    DELETE FROM chat_analytics a USING settled d
    WHERE d.sessions <= 0 AND a.workspace_id = d.workspace_id AND a.day = d.day AND a.operator_id = d.operator_id
  )
  SELECT count(*) INTO counted FROM taken;
  RETURN counted;
END
$$;
-- Counts everything again: the figures of existing sessions from their tables, those of deleted sessions as they were
-- counted, and the days from the figures. Returns the number of sessions.
CREATE OR REPLACE FUNCTION chirrup_recompute(workspace uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  zone text;
  counted bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));
  zone := chirrup_time_zone(workspace);
  DELETE FROM chat_session_figures f USING chat_sessions s
  WHERE f.workspace_id = workspace AND s.workspace_id = workspace AND s.id = f.session_id AND s.deleted_at IS NULL;
  INSERT INTO chat_session_figures
  SELECT f.* FROM chat_sessions s CROSS JOIN LATERAL chirrup_figures(workspace, s.id, zone) AS f
  WHERE s.workspace_id = workspace AND s.deleted_at IS NULL;
  DELETE FROM chat_analytics_buckets WHERE workspace_id = workspace;
  DELETE FROM chat_analytics WHERE workspace_id = workspace;
  INSERT INTO chat_analytics_buckets
  SELECT workspace, f.day, o.id, m.metric, m.bucket, count(*)
  FROM chat_session_figures f, chirrup_buckets(f) AS m,
    unnest(ARRAY['00000000-0000-0000-0000-000000000000', f.operator_id]) AS o (id)
  WHERE f.workspace_id = workspace AND o.id IS NOT NULL GROUP BY 2, 3, 4, 5;
  INSERT INTO chat_analytics (workspace_id, day, operator_id, sessions, messages, csat_count, csat_sum,
    wait_p50_ms, wait_p90_ms, first_response_p50_ms, first_response_p90_ms, resolution_p50_ms, resolution_p90_ms)
  SELECT workspace, d.day, d.operator, d.sessions, d.messages, d.ratings, d.rated,
    t.times[1], t.times[2], t.times[3], t.times[4], t.times[5], t.times[6]
  FROM (
    SELECT f.day, o.id AS operator, count(*) AS sessions, sum(f.messages) AS messages, count(f.rating) AS ratings,
      coalesce(sum(f.rating), 0) AS rated
    FROM chat_session_figures f,
      unnest(ARRAY['00000000-0000-0000-0000-000000000000', f.operator_id]) AS o (id)
    WHERE f.workspace_id = workspace AND o.id IS NOT NULL GROUP BY 1, 2) AS d
  CROSS JOIN LATERAL (SELECT chirrup_times(workspace, d.day, d.day, d.operator) AS times) AS t;
  SELECT count(*) INTO counted FROM chat_session_figures f WHERE f.workspace_id = workspace;
  RETURN counted;
END
$$;
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
CREATE OR REPLACE FUNCTION chirrup_dissolve_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE chat_sessions s SET team_id = NULL, team_since = NULL
  WHERE s.workspace_id = OLD.workspace_id AND s.team_id = OLD.id;
  RETURN OLD;
END
$$;
