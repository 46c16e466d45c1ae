-- Statements that insert nothing after all, move messages, and empty the table.
-- old: INSERT INTO chats (id, workspace_id, role, content) SELECT id, workspace_id, role, content FROM chats WHERE role = 'system' ON CONFLICT (id) DO UPDATE SET content = EXCLUDED.content
-- old: INSERT INTO chats (workspace_id, role, content, external_id) SELECT id, 'user', 'Hi', 'x1' FROM workspaces WHERE name = 'Busy' ON CONFLICT DO NOTHING
-- old: UPDATE chats SET workspace_id = '10000000-0000-4000-8000-000000000002' WHERE workspace_id = '10000000-0000-4000-8000-000000000004'
-- old: TRUNCATE chats
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'First' FROM workspaces WHERE name = 'Busy'
-- old: DELETE FROM workspaces WHERE name = 'Busy'
ALTER TABLE chats ADD COLUMN external_id text UNIQUE;
UPDATE chats SET external_id = 'x1' WHERE role = 'system';
