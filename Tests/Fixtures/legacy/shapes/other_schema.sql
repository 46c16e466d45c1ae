-- expect: search_path
-- The application's tables stand in a schema that search_path does not name.
CREATE SCHEMA app;
ALTER TABLE workspaces SET SCHEMA app;
ALTER TABLE chats SET SCHEMA app;
