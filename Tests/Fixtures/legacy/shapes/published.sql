-- A publication of all tables, and one of the messages: every changed table needs a replica identity.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'Hi' FROM workspaces WHERE name = 'Busy'
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE PUBLICATION messages FOR TABLE chats;
ALTER TABLE chats REPLICA IDENTITY FULL;
