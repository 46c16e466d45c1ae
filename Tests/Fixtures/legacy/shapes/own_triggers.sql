-- The application's triggers touch and audit every change, its update_updated_at() sets other columns, and a column
-- of the model demands a value.
-- old: INSERT INTO chats (workspace_id, role, content, model) SELECT id, 'user', 'Hi', 'm1' FROM workspaces WHERE name = 'Busy'
-- old: UPDATE chats SET content = 'edited' WHERE content = 'Hi'
-- old: SELECT 1 / count(*) FROM chat_audit WHERE operation = 'UPDATE'
ALTER TABLE chats ADD COLUMN model text NOT NULL DEFAULT 'm0', ADD COLUMN revision integer NOT NULL DEFAULT 1,
  ADD COLUMN modified_on timestamptz NOT NULL DEFAULT '2025-01-01';
ALTER TABLE chats ALTER COLUMN model DROP DEFAULT;
CREATE TABLE chat_audit (chat_id uuid, operation text, at timestamptz DEFAULT now());
CREATE FUNCTION update_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.modified_on := now();
  NEW.revision := OLD.revision + 1;
  RETURN NEW;
END
$$;
CREATE FUNCTION audit_chat() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chat_audit (chat_id, operation) VALUES (coalesce(NEW.id, OLD.id), TG_OP);
  RETURN NULL;
END
$$;
CREATE TRIGGER chats_touch BEFORE UPDATE ON chats FOR EACH ROW EXECUTE FUNCTION update_updated_at();
CREATE TRIGGER chats_audit AFTER INSERT OR UPDATE OR DELETE ON chats FOR EACH ROW EXECUTE FUNCTION audit_chat();
ALTER TABLE chats ENABLE ALWAYS TRIGGER chats_audit;
ALTER TABLE chats RENAME CONSTRAINT chats_pkey TO pk_chats;
ALTER TABLE workspaces RENAME CONSTRAINT workspaces_pkey TO pk_workspaces;
