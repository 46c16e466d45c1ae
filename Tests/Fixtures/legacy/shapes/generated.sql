-- expect: chats.content
-- A column that PostgreSQL computes.
ALTER TABLE chats DROP COLUMN content;
ALTER TABLE chats ADD COLUMN parts text[] NOT NULL DEFAULT '{}',
  ADD COLUMN content text GENERATED ALWAYS AS (role || ': ') STORED NOT NULL;
