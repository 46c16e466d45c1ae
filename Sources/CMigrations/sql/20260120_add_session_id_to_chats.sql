-- The log: every message belongs to a session and has a number in it.
-- parent: 20260120_create_chat_sessions
-- was: 62f26403a99bd711 ce496c7b479ea0ef 80f43a2266923a99 a9d05e888b3f12a3
-- loses: the sessions of messages and their numbers, notes and event lines, and every message unless the table was there before Chirrup
--
-- In an older application all messages of a workspace were one conversation. They keep it: one session titled
-- “Legacy Chat” for each workspace that has messages, numbered by created_at and id. Readers never wait
-- longer than for a change of the catalogue: the rows move in batches, constraints are checked while the
-- table is in use, and every step can be interrupted and run again.

SELECT chirrup_adopt('chats');

-- There is no foreign key to workspaces: it would lock the workspace's row for each message of every writer
-- of the tenant, and the session's row already refers to the workspace.
CREATE TABLE IF NOT EXISTS chats (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL,
  role text NOT NULL,
  content text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

SELECT chirrup_expect('chats', 'id', 'uuid'), chirrup_expect('chats', 'workspace_id', 'uuid'),
  chirrup_expect('chats', 'role', 'text', 'character varying'), chirrup_expect('chats', 'content', 'text'),
  chirrup_expect('chats', 'created_at', 'timestamp with time zone'), chirrup_expect('chats', 'user_id', 'uuid');

ALTER TABLE chats
  ADD COLUMN IF NOT EXISTS session_id uuid,
  ADD COLUMN IF NOT EXISTS seq bigint,
  ADD COLUMN IF NOT EXISTS kind text NOT NULL DEFAULT 'text',
  ADD COLUMN IF NOT EXISTS payload jsonb,
  ADD COLUMN IF NOT EXISTS user_id uuid,
  ADD COLUMN IF NOT EXISTS operator_id uuid,
  ADD COLUMN IF NOT EXISTS operator_name text,
  ADD COLUMN IF NOT EXISTS content_hash bytea;

SELECT chirrup_relax('chats', 'id', 'workspace_id', 'session_id', 'role', 'content', 'created_at');

-- The roles that an older table allows remain allowed, in addition to Chirrup's; `down` restores its own rule. A
-- table without a rule gets none.
DO $$
DECLARE
  old record;
  rule text;
BEGIN
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'chats'::regclass AND conname = 'chats_role_check'
      AND pg_get_constraintdef(oid) LIKE ALL (ARRAY['%''visitor''%', '%''operator''%', '%''bot''%', '%''system''%']))
  THEN RETURN; END IF;
  FOR old IN
    SELECT conname, pg_get_expr(conbin, conrelid) AS rule
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attname = 'role'
    WHERE conrelid = 'chats'::regclass AND contype = 'c' AND conkey = ARRAY[attnum]
  LOOP
    rule := concat_ws(' AND ', rule, old.rule);
    EXECUTE format('ALTER TABLE chats DROP CONSTRAINT %I', old.conname);
  END LOOP;
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'made') THEN
    ALTER TABLE chats ADD CONSTRAINT chats_role_check
      CHECK (role IN ('visitor', 'operator', 'bot', 'system', 'user', 'assistant')) NOT VALID;
  ELSE
    INSERT INTO chirrup_adoptions VALUES ('chats', 'exempt', 'chats_role_check') ON CONFLICT DO NOTHING;
    IF rule IS NOT NULL THEN
      EXECUTE format('ALTER TABLE chats ADD CONSTRAINT chats_role_check '
        'CHECK (role IN (''visitor'', ''operator'', ''bot'', ''system'') OR %s) NOT VALID', rule);
    END IF;
  END IF;
END
$$;

CREATE TABLE IF NOT EXISTS chirrup_legacy_sessions (
  workspace_id uuid PRIMARY KEY,
  session_id uuid NOT NULL DEFAULT gen_random_uuid(),
  messages bigint NOT NULL DEFAULT 0,
  first_at timestamptz,
  last_at timestamptz,
  last_id uuid,
  is_done boolean NOT NULL DEFAULT false
);
ALTER TABLE chirrup_legacy_sessions ADD COLUMN IF NOT EXISTS is_found boolean NOT NULL DEFAULT false;
COMMENT ON TABLE chirrup_legacy_sessions IS
  'The session that the messages of each workspace moved into, and how many there were; `verify` compares.';

