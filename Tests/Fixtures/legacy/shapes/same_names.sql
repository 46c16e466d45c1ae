-- Policies and triggers of the owner's that have our names: a restrictive policy and a content filter.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'a secret' FROM workspaces WHERE name = 'Busy'
-- old: SELECT 1 / count(*) FROM chats WHERE content = 'a ******'
-- old: UPDATE workspaces SET name = 'Busier' WHERE name = 'Busy'
-- old: SELECT 1 / count(*) FROM workspaces WHERE name = 'Busier (renamed)'
CREATE POLICY chats_delete ON chats AS RESTRICTIVE FOR DELETE USING (role <> 'system');
CREATE POLICY chats_select ON chats FOR SELECT USING (role = 'system');
CREATE FUNCTION mark_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.name <> OLD.name THEN NEW.name := NEW.name || ' (renamed)'; END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER workspaces_updated_at BEFORE UPDATE ON workspaces FOR EACH ROW EXECUTE FUNCTION mark_renamed();
CREATE FUNCTION filter_content() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.content := replace(NEW.content, 'secret', '******');
  RETURN NEW;
END
$$;
CREATE TRIGGER chats_filter BEFORE INSERT ON chats FOR EACH ROW EXECUTE FUNCTION filter_content();
