-- expect: chats is a partitioned table
-- Messages in partitions of a month.
DROP TABLE chats;
CREATE TABLE chats (
  id uuid NOT NULL DEFAULT gen_random_uuid(), workspace_id uuid NOT NULL, role text NOT NULL, content text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);
CREATE TABLE chats_all PARTITION OF chats DEFAULT;
INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', name FROM workspaces;
