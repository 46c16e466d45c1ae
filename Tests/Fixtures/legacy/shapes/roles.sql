-- Roles that Chirrup does not know, and no check.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'tool', '{}' FROM workspaces WHERE name = 'Busy'
ALTER TABLE chats DROP CONSTRAINT chats_role_check;
UPDATE chats SET role = 'tool' WHERE id IN (SELECT id FROM chats ORDER BY created_at LIMIT 5);
UPDATE chats SET role = 'ai' WHERE role = 'assistant';
UPDATE chats SET role = 'bot' WHERE role = 'system';