-- Numbers the next rows of one workspace and returns their count; 0 when none is left. Rows without a time come first.
CREATE OR REPLACE FUNCTION chirrup_move_legacy(page bigint) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $f$
DECLARE
  place chirrup_legacy_sessions;
  moved bigint;
  owner uuid;
BEGIN
  LOOP
    SELECT * INTO place FROM chirrup_legacy_sessions WHERE NOT is_done ORDER BY workspace_id LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN RETURN 0; END IF;
    PERFORM chirrup_quiet('chats'), chirrup_quiet('chat_sessions');
    -- A foreign key of the older application wants the session first.
    IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'column' AND name = 'session_id') THEN
      INSERT INTO chat_sessions (id, workspace_id, title, status, waiting_since, channel)
      VALUES (place.session_id, place.workspace_id, 'Legacy Chat', 'closed', NULL, 'legacy') ON CONFLICT DO NOTHING;
    END IF;
    WITH next AS MATERIALIZED (
      SELECT id, created_at, place.messages + row_number() OVER (ORDER BY created_at, id) AS seq
      FROM (
        SELECT id, coalesce(created_at, '-infinity') AS created_at FROM chats
        WHERE workspace_id = place.workspace_id AND session_id IS NULL
          AND (coalesce(created_at, '-infinity'), id) > (coalesce(place.last_at, '-infinity'),
            coalesce(place.last_id, '00000000-0000-0000-0000-000000000000'))
        ORDER BY coalesce(created_at, '-infinity'), id LIMIT page) AS page
    ), numbered AS (
      UPDATE chats SET session_id = place.session_id, seq = next.seq,
        content_hash = sha256(convert_to(
          kind || E'\n' || coalesce(payload::text, '') || E'\n' || coalesce(content, ''), 'UTF8'))
      FROM next WHERE chats.id = next.id
    ), noted AS (
      SELECT count(*) AS count, min(created_at) FILTER (WHERE created_at > '-infinity') AS first FROM next
    ), last AS (
      SELECT id, created_at FROM next ORDER BY seq DESC LIMIT 1
    )
    UPDATE chirrup_legacy_sessions AS l SET
      messages = l.messages + noted.count, first_at = coalesce(l.first_at, noted.first),
      last_at = coalesce((SELECT created_at FROM last), l.last_at),
      last_id = coalesce((SELECT id FROM last), l.last_id),
      is_done = noted.count < page
    FROM noted WHERE l.workspace_id = place.workspace_id
    RETURNING noted.count INTO moved;
    SELECT * INTO place FROM chirrup_legacy_sessions WHERE workspace_id = place.workspace_id;
    IF place.is_done THEN
      place.last_at := nullif(place.last_at, '-infinity');
      -- The owner of the workspace owned its conversation, where the old table says who that is.
      IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'workspaces'::regclass
                 AND attname = 'user_id' AND atttypid = 'uuid'::regtype AND NOT attisdropped) THEN
        EXECUTE 'SELECT user_id FROM workspaces WHERE id = $1' INTO owner USING place.workspace_id;
      END IF;
      INSERT INTO chat_sessions AS s
        (id, workspace_id, user_id, title, status, created_at, last_message_at, closed_at, waiting_since,
         last_seq, message_count, channel, last_message_preview, last_message_role)
      SELECT place.session_id, place.workspace_id, owner, 'Legacy Chat', 'closed', coalesce(place.first_at, now()),
        place.last_at, coalesce(place.last_at, now()), NULL, place.messages, place.messages, 'legacy',
        left(content, 120), role
      FROM chats WHERE id = place.last_id
      ON CONFLICT (id) DO UPDATE SET last_seq = excluded.last_seq, message_count = excluded.message_count,
        last_message_at = excluded.last_message_at, last_message_preview = excluded.last_message_preview,
        last_message_role = excluded.last_message_role, status = excluded.status, channel = excluded.channel,
        closed_at = excluded.closed_at, waiting_since = NULL,
        created_at = CASE WHEN place.is_found THEN s.created_at ELSE excluded.created_at END,
        user_id = CASE WHEN place.is_found THEN s.user_id ELSE excluded.user_id END;
      RAISE NOTICE 'Created legacy session % for workspace % (% messages)',
        place.session_id, place.workspace_id, place.messages;
    END IF;
    PERFORM chirrup_loud('chats'), chirrup_loud('chat_sessions');
    IF moved > 0 THEN RETURN moved; END IF;
  END LOOP;
