-- expect: chats.workspace_id
-- Messages of no workspace.
ALTER TABLE chats ALTER COLUMN workspace_id DROP NOT NULL;
UPDATE chats SET workspace_id = NULL WHERE role = 'system';
