-- expect: chats.workspace_id
-- Messages of workspaces that are gone.
ALTER TABLE chats DROP CONSTRAINT chats_workspace_id_fkey;
UPDATE chats SET workspace_id = '90000000-0000-4000-8000-000000000001' WHERE role = 'system';
