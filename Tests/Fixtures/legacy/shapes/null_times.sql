-- Messages without a time, in one workspace all of them.
-- old: INSERT INTO chats (workspace_id, role, content, created_at) SELECT id, 'user', 'Now', now() FROM workspaces
-- old: SELECT 1 / count(*) FROM chats WHERE created_at IS NULL
ALTER TABLE chats ALTER COLUMN created_at DROP NOT NULL, ALTER COLUMN created_at DROP DEFAULT;
UPDATE chats SET created_at = NULL WHERE role = 'system';
UPDATE chats SET created_at = NULL WHERE workspace_id = '10000000-0000-4000-8000-000000000004';
