-- The log: every message belongs to a session and has a number in it.
-- parent: 20260120_create_chat_sessions
-- was: 62f26403a99bd711
-- loses: the sessions of messages and their numbers, notes and event lines, and every message unless the table was there before Chirrup
--
-- In an older application all messages of a workspace were one conversation. They keep it: one session titled
-- “Legacy Chat” for each workspace that has messages, numbered by created_at and id. Readers are never kept
-- waiting for longer than a change of the catalogue takes: the rows move in batches, constraints are checked
-- while the table is in use, and every step may be interrupted and run again.

SELECT chirrup_adopt('chats');

-- Without a foreign key to workspaces: it would lock the workspace's row once for each message, for every
-- writer of the tenant, and the session's row already leads there.
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

-- The roles of an older table are allowed to stay; what it said about them comes back with `down`.
DO $$
DECLARE
  old name;
BEGIN
  FOR old IN
    SELECT conname FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attname = 'role'
    WHERE conrelid = 'chats'::regclass AND contype = 'c' AND conkey = ARRAY[attnum]
  LOOP EXECUTE format('ALTER TABLE chats DROP CONSTRAINT %I', old); END LOOP;
END
$$;
ALTER TABLE chats ADD CONSTRAINT chats_role_check
  CHECK (role IN ('visitor', 'operator', 'bot', 'system', 'user', 'assistant')) NOT VALID;

