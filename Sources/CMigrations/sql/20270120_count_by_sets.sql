-- Analytics are counted by sets: what all changed conversations add to their days, and take from them, at once.
-- parent: 20261230_reader_policies
-- compatible: 20261229_gateways
-- locks: chat_analytics_pending IN ACCESS EXCLUSIVE MODE
-- loses: nothing
--
-- chirrup_count took the figures of each conversation out of its day and its buckets and put the new ones in, row by
-- row. Now a bucket changes by the sum of what its conversations add to it and take from it, once, and most changes
-- cancel out. Gateways of older releases call chirrup_count(integer) as before and get the same.

-- A count that runs ends before its functions go.
SELECT pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));

ALTER TABLE chat_analytics_pending ADD COLUMN IF NOT EXISTS noted_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN chat_analytics_pending.noted_at IS 'When the session has changed: the figures are of that time.';

DROP FUNCTION IF EXISTS chirrup_count(integer);
DROP FUNCTION IF EXISTS chirrup_count_session(uuid, uuid);
DROP FUNCTION IF EXISTS chirrup_settle_day(chat_session_figures);
DROP FUNCTION IF EXISTS chirrup_add_figures(chat_session_figures, integer);
DROP FUNCTION IF EXISTS chirrup_figures(uuid, uuid);

-- The current figures of a session from its tables; no row for a session without a message. OFFSET 0, and the CASE,
-- which implies no partial index, keep the planner from any other path to the session than its key.
CREATE OR REPLACE FUNCTION chirrup_figures(workspace uuid, session uuid, zone text) RETURNS SETOF chat_session_figures
LANGUAGE sql STABLE AS $$
  SELECT s.workspace_id, s.id, (began.at AT TIME ZONE zone)::date,
    extract(hour FROM began.at AT TIME ZONE zone)::smallint, s.assigned_operator_id,
    CASE WHEN s.status = 'closed' THEN s.message_count ELSE 0 END::integer,
    CASE WHEN taken.at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (taken.at - began.at)) * 1000)::bigint END,
    CASE WHEN s.first_response_at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (s.first_response_at - began.at)) * 1000)::bigint END,
    CASE WHEN s.status = 'closed' AND s.closed_at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (s.closed_at - began.at)) * 1000)::bigint END,
    (SELECT r.rating FROM csat_responses r WHERE r.workspace_id = s.workspace_id AND r.session_id = s.id)
  FROM (
    SELECT c.workspace_id, c.id, c.assigned_operator_id, c.status, c.message_count, c.claimed_at, c.first_response_at,
      c.closed_at
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
COMMENT ON FUNCTION chirrup_count(integer, integer) IS 'Counts changed sessions into chat_analytics.';

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

DO $$
DECLARE
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  GRANT UPDATE ON chat_session_figures TO chirrup_gateway;
  FOR item IN
    SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('chirrup_figures', 'chirrup_count')
      AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;

-- step: a conversation that is restored is counted again, since what changed before its deletion may not be
-- locks: chat_sessions

CREATE OR REPLACE TRIGGER chat_sessions_figures AFTER UPDATE OF status, assigned_operator_id, closed_at, deleted_at
  ON chat_sessions FOR EACH ROW WHEN (OLD.status <> NEW.status
    OR OLD.assigned_operator_id IS DISTINCT FROM NEW.assigned_operator_id
    OR OLD.closed_at IS DISTINCT FROM NEW.closed_at
    OR OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL)
  EXECUTE FUNCTION chirrup_note_figures();

-- down
-- locks: chat_sessions, chat_analytics_pending IN ACCESS EXCLUSIVE MODE

CREATE OR REPLACE TRIGGER chat_sessions_figures AFTER UPDATE OF status, assigned_operator_id, closed_at ON chat_sessions
  FOR EACH ROW WHEN (OLD.status <> NEW.status
    OR OLD.assigned_operator_id IS DISTINCT FROM NEW.assigned_operator_id
    OR OLD.closed_at IS DISTINCT FROM NEW.closed_at)
  EXECUTE FUNCTION chirrup_note_figures();
SELECT pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));
DROP FUNCTION IF EXISTS chirrup_count(integer, integer);
DROP FUNCTION IF EXISTS chirrup_figures(uuid, uuid, text);
-- The current figures of a session from its tables; no row for a session without a message.
CREATE OR REPLACE FUNCTION chirrup_figures(workspace uuid, session uuid) RETURNS SETOF chat_session_figures
LANGUAGE sql STABLE AS $$
  SELECT s.workspace_id, s.id, (began.at AT TIME ZONE zone.name)::date,
    extract(hour FROM began.at AT TIME ZONE zone.name)::smallint, s.assigned_operator_id,
    CASE WHEN s.status = 'closed' THEN s.message_count ELSE 0 END::integer,
    CASE WHEN taken.at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (taken.at - began.at)) * 1000)::bigint END,
    CASE WHEN s.first_response_at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (s.first_response_at - began.at)) * 1000)::bigint END,
    CASE WHEN s.status = 'closed' AND s.closed_at IS NOT NULL
      THEN greatest(0, extract(epoch FROM (s.closed_at - began.at)) * 1000)::bigint END,
    (SELECT r.rating FROM csat_responses r WHERE r.workspace_id = workspace AND r.session_id = s.id)
  FROM chat_sessions s
  CROSS JOIN LATERAL (
    SELECT c.created_at AS at FROM chats c
    WHERE c.workspace_id = workspace AND c.session_id = s.id AND c.kind NOT IN ('note', 'event')
    ORDER BY c.seq LIMIT 1) AS began
  LEFT JOIN LATERAL (
    SELECT c.created_at AS at FROM chats c
    WHERE s.claimed_at IS NOT NULL AND c.workspace_id = workspace AND c.session_id = s.id
      AND c.kind = 'event' AND (c.payload ->> 'event' IN ('claimed', 'assigned')
        OR c.payload ->> 'event' = 'transferred' AND c.payload ->> 'to' IS NOT NULL)
    ORDER BY c.seq LIMIT 1) AS taken ON true
  CROSS JOIN LATERAL (SELECT chirrup_time_zone(workspace) AS name OFFSET 0) AS zone
  WHERE s.workspace_id = workspace AND s.id = session AND s.deleted_at IS NULL AND s.channel <> 'legacy'
