-- The log: every message belongs to a session and has a number in it.
-- parent: 20260120_create_chat_sessions
-- loses: the sessions of messages and their numbers, and every message unless the table was there before Chirrup
--
-- In an older application all messages of a workspace were one conversation. They keep it: one session titled
-- “Legacy Chat” for each workspace that has messages, numbered by created_at and id.

DO $$
BEGIN
  IF to_regclass('chats') IS NULL THEN
    -- Without a foreign key to workspaces: it would lock the workspace's row once for each message, for every
    -- writer of the tenant, and the session's row already leads there.
    CREATE TABLE chats (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      workspace_id uuid NOT NULL,
      role text NOT NULL,
      content text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    COMMENT ON TABLE chats IS 'The logs of all sessions: append-only, numbered without holes within each.';
  ELSIF obj_description('chats'::regclass) IS NULL THEN
    COMMENT ON TABLE chats IS 'Adopted by Chirrup: the logs of all sessions.';
  END IF;
END
$$;

ALTER TABLE chats
  ADD COLUMN IF NOT EXISTS session_id uuid,
  ADD COLUMN IF NOT EXISTS seq bigint,
  ADD COLUMN IF NOT EXISTS kind text NOT NULL DEFAULT 'text',
  ADD COLUMN IF NOT EXISTS payload jsonb,
  ADD COLUMN IF NOT EXISTS user_id uuid,
  ADD COLUMN IF NOT EXISTS operator_id uuid,
  ADD COLUMN IF NOT EXISTS operator_name text,
  ADD COLUMN IF NOT EXISTS content_hash bytea;

ALTER TABLE chats DROP CONSTRAINT IF EXISTS chats_role_check;
ALTER TABLE chats ADD CONSTRAINT chats_role_check
  CHECK (role IN ('visitor', 'operator', 'bot', 'system', 'user', 'assistant'));

DO $$
DECLARE
  legacy record;
  session uuid;
BEGIN
  FOR legacy IN
    SELECT workspace_id, count(*) AS messages, min(created_at) AS first, max(created_at) AS last
    FROM chats WHERE session_id IS NULL GROUP BY workspace_id ORDER BY workspace_id
  LOOP
    INSERT INTO chat_sessions
      (workspace_id, title, status, created_at, last_message_at, closed_at, waiting_since,
       last_seq, message_count, channel)
    VALUES (legacy.workspace_id, 'Legacy Chat', 'closed', legacy.first, legacy.last, legacy.last, NULL,
            legacy.messages, legacy.messages, 'legacy')
    RETURNING id INTO session;
    -- The owner of the workspace owned its conversation, where the old table says who that is.
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'workspaces'::regclass
               AND attname = 'user_id' AND atttypid = 'uuid'::regtype AND NOT attisdropped) THEN
      EXECUTE 'UPDATE chat_sessions SET user_id = w.user_id FROM workspaces w
               WHERE w.id = $1 AND chat_sessions.id = $2' USING legacy.workspace_id, session;
    END IF;
    UPDATE chats SET session_id = session, seq = numbered.seq,
      content_hash = sha256(convert_to(
        kind || E'\n' || coalesce(payload::text, '') || E'\n' || content, 'UTF8'))
    FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS seq
          FROM chats WHERE workspace_id = legacy.workspace_id AND session_id IS NULL) AS numbered
    WHERE chats.id = numbered.id;
    UPDATE chat_sessions SET last_message_preview = left(last.content, 120), last_message_role = last.role
    FROM (SELECT content, role FROM chats WHERE session_id = session ORDER BY seq DESC LIMIT 1) AS last
    WHERE id = session;
    RAISE NOTICE 'Created legacy session % for workspace % (% messages)',
      session, legacy.workspace_id, legacy.messages;
  END LOOP;
END
$$;

ALTER TABLE chats
  ALTER COLUMN session_id SET NOT NULL,
  ALTER COLUMN seq SET NOT NULL,
  ALTER COLUMN content_hash SET NOT NULL;

ALTER TABLE chats DROP CONSTRAINT IF EXISTS chats_session_id_fkey;
ALTER TABLE chats ADD CONSTRAINT chats_session_id_fkey
  FOREIGN KEY (session_id) REFERENCES chat_sessions (id) ON DELETE CASCADE;

CREATE UNIQUE INDEX IF NOT EXISTS idx_chats_session_id ON chats (session_id, seq);
CREATE INDEX IF NOT EXISTS idx_chats_session_created ON chats (session_id, created_at);

COMMENT ON COLUMN chats.id IS 'Made by the client before its first attempt: the key that recognises a message sent twice.';
COMMENT ON COLUMN chats.seq IS '1, 2, 3, … within the session; given under the lock of the session''s row.';
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
  IF obj_description('chats'::regclass) IS DISTINCT FROM 'Adopted by Chirrup: the logs of all sessions.' THEN
    DROP TABLE chats;
  ELSE
    DROP INDEX IF EXISTS idx_chats_session_id, idx_chats_session_created;
    ALTER TABLE chats
      DROP CONSTRAINT IF EXISTS chats_session_id_fkey,
      DROP COLUMN IF EXISTS session_id, DROP COLUMN IF EXISTS seq, DROP COLUMN IF EXISTS kind,
      DROP COLUMN IF EXISTS payload, DROP COLUMN IF EXISTS operator_id,
      DROP COLUMN IF EXISTS operator_name, DROP COLUMN IF EXISTS content_hash;
    COMMENT ON TABLE chats IS NULL;
  END IF;
END
$$;
