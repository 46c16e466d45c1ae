-- expect: chats is a foreign table
-- Messages on another server.
CREATE EXTENSION postgres_fdw;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'elsewhere.example.org');
DROP TABLE chats;
CREATE FOREIGN TABLE chats (id uuid NOT NULL, workspace_id uuid NOT NULL, role text, content text, created_at timestamptz)
  SERVER elsewhere;