$$;

CREATE OR REPLACE FUNCTION chirrup_add_figures(f chat_session_figures, sign integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  one uuid;
BEGIN
  FOREACH one IN ARRAY array_remove(ARRAY['00000000-0000-0000-0000-000000000000', f.operator_id], NULL) LOOP
    IF sign > 0 THEN
      INSERT INTO chat_analytics AS a
        (workspace_id, day, operator_id, sessions, messages, csat_count, csat_sum)
      VALUES (f.workspace_id, f.day, one, 1, f.messages, (f.rating IS NOT NULL)::integer, coalesce(f.rating, 0))
      ON CONFLICT (workspace_id, day, operator_id) DO UPDATE SET sessions = a.sessions + 1,
        messages = a.messages + excluded.messages, csat_count = a.csat_count + excluded.csat_count,
        csat_sum = a.csat_sum + excluded.csat_sum;
      INSERT INTO chat_analytics_buckets AS b
      SELECT f.workspace_id, f.day, one, m.metric, m.bucket, 1
      FROM chirrup_buckets(f) AS m
      ON CONFLICT (workspace_id, day, operator_id, metric, bucket) DO UPDATE SET sessions = b.sessions + 1;
    ELSE
      UPDATE chat_analytics AS a SET sessions = a.sessions - 1, messages = a.messages - f.messages,
        csat_count = a.csat_count - (f.rating IS NOT NULL)::integer, csat_sum = a.csat_sum - coalesce(f.rating, 0)
      WHERE a.workspace_id = f.workspace_id AND a.day = f.day AND a.operator_id = one;
      DELETE FROM chat_analytics_buckets AS b USING chirrup_buckets(f) AS m
      WHERE b.workspace_id = f.workspace_id AND b.day = f.day AND b.operator_id = one
        AND b.metric = m.metric AND b.bucket = m.bucket AND b.sessions = 1;
      UPDATE chat_analytics_buckets AS b SET sessions = b.sessions - 1 FROM chirrup_buckets(f) AS m
      WHERE b.workspace_id = f.workspace_id AND b.day = f.day AND b.operator_id = one
        AND b.metric = m.metric AND b.bucket = m.bucket AND b.sessions > 1;
    END IF;
  END LOOP;
END
$$;

-- P50 and P90 of a day from its distribution.
CREATE OR REPLACE FUNCTION chirrup_settle_day(f chat_session_figures) RETURNS void LANGUAGE sql AS $$
  DELETE FROM chat_analytics AS a
  WHERE a.workspace_id = f.workspace_id AND a.day = f.day AND a.sessions = 0
    AND a.operator_id IN ('00000000-0000-0000-0000-000000000000', f.operator_id);
  UPDATE chat_analytics AS a SET
    wait_p50_ms = p.times[1], wait_p90_ms = p.times[2], first_response_p50_ms = p.times[3],
    first_response_p90_ms = p.times[4], resolution_p50_ms = p.times[5], resolution_p90_ms = p.times[6],
    computed_at = now()
  FROM (
    SELECT a2.operator_id, chirrup_times(a2.workspace_id, a2.day, a2.day, a2.operator_id) AS times
    FROM chat_analytics a2
    WHERE a2.workspace_id = f.workspace_id AND a2.day = f.day
      AND a2.operator_id IN ('00000000-0000-0000-0000-000000000000', f.operator_id)) AS p
  WHERE a.workspace_id = f.workspace_id AND a.day = f.day AND a.operator_id = p.operator_id
$$;

-- Counts one session, and returns the changed days with their operators (or none), before and now.
CREATE OR REPLACE FUNCTION chirrup_count_session(workspace uuid, session uuid) RETURNS SETOF chat_session_figures
LANGUAGE plpgsql AS $$
DECLARE
  before chat_session_figures;
  after chat_session_figures;
BEGIN
  -- A workspace that is being deleted is waited for, and then passed over.
  PERFORM FROM workspaces w WHERE w.id = workspace FOR KEY SHARE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO after FROM chirrup_figures(workspace, session);
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO before FROM chat_session_figures f WHERE f.workspace_id = workspace AND f.session_id = session;
  IF FOUND THEN
    IF before IS NOT DISTINCT FROM after THEN RETURN; END IF;
    PERFORM chirrup_add_figures(before, -1);
    DELETE FROM chat_session_figures f WHERE f.workspace_id = workspace AND f.session_id = session;
    RETURN NEXT before;
  END IF;
  INSERT INTO chat_session_figures SELECT (after).*;
  PERFORM chirrup_add_figures(after, 1);
  RETURN NEXT after;
END
$$;

-- Counts a limited number of sessions, and returns how many; NULL while another transaction is counting. The
-- percentiles of a day are computed once, after all of its sessions.
CREATE OR REPLACE FUNCTION chirrup_count(sessions integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  one record;
  changed chat_session_figures[] := '{}';
  counted integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('chirrup_count', 0)) THEN RETURN NULL; END IF;
  FOR one IN
    WITH taken AS (
      DELETE FROM chat_analytics_pending
      WHERE id IN (SELECT id FROM chat_analytics_pending ORDER BY id LIMIT sessions)
      RETURNING workspace_id, session_id)
    SELECT DISTINCT workspace_id, session_id FROM taken
  LOOP
    changed := changed || ARRAY(SELECT f FROM chirrup_count_session(one.workspace_id, one.session_id) AS f);
    counted := counted + 1;
  END LOOP;
  PERFORM chirrup_settle_day(d) FROM (
    SELECT DISTINCT ON (f.workspace_id, f.day, f.operator_id) f::chat_session_figures AS d
    FROM unnest(changed) AS f) AS days;
  RETURN counted;
END
$$;

-- Counts everything again: the figures of existing sessions from their tables, those of deleted sessions as they were
-- counted, and the days from the figures. Returns the number of sessions.
CREATE OR REPLACE FUNCTION chirrup_recompute(workspace uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  counted bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('chirrup_count', 0));
  DELETE FROM chat_session_figures f USING chat_sessions s
  WHERE f.workspace_id = workspace AND s.workspace_id = workspace AND s.id = f.session_id AND s.deleted_at IS NULL;
  INSERT INTO chat_session_figures
  SELECT f.* FROM chat_sessions s CROSS JOIN LATERAL chirrup_figures(workspace, s.id) AS f
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
DO $$
DECLARE
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  REVOKE UPDATE ON chat_session_figures FROM chirrup_gateway;
  FOR item IN
    SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('chirrup_figures', 'chirrup_add_figures', 'chirrup_settle_day', 'chirrup_count_session',
        'chirrup_count') AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;
ALTER TABLE chat_analytics_pending DROP COLUMN IF EXISTS noted_at;