END
$f$;

-- Sessions that the older application created itself: their messages belong to them already, and are numbered.
CREATE TABLE IF NOT EXISTS chirrup_linked_sessions (
  session_id uuid PRIMARY KEY,
  messages bigint NOT NULL DEFAULT 0,
  last_at timestamptz,
  last_id uuid,
  is_done boolean NOT NULL DEFAULT false
);

-- Numbers the next rows of one such session and returns their count; 0 when none is left.
CREATE OR REPLACE FUNCTION chirrup_move_linked(page bigint) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $f$
DECLARE
  place chirrup_linked_sessions;
  moved bigint;
BEGIN
  LOOP
    SELECT * INTO place FROM chirrup_linked_sessions WHERE NOT is_done ORDER BY session_id LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN RETURN 0; END IF;
    PERFORM chirrup_quiet('chats'), chirrup_quiet('chat_sessions');
    WITH next AS MATERIALIZED (
      SELECT id, created_at, place.messages + row_number() OVER (ORDER BY created_at, id) AS seq
      FROM (
        SELECT id, coalesce(created_at, '-infinity') AS created_at FROM chats
        WHERE session_id = place.session_id AND seq IS NULL
          AND (coalesce(created_at, '-infinity'), id) > (coalesce(place.last_at, '-infinity'),
            coalesce(place.last_id, '00000000-0000-0000-0000-000000000000'))
        ORDER BY coalesce(created_at, '-infinity'), id LIMIT page) AS page
    ), numbered AS (
      UPDATE chats SET seq = next.seq, content_hash = sha256(convert_to(
          kind || E'\n' || coalesce(payload::text, '') || E'\n' || coalesce(content, ''), 'UTF8'))
      FROM next WHERE chats.id = next.id
    ), noted AS (
      SELECT count(*) AS count FROM next
    ), last AS (
      SELECT id, created_at FROM next ORDER BY seq DESC LIMIT 1
    )
    UPDATE chirrup_linked_sessions AS l SET
      messages = l.messages + noted.count,
      last_at = coalesce((SELECT created_at FROM last), l.last_at),
      last_id = coalesce((SELECT id FROM last), l.last_id),
      is_done = noted.count < page
    FROM noted WHERE l.session_id = place.session_id
    RETURNING noted.count INTO moved;
    SELECT * INTO place FROM chirrup_linked_sessions WHERE session_id = place.session_id;
    IF place.is_done AND place.messages > 0 THEN
      UPDATE chat_sessions s SET status = 'closed', channel = 'legacy', waiting_since = NULL,
        closed_at = coalesce(nullif(place.last_at, '-infinity'), s.created_at), last_seq = place.messages,
        message_count = place.messages, last_message_at = nullif(place.last_at, '-infinity'),
        last_message_preview = left(c.content, 120), last_message_role = c.role
      FROM chats c WHERE c.id = place.last_id AND s.id = place.session_id;
    END IF;
    PERFORM chirrup_loud('chats'), chirrup_loud('chat_sessions');
    IF moved > 0 THEN RETURN moved; END IF;
  END LOOP;
END
$f$;

-- step: what finds the rows that are still to be moved

CREATE INDEX IF NOT EXISTS chirrup_legacy_rows ON chats (workspace_id, coalesce(created_at, '-infinity'), id)
  WHERE session_id IS NULL;

-- step: the same for sessions of the older application

