-- Analytics are updated one conversation at a time, never by a scan.
-- parent: 20261125_create_idempotency
-- locks: chat_sessions, workspaces
-- loses: the figures of waiting times and of each conversation, and the distributions for P50 and P90
--
-- Every change of a conversation's figures (its first message, a claim, the first answer, the end, a rating) inserts a
-- row into `chat_analytics_pending` in the same transaction, without a wait. `chirrup_count` takes these rows and
-- counts each conversation again: it subtracts the figures counted before (`chat_session_figures`) and adds the current
-- ones. So a batch of messages costs nothing more, no two transactions update the same row of figures, nothing is lost
-- in a crash, and counting twice changes nothing.
--
-- A conversation belongs to the day of its first message, in the time zone of its workspace, and to its operator. Its
-- messages count when it is closed. Times are stored as a distribution over buckets that are 4.4 % wide, so that days
-- can be added up; a percentile is the upper end of its bucket.

ALTER TABLE chat_analytics
  ADD COLUMN IF NOT EXISTS wait_p50_ms bigint CHECK (wait_p50_ms >= 0),
  ADD COLUMN IF NOT EXISTS wait_p90_ms bigint CHECK (wait_p90_ms >= wait_p50_ms);
COMMENT ON COLUMN chat_analytics.wait_p50_ms IS 'Half of the sessions were claimed within this time.';
COMMENT ON COLUMN chat_analytics.messages IS 'Texts and cards of the sessions that are closed.';

CREATE TABLE IF NOT EXISTS chat_session_figures (
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
  PRIMARY KEY (workspace_id, session_id)
);
COMMENT ON TABLE chat_session_figures IS
  'What chat_analytics holds of each session; kept when the session is gone, as it names nobody but the operator.';

CREATE TABLE IF NOT EXISTS chat_analytics_buckets (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  day date NOT NULL,
  operator_id uuid NOT NULL,
  metric text NOT NULL CHECK (metric IN ('hour', 'wait', 'first_response', 'resolution')),
  bucket smallint NOT NULL,
  sessions integer NOT NULL CHECK (sessions > 0),
  PRIMARY KEY (workspace_id, day, operator_id, metric, bucket)
);
COMMENT ON TABLE chat_analytics_buckets IS 'How many sessions of a day began in an hour, or took so long.';
COMMENT ON COLUMN chat_analytics_buckets.bucket IS 'The hour, or chirrup_bucket() of the milliseconds.';

CREATE TABLE IF NOT EXISTS chat_analytics_pending (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL
);
COMMENT ON TABLE chat_analytics_pending IS 'Sessions whose figures have to be counted anew.';

