-- The guide's column with foreign keys that are checked at the end of the transaction, as Django makes them.
-- old: INSERT INTO chats (workspace_id, user_id, role, content) SELECT id, user_id, 'user', 'Next' FROM workspaces WHERE name = 'Busy'
CREATE TABLE chat_sessions (
  id uuid PRIMARY KEY, workspace_id uuid NOT NULL REFERENCES workspaces (id) DEFERRABLE INITIALLY DEFERRED,
  title text NOT NULL DEFAULT 'Chat', created_at timestamptz NOT NULL DEFAULT now());
ALTER TABLE chats ADD COLUMN session_id uuid REFERENCES chat_sessions (id) DEFERRABLE INITIALLY DEFERRED;
INSERT INTO chat_sessions (id, workspace_id) SELECT gen_random_uuid(), id FROM workspaces;
UPDATE chats c SET session_id = s.id FROM chat_sessions s WHERE s.workspace_id = c.workspace_id AND c.user_id IS NOT NULL;
