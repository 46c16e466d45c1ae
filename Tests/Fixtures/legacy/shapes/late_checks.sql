-- Constraint triggers that are checked at the end of the transaction, and an exclusion constraint over messages.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'Hi' FROM workspaces WHERE name = 'Busy'
-- old: SET CONSTRAINTS ALL IMMEDIATE
CREATE FUNCTION expect_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM workspaces WHERE id = NEW.workspace_id;
  IF NOT FOUND THEN RAISE EXCEPTION 'no workspace'; END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER expect_workspace AFTER INSERT OR UPDATE ON chats DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION expect_workspace();
ALTER TABLE chats ADD CONSTRAINT one_id EXCLUDE USING hash (id WITH =) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE workspaces ADD CONSTRAINT one_name UNIQUE (name) DEFERRABLE INITIALLY DEFERRED;