CREATE INDEX IF NOT EXISTS chirrup_linked_rows ON chats (session_id, coalesce(created_at, '-infinity'), id)
  WHERE session_id IS NOT NULL AND seq IS NULL;

-- step: the sessions that get messages

-- An empty session that the older application has created for this purpose is used.
INSERT INTO chirrup_legacy_sessions (workspace_id, session_id, is_found)
SELECT w.id, coalesce(empty.id, gen_random_uuid()), empty.id IS NOT NULL
FROM (SELECT DISTINCT workspace_id AS id FROM chats WHERE session_id IS NULL) AS w
LEFT JOIN LATERAL (
  SELECT s.id FROM chat_sessions s WHERE s.workspace_id = w.id AND s.title = 'Legacy Chat'
    AND NOT EXISTS (SELECT FROM chats c WHERE c.session_id = s.id)
  ORDER BY s.created_at, s.id LIMIT 1
) AS empty ON true
ON CONFLICT DO NOTHING;
INSERT INTO chirrup_linked_sessions (session_id)
SELECT DISTINCT session_id FROM chats WHERE session_id IS NOT NULL AND seq IS NULL ON CONFLICT DO NOTHING;

-- The roles of the older application, which `down` leaves as they are.
DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found')
    AND NOT EXISTS (SELECT FROM chirrup_migrations WHERE revision = '20260120_add_session_id_to_chats') THEN
    INSERT INTO chirrup_adoptions SELECT DISTINCT 'chats', 'role', role FROM chats ON CONFLICT DO NOTHING;
  END IF;
END
$$;

-- batches: messages into their legacy sessions

SELECT count(*) FROM chats WHERE seq IS NULL;

SELECT coalesce(nullif(chirrup_move_legacy(5000), 0), chirrup_move_linked(5000));

-- step: rows that the old application wrote meanwhile, and those it will write
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE

LOCK TABLE chats IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO chirrup_legacy_sessions AS l (workspace_id)
SELECT DISTINCT workspace_id FROM chats WHERE session_id IS NULL
ON CONFLICT (workspace_id) DO UPDATE SET is_done = false, last_at = NULL, last_id = NULL;
INSERT INTO chirrup_linked_sessions AS l (session_id)
SELECT DISTINCT session_id FROM chats WHERE session_id IS NOT NULL AND seq IS NULL
ON CONFLICT (session_id) DO UPDATE SET is_done = false, last_at = NULL, last_id = NULL;

DO $$
BEGIN
  WHILE chirrup_move_legacy(5000) > 0 LOOP END LOOP;
  WHILE chirrup_move_linked(5000) > 0 LOOP END LOOP;
END
$$;

-- The older application's sessions without a message wait for no operator.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM chirrup_migrations WHERE revision = '20260120_add_session_id_to_chats')
    AND EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chat_sessions' AND kind = 'found') THEN
    PERFORM chirrup_quiet('chat_sessions');
    UPDATE chat_sessions SET status = 'closed', channel = 'legacy', closed_at = created_at, waiting_since = NULL
    WHERE last_seq = 0 AND channel = 'web';
    PERFORM chirrup_loud('chat_sessions');
  END IF;
END
$$;