-- Sixteen buckets for each doubling; bucket 0 is for a duration of zero.
CREATE OR REPLACE FUNCTION chirrup_bucket(milliseconds bigint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN milliseconds < 1 THEN 0 WHEN milliseconds IS NOT NULL
    THEN floor(16 * ln(milliseconds::float8) / ln(2::float8) + 1e-9) + 1 END::smallint
$$;
CREATE OR REPLACE FUNCTION chirrup_bucket_end(bucket smallint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN bucket = 0 THEN 0 ELSE ceil(power(2::float8, bucket / 16.0::float8) - 1e-6) END::bigint
$$;

-- An unknown time zone and an invalid setting count as UTC.
CREATE OR REPLACE FUNCTION chirrup_time_zone(workspace uuid) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  zone text;
BEGIN
  SELECT value::jsonb ->> 'time_zone' INTO zone FROM system_settings
  WHERE workspace_id = workspace AND key = 'hours';
  PERFORM now() AT TIME ZONE zone;
  RETURN coalesce(zone, 'UTC');
EXCEPTION WHEN data_exception THEN RETURN 'UTC';
END
$$;

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

-- The contribution of a session to the distributions of its day.
CREATE OR REPLACE FUNCTION chirrup_buckets(f chat_session_figures) RETURNS TABLE (metric text, bucket smallint)
LANGUAGE sql IMMUTABLE AS $$
  SELECT m.name, m.bucket FROM (VALUES ('hour', f.hour), ('wait', chirrup_bucket(f.wait_ms)),
    ('first_response', chirrup_bucket(f.first_response_ms)), ('resolution', chirrup_bucket(f.resolution_ms)))
    AS m (name, bucket)
  WHERE m.bucket IS NOT NULL
$$;

-- P50 and P90 of waiting, first response and resolution of these days together: a row of six.
CREATE OR REPLACE FUNCTION chirrup_times(workspace uuid, first date, last date, operator uuid) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
  SELECT ARRAY(
    SELECT (SELECT chirrup_bucket_end(min(t.bucket)) FROM (
        SELECT b.bucket, sum(sum(b.sessions)) OVER (ORDER BY b.bucket) AS upto, sum(sum(b.sessions)) OVER () AS whole
        FROM chat_analytics_buckets b
        WHERE b.workspace_id = workspace AND b.day BETWEEN first AND last AND b.operator_id = operator
          AND b.metric = q.metric
        GROUP BY b.bucket) AS t
      WHERE t.upto >= q.part * t.whole)
    FROM (VALUES (1, 'wait', 0.5), (2, 'wait', 0.9), (3, 'first_response', 0.5), (4, 'first_response', 0.9),
      (5, 'resolution', 0.5), (6, 'resolution', 0.9)) AS q (place, metric, part)
    ORDER BY q.place)
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

-- Runs with the rights of the tables' owner, so that changes by every role are counted.
CREATE OR REPLACE FUNCTION chirrup_note_figures() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_TABLE_NAME = 'csat_responses' THEN
    INSERT INTO chat_analytics_pending (workspace_id, session_id) VALUES (NEW.workspace_id, NEW.session_id);
  ELSE
    INSERT INTO chat_analytics_pending (workspace_id, session_id) VALUES (NEW.workspace_id, NEW.id);
  END IF;
  RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER chat_sessions_figures AFTER UPDATE ON chat_sessions FOR EACH ROW
  WHEN (OLD.message_count = 0 AND NEW.message_count > 0
    OR OLD.status <> NEW.status
    OR OLD.message_count <> NEW.message_count AND NEW.status = 'closed'
    OR OLD.assigned_operator_id IS DISTINCT FROM NEW.assigned_operator_id
    OR OLD.first_response_at IS DISTINCT FROM NEW.first_response_at
    OR OLD.closed_at IS DISTINCT FROM NEW.closed_at)
  EXECUTE FUNCTION chirrup_note_figures();
CREATE OR REPLACE TRIGGER chat_sessions_new_figures AFTER INSERT ON chat_sessions FOR EACH ROW
  WHEN (NEW.message_count > 0) EXECUTE FUNCTION chirrup_note_figures();
CREATE OR REPLACE TRIGGER csat_responses_figures AFTER INSERT OR UPDATE ON csat_responses FOR EACH ROW
  EXECUTE FUNCTION chirrup_note_figures();

-- Existing conversations are counted in the background.
INSERT INTO chat_analytics_pending (workspace_id, session_id)
SELECT workspace_id, id FROM chat_sessions WHERE message_count > 0 AND channel <> 'legacy'
  AND NOT EXISTS (SELECT FROM chat_session_figures);

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DROP TRIGGER IF EXISTS csat_responses_figures ON csat_responses;
DROP TRIGGER IF EXISTS chat_sessions_new_figures ON chat_sessions;
DROP TRIGGER IF EXISTS chat_sessions_figures ON chat_sessions;
DROP FUNCTION IF EXISTS chirrup_note_figures();
DROP FUNCTION IF EXISTS chirrup_recompute(uuid);
DROP FUNCTION IF EXISTS chirrup_count(integer);
DROP FUNCTION IF EXISTS chirrup_count_session(uuid, uuid);
DROP FUNCTION IF EXISTS chirrup_settle_day(chat_session_figures);
DROP FUNCTION IF EXISTS chirrup_add_figures(chat_session_figures, integer);
DROP FUNCTION IF EXISTS chirrup_times(uuid, date, date, uuid);
DROP FUNCTION IF EXISTS chirrup_buckets(chat_session_figures);
DROP FUNCTION IF EXISTS chirrup_figures(uuid, uuid);
DROP FUNCTION IF EXISTS chirrup_time_zone(uuid);
DROP FUNCTION IF EXISTS chirrup_bucket_end(smallint);
DROP FUNCTION IF EXISTS chirrup_bucket(bigint);
DROP TABLE IF EXISTS chat_analytics_pending, chat_analytics_buckets, chat_session_figures;
ALTER TABLE chat_analytics DROP COLUMN IF EXISTS wait_p50_ms, DROP COLUMN IF EXISTS wait_p90_ms;
COMMENT ON COLUMN chat_analytics.messages IS NULL;
