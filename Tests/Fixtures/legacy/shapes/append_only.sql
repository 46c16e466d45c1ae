-- Messages that a trigger keeps from every change.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'Hi' FROM workspaces WHERE name = 'Busy'
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'messages are never changed';
END
$$;
CREATE TRIGGER chats_append_only BEFORE UPDATE OR DELETE ON chats FOR EACH ROW EXECUTE FUNCTION refuse_change();