-- A row without a number comes from an application that sets none: it is appended to its session, or to the
-- legacy session. A session that such an application has opened waits for no operator.
CREATE OR REPLACE FUNCTION chirrup_number_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  IF NEW.session_id IS NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.workspace_id::text, 0));
    SELECT id INTO NEW.session_id FROM chat_sessions
    WHERE workspace_id = NEW.workspace_id AND channel = 'legacy' AND deleted_at IS NULL
    ORDER BY created_at, id LIMIT 1;
    IF NOT FOUND THEN
      NEW.session_id := gen_random_uuid();
      INSERT INTO chat_sessions (id, workspace_id, title, status, closed_at, waiting_since, channel)
      VALUES (NEW.session_id, NEW.workspace_id, 'Legacy Chat', 'closed', now(), NULL, 'legacy');
    END IF;
  END IF;
  NEW.created_at := coalesce(NEW.created_at, now());
  UPDATE chat_sessions s SET last_seq = s.last_seq + 1, message_count = s.message_count + 1,
    last_message_at = NEW.created_at, last_message_preview = left(NEW.content, 120),
    last_message_role = NEW.role,
    status = CASE WHEN is_new THEN 'closed' ELSE s.status END,
    channel = CASE WHEN is_new THEN 'legacy' ELSE s.channel END,
    closed_at = CASE WHEN is_new THEN NEW.created_at ELSE s.closed_at END,
    waiting_since = CASE WHEN is_new THEN NULL ELSE s.waiting_since END
  FROM (SELECT id, status = 'waiting' AND last_seq = 0 AND channel = 'web' AS is_new
    FROM chat_sessions WHERE id = NEW.session_id FOR UPDATE) AS session
  WHERE s.id = session.id AND s.workspace_id = NEW.workspace_id RETURNING s.last_seq INTO NEW.seq;
  NEW.content_hash := sha256(convert_to(
    NEW.kind || E'\n' || coalesce(NEW.payload::text, '') || E'\n' || coalesce(NEW.content, ''), 'UTF8'));
  RETURN NEW;
END
$f$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN
    CREATE OR REPLACE TRIGGER chats_number_message BEFORE INSERT ON chats
      FOR EACH ROW WHEN (NEW.seq IS NULL) EXECUTE FUNCTION chirrup_number_message();
  ELSE
    DROP FUNCTION chirrup_number_message();
  END IF;
END
$$;

ALTER TABLE chats DROP CONSTRAINT IF EXISTS chats_are_numbered;
ALTER TABLE chats ADD CONSTRAINT chats_are_numbered
  CHECK (session_id IS NOT NULL AND seq IS NOT NULL AND content_hash IS NOT NULL) NOT VALID;

-- step: the constraints are checked while the table is read

ALTER TABLE chats VALIDATE CONSTRAINT chats_are_numbered;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'chats'::regclass AND conname = 'chats_role_check') THEN
    ALTER TABLE chats VALIDATE CONSTRAINT chats_role_check;
  END IF;
END
$$;
-- step: the key of a session's log

SELECT chirrup_yield('chats', 'idx_chats_session_id', 'CREATE UNIQUE % (session_id, seq)'),
  chirrup_yield('chats', 'idx_chats_session_created', '% (session_id, created_at)');
CREATE UNIQUE INDEX IF NOT EXISTS idx_chats_session_id ON chats (session_id, seq);
-- step: the index by time

CREATE INDEX IF NOT EXISTS idx_chats_session_created ON chats (session_id, created_at);

-- step: what has been checked becomes the rule
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE

ALTER TABLE chats
  ALTER COLUMN session_id SET NOT NULL,
  ALTER COLUMN seq SET NOT NULL,
  ALTER COLUMN content_hash SET NOT NULL,
  DROP CONSTRAINT chats_are_numbered;
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint
      WHERE conrelid = 'chats'::regclass AND conname = 'chats_session_id_fkey') THEN
    ALTER TABLE chats ADD CONSTRAINT chats_session_id_fkey
      FOREIGN KEY (session_id) REFERENCES chat_sessions (id) ON DELETE CASCADE NOT VALID;
  END IF;
END
$$;

-- step: the last check, and tidying up

ALTER TABLE chats VALIDATE CONSTRAINT chats_session_id_fkey;
DROP FUNCTION chirrup_move_legacy(bigint), chirrup_move_linked(bigint);
DROP TABLE chirrup_linked_sessions;
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM chirrup_legacy_sessions) THEN DROP TABLE chirrup_legacy_sessions; END IF;
  IF NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN
    COMMENT ON TABLE chats IS 'The logs of all sessions: append-only, numbered without holes within each.';
  END IF;
END
$$;
ANALYZE chats;

