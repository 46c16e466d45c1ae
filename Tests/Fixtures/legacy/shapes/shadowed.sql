-- expect: public.chats
-- Workspaces in a schema that search_path names first, messages in the next one.
CREATE SCHEMA core;
ALTER TABLE chats DROP CONSTRAINT chats_workspace_id_fkey;
ALTER TABLE workspaces SET SCHEMA core;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = core, public', current_database()); END $$;
