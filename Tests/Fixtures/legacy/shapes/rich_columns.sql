-- A column "order", an identity, computed columns, camelCase, citext, an exclusion constraint, comments, statistics, storage.
-- old: INSERT INTO chats (workspace_id, role, content, "order") SELECT id, 'user', 'Hi', 1 FROM workspaces WHERE name = 'Busy'
-- old: SELECT * FROM recent_chats
-- old: SELECT * FROM chats_by_role
CREATE EXTENSION citext;
CREATE EXTENSION pg_trgm;
ALTER TABLE chats ADD COLUMN "order" integer, ADD COLUMN "number" bigint GENERATED ALWAYS AS IDENTITY,
  ADD COLUMN "isRead" boolean NOT NULL DEFAULT false, ADD COLUMN label citext,
  ADD COLUMN words tsvector GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED;
UPDATE chats SET "order" = 1;
ALTER TABLE chats ALTER COLUMN "order" SET NOT NULL, ALTER COLUMN content SET STORAGE EXTERNAL, ALTER COLUMN role SET STATISTICS 200;
ALTER TABLE chats ADD CONSTRAINT one_number EXCLUDE USING btree ("number" WITH =);
CREATE INDEX "chats_Words" ON chats USING gin (words);
CREATE INDEX chats_content_trgm ON chats USING gin (content gin_trgm_ops);
CREATE STATISTICS chats_roles ON role, workspace_id FROM chats;
CREATE VIEW recent_chats AS SELECT * FROM chats ORDER BY created_at DESC LIMIT 10;
CREATE VIEW chats_by_role AS SELECT id, role, content FROM chats GROUP BY id;
CREATE MATERIALIZED VIEW chat_counts AS SELECT workspace_id, count(*) AS n FROM chats GROUP BY 1;
CREATE TABLE attachments (id bigserial PRIMARY KEY, chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE);
INSERT INTO attachments (chat_id, workspace_id) SELECT id, workspace_id FROM chats LIMIT 9;
COMMENT ON TABLE chats IS 'Messages';
COMMENT ON COLUMN chats.role IS 'Who';
COMMENT ON CONSTRAINT one_number ON chats IS 'Numbers';
COMMENT ON INDEX "chats_Words" IS 'Search';
COMMENT ON VIEW recent_chats IS 'Ten';
ALTER TABLE chats CLUSTER ON idx_chats_workspace;
ALTER TABLE chats SET (autovacuum_enabled = false, toast.autovacuum_enabled = false);
