-- The same guide, stopped in the middle: the sessions are there, one of them is empty, and some messages have none.
-- old: INSERT INTO chats (workspace_id, user_id, role, content) SELECT id, user_id, 'user', 'Next' FROM workspaces WHERE name = 'Busy'
-- old: INSERT INTO chats (workspace_id, session_id, role, content) SELECT workspace_id, id, 'user', 'Linked' FROM chat_sessions
CREATE TABLE chat_sessions (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  user_id uuid NOT NULL,
  title text DEFAULT 'New Chat',
  created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(),
  deleted_at timestamptz
);
ALTER TABLE chats ADD COLUMN session_id uuid REFERENCES chat_sessions (id) ON DELETE CASCADE;
CREATE INDEX idx_chats_session_id ON chats (session_id);
INSERT INTO chat_sessions (workspace_id, user_id, title, created_at, updated_at)
SELECT w.id, w.user_id, 'Legacy Chat', min(c.created_at), max(c.created_at)
FROM workspaces w JOIN chats c ON c.workspace_id = w.id GROUP BY w.id;
UPDATE chats c SET session_id = s.id FROM chat_sessions s
WHERE s.workspace_id = c.workspace_id AND c.workspace_id = '10000000-0000-4000-8000-000000000001'
  AND c.user_id IS NOT NULL;
