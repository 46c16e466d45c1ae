-- Messages without content (calls of tools).
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'assistant', NULL FROM workspaces WHERE name = 'Busy'
ALTER TABLE chats ALTER COLUMN content DROP NOT NULL;
UPDATE chats SET content = NULL WHERE id IN (SELECT id FROM chats ORDER BY created_at DESC LIMIT 60);
