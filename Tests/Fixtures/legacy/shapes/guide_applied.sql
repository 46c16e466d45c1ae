-- The workspace chat after the usual guide to sessions was followed by hand: chat_sessions, session_id NOT NULL, six
-- indexes, one “Legacy Chat” for each workspace, four policies for each table.
-- old: INSERT INTO chats (workspace_id, session_id, user_id, role, content) SELECT workspace_id, id, user_id, 'user', 'Next' FROM chat_sessions WHERE workspace_id = '10000000-0000-4000-8000-000000000001' LIMIT 1
-- old: WITH s AS (INSERT INTO chat_sessions (workspace_id, user_id, title) SELECT id, user_id, 'New Chat' FROM workspaces WHERE name = 'Never used' RETURNING id, workspace_id) INSERT INTO chats (workspace_id, session_id, role, content) SELECT workspace_id, gen_random_uuid(), 'user', 'x' FROM s WHERE false
-- old: INSERT INTO chat_sessions (id, workspace_id, user_id, title) SELECT '50000000-0000-4000-8000-000000000001', id, user_id, 'New Chat' FROM workspaces WHERE name = 'Never used'
-- old: INSERT INTO chats (workspace_id, session_id, role, content) SELECT workspace_id, id, 'assistant', 'Hello' FROM chat_sessions WHERE title = 'New Chat'
-- old: UPDATE chat_sessions SET title = 'Renamed', updated_at = now() WHERE title = 'New Chat'
-- old: UPDATE chat_sessions SET deleted_at = now() WHERE title = 'Renamed'
-- old: SELECT s.id, s.title, count(c.id) FROM chat_sessions s LEFT JOIN chats c ON c.session_id = s.id WHERE s.deleted_at IS NULL GROUP BY s.id
CREATE FUNCTION update_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at = NOW();
    RETURN NEW;
END;
$$;
CREATE TABLE chat_sessions (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  user_id uuid NOT NULL,
  title text NOT NULL DEFAULT 'New Chat',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
ALTER TABLE chats ADD COLUMN session_id uuid REFERENCES chat_sessions (id) ON DELETE CASCADE;
CREATE INDEX idx_chat_sessions_workspace_id ON chat_sessions (workspace_id);
CREATE INDEX idx_chat_sessions_user_id ON chat_sessions (user_id);
CREATE INDEX idx_chat_sessions_created_at ON chat_sessions (created_at DESC);
CREATE INDEX idx_chat_sessions_active ON chat_sessions (workspace_id, created_at DESC) WHERE deleted_at IS NULL;
CREATE INDEX idx_chats_session_id ON chats (session_id);
CREATE INDEX idx_chats_session_created ON chats (session_id, created_at);
INSERT INTO chat_sessions (workspace_id, user_id, title, created_at, updated_at)
SELECT w.id, w.user_id, 'Legacy Chat', min(c.created_at), max(c.created_at)
FROM workspaces w JOIN chats c ON c.workspace_id = w.id GROUP BY w.id;
UPDATE chats c SET session_id = s.id FROM chat_sessions s WHERE s.workspace_id = c.workspace_id;
ALTER TABLE chats ALTER COLUMN session_id SET NOT NULL;
CREATE TRIGGER chat_sessions_updated_at BEFORE UPDATE ON chat_sessions
  FOR EACH ROW EXECUTE FUNCTION update_updated_at();
ALTER TABLE chat_sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY chat_sessions_select ON chat_sessions FOR SELECT USING (user_id = auth.uid() AND deleted_at IS NULL);
CREATE POLICY chat_sessions_insert ON chat_sessions FOR INSERT WITH CHECK (user_id = auth.uid());
CREATE POLICY chat_sessions_update ON chat_sessions FOR UPDATE USING (user_id = auth.uid());
CREATE POLICY chat_sessions_delete ON chat_sessions FOR DELETE USING (user_id = auth.uid());
CREATE POLICY chats_select ON chats FOR SELECT
  USING (session_id IN (SELECT id FROM chat_sessions WHERE user_id = auth.uid()));