CREATE TABLE IF NOT EXISTS chirrup_legacy_sessions (
  workspace_id uuid PRIMARY KEY,
  session_id uuid NOT NULL DEFAULT gen_random_uuid(),
  messages bigint NOT NULL DEFAULT 0,
  first_at timestamptz,
  last_at timestamptz,
  last_id uuid,
  is_done boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE chirrup_legacy_sessions IS
  'The session that the messages of each workspace moved into, and how many there were; `verify` compares.';

-- Numbers the next rows of one workspace and answers how many; 0 when none is left.
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
    WITH next AS MATERIALIZED (
      SELECT id, created_at, place.messages + row_number() OVER (ORDER BY created_at, id) AS seq
      FROM (
        SELECT id, created_at FROM chats
        WHERE workspace_id = place.workspace_id AND session_id IS NULL
          AND (created_at, id) > (coalesce(place.last_at, '-infinity'),
            coalesce(place.last_id, '00000000-0000-0000-0000-000000000000'))
        ORDER BY created_at, id LIMIT page) AS page
    ), numbered AS (
      UPDATE chats SET session_id = place.session_id, seq = next.seq,
        content_hash = sha256(convert_to(
          kind || E'\n' || coalesce(payload::text, '') || E'\n' || content, 'UTF8'))
      FROM next WHERE chats.id = next.id
    ), noted AS (
      SELECT count(*) AS count, min(created_at) AS first FROM next
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
      -- The owner of the workspace owned its conversation, where the old table says who that is.
      IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'workspaces'::regclass
                 AND attname = 'user_id' AND atttypid = 'uuid'::regtype AND NOT attisdropped) THEN
        EXECUTE 'SELECT user_id FROM workspaces WHERE id = $1' INTO owner USING place.workspace_id;
      END IF;
      INSERT INTO chat_sessions
        (id, workspace_id, user_id, title, status, created_at, last_message_at, closed_at, waiting_since,
         last_seq, message_count, channel, last_message_preview, last_message_role)
      SELECT place.session_id, place.workspace_id, owner, 'Legacy Chat', 'closed', place.first_at,
        place.last_at, place.last_at, NULL, place.messages, place.messages, 'legacy', left(content, 120), role
      FROM chats WHERE id = place.last_id
      ON CONFLICT (id) DO UPDATE SET last_seq = excluded.last_seq, message_count = excluded.message_count,
        last_message_at = excluded.last_message_at, last_message_preview = excluded.last_message_preview,
        last_message_role = excluded.last_message_role;
      RAISE NOTICE 'Created legacy session % for workspace % (% messages)',
        place.session_id, place.workspace_id, place.messages;
    END IF;
    IF moved > 0 THEN RETURN moved; END IF;
  END LOOP;
END
$f$;

-- step: what finds the rows that are still to be moved

CREATE INDEX IF NOT EXISTS chirrup_legacy_rows ON chats (workspace_id, created_at, id) WHERE session_id IS NULL;

INSERT INTO chirrup_legacy_sessions (workspace_id)
SELECT DISTINCT workspace_id FROM chats WHERE session_id IS NULL ON CONFLICT DO NOTHING;

-- batches: messages into their legacy sessions

SELECT count(*) FROM chats WHERE session_id IS NULL;

SELECT chirrup_move_legacy(5000);

-- step: rows that the old application wrote meanwhile, and those it will write

LOCK TABLE chats IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO chirrup_legacy_sessions AS l (workspace_id)
SELECT DISTINCT workspace_id FROM chats WHERE session_id IS NULL
ON CONFLICT (workspace_id) DO UPDATE SET is_done = false, last_at = NULL, last_id = NULL;

DO $$
BEGIN
  WHILE chirrup_move_legacy(5000) > 0 LOOP END LOOP;
END
$$;

-- A row without a session comes from an application that knows none: it goes to the end of the legacy session.
CREATE OR REPLACE FUNCTION chirrup_number_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(NEW.workspace_id::text, 0));
  SELECT id INTO NEW.session_id FROM chat_sessions
  WHERE workspace_id = NEW.workspace_id AND channel = 'legacy' AND deleted_at IS NULL
  ORDER BY created_at, id LIMIT 1;
  IF NOT FOUND THEN
    NEW.session_id := gen_random_uuid();
    INSERT INTO chat_sessions (id, workspace_id, title, status, closed_at, waiting_since, channel)
    VALUES (NEW.session_id, NEW.workspace_id, 'Legacy Chat', 'closed', now(), NULL, 'legacy');
  END IF;
  UPDATE chat_sessions SET last_seq = last_seq + 1, message_count = message_count + 1,
    last_message_at = NEW.created_at, last_message_preview = left(NEW.content, 120),
    last_message_role = NEW.role
  WHERE id = NEW.session_id RETURNING last_seq INTO NEW.seq;
  NEW.content_hash := sha256(convert_to(
    NEW.kind || E'\n' || coalesce(NEW.payload::text, '') || E'\n' || NEW.content, 'UTF8'));
  RETURN NEW;
END
$f$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN
    CREATE OR REPLACE TRIGGER chats_number_message BEFORE INSERT ON chats
      FOR EACH ROW WHEN (NEW.session_id IS NULL) EXECUTE FUNCTION chirrup_number_message();
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
ALTER TABLE chats VALIDATE CONSTRAINT chats_role_check;
CREATE UNIQUE INDEX IF NOT EXISTS idx_chats_session_id ON chats (session_id, seq);
CREATE INDEX IF NOT EXISTS idx_chats_session_created ON chats (session_id, created_at);

-- step: what has been checked becomes the rule

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
DROP INDEX IF EXISTS chirrup_legacy_rows;
DROP FUNCTION chirrup_move_legacy(bigint);
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

-- down

DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN
    -- What the old application would show to the wrong people, or would not understand.
    DELETE FROM chats WHERE kind IN ('note', 'event');
    UPDATE chats SET role = CASE role WHEN 'visitor' THEN 'user' ELSE 'assistant' END
    WHERE role IN ('visitor', 'operator', 'bot');
  END IF;
END
$$;
SELECT chirrup_release('chats');
DROP FUNCTION IF EXISTS chirrup_number_message();
DROP FUNCTION IF EXISTS chirrup_move_legacy(bigint);
DROP TABLE IF EXISTS chirrup_legacy_sessions;
