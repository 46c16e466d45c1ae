-- Sessions: one row for each conversation, with all its state that is not in its log.
-- parent: 20260119_create_tenants
-- was: fb9337ba75076084 5b257534da9951aa
-- loses: all session data: titles, status, assignments and soft deletions

SELECT chirrup_adopt('chat_sessions');

CREATE TABLE IF NOT EXISTS chat_sessions (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE
);

SELECT chirrup_relax('chat_sessions', 'id', 'workspace_id');

ALTER TABLE chat_sessions
  ADD COLUMN IF NOT EXISTS user_id uuid,
  ADD COLUMN IF NOT EXISTS title text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS created_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS updated_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS deleted_at timestamptz,
  ADD COLUMN IF NOT EXISTS status text NOT NULL DEFAULT 'waiting'
    CONSTRAINT chat_sessions_status_check CHECK (status IN ('waiting', 'active', 'closed')),
  ADD COLUMN IF NOT EXISTS assigned_operator_id uuid REFERENCES operators (id) ON DELETE SET NULL,
  ADD COLUMN IF NOT EXISTS operator_name text,
  ADD COLUMN IF NOT EXISTS last_seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS epoch text NOT NULL DEFAULT '1',
  ADD COLUMN IF NOT EXISTS last_message_at timestamptz,
  ADD COLUMN IF NOT EXISTS last_message_preview text,
  ADD COLUMN IF NOT EXISTS last_message_role text,
  ADD COLUMN IF NOT EXISTS message_count bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS waiting_since timestamptz DEFAULT now(),
  ADD COLUMN IF NOT EXISTS claimed_at timestamptz,
  ADD COLUMN IF NOT EXISTS first_response_at timestamptz,
  ADD COLUMN IF NOT EXISTS closed_at timestamptz,
  ADD COLUMN IF NOT EXISTS closed_by uuid,
  ADD COLUMN IF NOT EXISTS transfer_count integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS channel text NOT NULL DEFAULT 'web',
  ADD COLUMN IF NOT EXISTS context jsonb NOT NULL DEFAULT '{}';

-- Every batch updates its sessions' rows. Free space in each page, and no index on a column that a batch changes,
-- keep these updates HOT: no index is written.
ALTER TABLE chat_sessions SET (fillfactor = 70);

COMMENT ON TABLE chat_sessions IS
  'A conversation. Its row lock is what orders the messages of its log (chats).';
COMMENT ON COLUMN chat_sessions.user_id IS 'The visitor, or the host application''s user, who owns it.';
COMMENT ON COLUMN chat_sessions.deleted_at IS 'Soft delete: set means gone for everybody.';
COMMENT ON COLUMN chat_sessions.operator_name IS 'Name of the assigned operator, as shown.';
COMMENT ON COLUMN chat_sessions.last_seq IS 'The highest seq of the log; the next message gets one more.';
COMMENT ON COLUMN chat_sessions.epoch IS 'Changes only if the log may have gone back (restore, fail-over).';
COMMENT ON COLUMN chat_sessions.last_message_at IS 'Of the last text or card; notes and events do not count.';
COMMENT ON COLUMN chat_sessions.message_count IS 'Texts and cards; notes and events do not count.';
COMMENT ON COLUMN chat_sessions.waiting_since IS 'Since when nobody has claimed it; NULL when somebody has.';
COMMENT ON COLUMN chat_sessions.closed_by IS 'The operator who closed it; NULL: the visitor or a rule.';
COMMENT ON COLUMN chat_sessions.context IS 'Where it began: page, referrer, locale, user agent.';

SELECT chirrup_yield('chat_sessions', 'idx_chat_sessions_user_id', '% (user_id)'),
  chirrup_yield('chat_sessions', 'idx_chat_sessions_created_at', '% (created_at)'),
  chirrup_yield('chat_sessions', 'idx_chat_sessions_active', '% (workspace_id, status) WHERE (deleted_at IS NULL)');
CREATE INDEX IF NOT EXISTS idx_chat_sessions_workspace_id ON chat_sessions (workspace_id);
CREATE INDEX IF NOT EXISTS idx_chat_sessions_user_id ON chat_sessions (user_id);
CREATE INDEX IF NOT EXISTS idx_chat_sessions_created_at ON chat_sessions (created_at);
CREATE INDEX IF NOT EXISTS idx_chat_sessions_active ON chat_sessions (workspace_id, status)
  WHERE deleted_at IS NULL;

-- Not called when the statement sets it: the batch writer does.
SELECT chirrup_touch('chat_sessions', 'WHEN (NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at)');

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

SELECT chirrup_release('chat_sessions');
