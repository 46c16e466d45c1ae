-- Storage parameters of the owner's, in an order of their own.
-- old: SELECT count(*) FROM chats WHERE workspace_id IS NOT NULL
ALTER TABLE chats SET (fillfactor = 50, autovacuum_enabled = off, autovacuum_analyze_threshold = 77);
ALTER TABLE workspaces SET (fillfactor = 90, autovacuum_enabled = on);
