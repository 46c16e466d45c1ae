-- Every key of a session's data begins with its workspace, so that the data can be spread over partitions or machines.
-- parent: 20260122_create_tokens
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE
-- was: 300f8f5a5b2bd905
-- loses: nothing
--
-- `idx_chat_sessions_workspace_id` becomes unique over (workspace_id, id): no index more, and messages and marks
-- can refer to both columns, so a message in a session of another workspace is refused by PostgreSQL itself.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_index
      WHERE indexrelid = to_regclass('idx_chat_sessions_workspace_id') AND indisunique) THEN
    CREATE UNIQUE INDEX chat_sessions_workspace_and_id ON chat_sessions (workspace_id, id);
    DROP INDEX IF EXISTS idx_chat_sessions_workspace_id;
    ALTER INDEX chat_sessions_workspace_and_id RENAME TO idx_chat_sessions_workspace_id;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'chats'::regclass
      AND conname = 'chats_session_id_fkey' AND cardinality(conkey) = 2) THEN
    ALTER TABLE chats DROP CONSTRAINT IF EXISTS chats_session_id_fkey;
    ALTER TABLE chats ADD CONSTRAINT chats_session_id_fkey FOREIGN KEY (workspace_id, session_id)
      REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE NOT VALID;
  END IF;
END
$$;

ALTER TABLE read_marks ADD COLUMN IF NOT EXISTS workspace_id uuid;

-- step: the messages are checked while they are read

ALTER TABLE chats VALIDATE CONSTRAINT chats_session_id_fkey;

-- batches: marks get their workspace

SELECT count(*) FROM read_marks WHERE workspace_id IS NULL;

WITH next AS (
  SELECT m.session_id, m.person_id, s.workspace_id
  FROM read_marks m JOIN chat_sessions s ON s.id = m.session_id
  WHERE m.workspace_id IS NULL LIMIT 10000
), moved AS (
  UPDATE read_marks m SET workspace_id = n.workspace_id FROM next n
  WHERE m.session_id = n.session_id AND m.person_id = n.person_id RETURNING 1
)
SELECT count(*) FROM moved;

-- step: their keys

LOCK TABLE read_marks IN SHARE ROW EXCLUSIVE MODE;
UPDATE read_marks m SET workspace_id = s.workspace_id FROM chat_sessions s
WHERE s.id = m.session_id AND m.workspace_id IS NULL;
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint
      WHERE conrelid = 'read_marks'::regclass AND contype = 'p' AND cardinality(conkey) = 3) THEN
    ALTER TABLE read_marks DROP CONSTRAINT read_marks_pkey;
    ALTER TABLE read_marks ADD PRIMARY KEY (workspace_id, session_id, person_id);
    ALTER TABLE read_marks DROP CONSTRAINT IF EXISTS read_marks_session_id_fkey;
    ALTER TABLE read_marks ADD CONSTRAINT read_marks_session_id_fkey
      FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE;
  END IF;
END
$$;
COMMENT ON COLUMN read_marks.workspace_id IS 'Of the session: the key by which data are spread.';
COMMENT ON COLUMN chats.workspace_id IS 'Of the session: the key by which data are spread.';

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

-- Every statement also reverts a migration that was interrupted between its steps.
ALTER TABLE read_marks
  DROP CONSTRAINT IF EXISTS read_marks_session_id_fkey,
  DROP CONSTRAINT IF EXISTS read_marks_pkey,
  DROP COLUMN IF EXISTS workspace_id;
ALTER TABLE read_marks ADD PRIMARY KEY (session_id, person_id);
ALTER TABLE read_marks ADD CONSTRAINT read_marks_session_id_fkey
  FOREIGN KEY (session_id) REFERENCES chat_sessions (id) ON DELETE CASCADE;
ALTER TABLE chats DROP CONSTRAINT IF EXISTS chats_session_id_fkey;
DROP INDEX IF EXISTS idx_chat_sessions_workspace_id;
CREATE INDEX idx_chat_sessions_workspace_id ON chat_sessions (workspace_id);
ALTER TABLE chats ADD CONSTRAINT chats_session_id_fkey
  FOREIGN KEY (session_id) REFERENCES chat_sessions (id) ON DELETE CASCADE;
COMMENT ON COLUMN chats.workspace_id IS NULL;