COMMENT ON COLUMN chats.seq IS '1, 2, 3, … within the session; given under the lock of the session''s row.';
COMMENT ON COLUMN chats.id IS 'Made by the client before its first attempt: the key that recognises a message sent twice.';
COMMENT ON COLUMN chats.role IS 'Who wrote it; user and assistant are of older data.';
COMMENT ON COLUMN chats.kind IS 'text, note (operators only), card, event (a line nobody wrote).';
COMMENT ON COLUMN chats.user_id IS 'The visitor who wrote it.';
COMMENT ON COLUMN chats.operator_id IS 'The operator or bot who wrote it.';
COMMENT ON COLUMN chats.operator_name IS 'The operator''s or bot''s name at that time.';
COMMENT ON COLUMN chats.content_hash IS
  'SHA-256 of kind, payload and content, a line each: tells a message sent again from another under its id.';

-- Last, because readers wait from here to the end of the step.
DROP INDEX IF EXISTS chirrup_legacy_rows, chirrup_linked_rows;

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  demanded name;
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN
    PERFORM chirrup_quiet('chats'), chirrup_quiet('chat_sessions');
    -- What the old application would show to the wrong people, or would not understand.
    DELETE FROM chats WHERE kind IN ('note', 'event');
    UPDATE chats SET role = CASE role WHEN 'visitor' THEN 'user' ELSE 'assistant' END
    WHERE role IN ('visitor', 'operator', 'bot')
      AND role NOT IN (SELECT name FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'role');
    -- The messages of workspaces that lack what the old application demands: these go when the table does.
    FOR demanded IN
      SELECT name FROM chirrup_adoptions WHERE relation = 'workspaces' AND kind = 'not null'
    LOOP
      EXECUTE format('DELETE FROM chats WHERE workspace_id IN (SELECT id FROM workspaces WHERE %I IS NULL)', demanded);
    END LOOP;
    -- The old application's own column gets back that these messages had no session.
    IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'column' AND name = 'session_id') THEN
      ALTER TABLE chats DROP CONSTRAINT IF EXISTS chats_session_id_fkey,
        DROP CONSTRAINT IF EXISTS chats_are_numbered, ALTER COLUMN session_id DROP NOT NULL;
      IF to_regclass('chirrup_legacy_sessions') IS NOT NULL THEN
        UPDATE chats c SET session_id = NULL FROM chirrup_legacy_sessions l
        WHERE c.session_id = l.session_id AND (c.seq <= l.messages OR NOT l.is_found);
      END IF;
      -- Where it demands a session, the one that was opened for a message stays.
      UPDATE chats c SET session_id = NULL FROM chirrup_adoptions a
      WHERE a.relation = 'chat_sessions' AND a.kind = 'opened' AND c.session_id = a.name::uuid
        AND NOT EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = 'chats' AND kind = 'not null' AND name = 'session_id');
    END IF;
    PERFORM chirrup_loud('chat_sessions');
  END IF;
END
$$;
SELECT chirrup_release('chats');
-- The sessions that were made for messages without one go from a table of the old application, if no message leads to
-- them any more.
DO $$
DECLARE
  ours uuid[] := ARRAY(SELECT name::uuid FROM chirrup_adoptions WHERE relation = 'chat_sessions' AND kind = 'opened');
BEGIN
  IF NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chat_sessions' AND kind = 'found') THEN RETURN; END IF;
  IF to_regclass('chirrup_legacy_sessions') IS NOT NULL THEN
    ours := ours || ARRAY(SELECT session_id FROM chirrup_legacy_sessions WHERE NOT is_found);
  END IF;
  PERFORM chirrup_quiet('chat_sessions');
  IF EXISTS (SELECT FROM pg_attribute
      WHERE attrelid = to_regclass('chats') AND attname = 'session_id' AND NOT attisdropped) THEN
    DELETE FROM chat_sessions s WHERE id = ANY (ours) AND NOT EXISTS (SELECT FROM chats c WHERE c.session_id = s.id);
  ELSE
    DELETE FROM chat_sessions WHERE id = ANY (ours);
  END IF;
  PERFORM chirrup_loud('chat_sessions');
END
$$;
DROP FUNCTION IF EXISTS chirrup_number_message();
DROP FUNCTION IF EXISTS chirrup_move_legacy(bigint);
DROP FUNCTION IF EXISTS chirrup_move_linked(bigint);
DROP TABLE IF EXISTS chirrup_linked_sessions;
DROP TABLE IF EXISTS chirrup_legacy_sessions;
