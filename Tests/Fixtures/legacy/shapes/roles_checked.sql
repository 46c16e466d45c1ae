-- Roles of the owner's own under a check, with a comment.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'tool', '{}' FROM workspaces WHERE name = 'Busy'
ALTER TABLE chats DROP CONSTRAINT chats_role_check;
ALTER TABLE chats ADD CONSTRAINT known_roles CHECK (role IN ('user', 'assistant', 'system', 'tool'));
COMMENT ON CONSTRAINT known_roles ON chats IS 'Roles of the model.';
UPDATE chats SET role = 'tool' WHERE id IN (SELECT id FROM chats ORDER BY created_at LIMIT 5);
