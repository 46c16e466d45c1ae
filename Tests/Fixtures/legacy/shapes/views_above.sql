-- Views that the application writes through: one with INSTEAD OF triggers, one with a check, one with a rule.
-- old: INSERT INTO app_messages (workspace, text) SELECT id::text, 'Hi' FROM workspaces WHERE name = 'Busy'
-- old: UPDATE app_messages SET text = 'Hello' WHERE text = 'Hi'
-- old: SELECT 1 / count(*) FROM app_messages WHERE text = 'Hello'
-- old: DELETE FROM app_messages WHERE text = 'Hello'
-- old: INSERT INTO user_chats (workspace_id, role, content) SELECT id, 'user', 'Hi' FROM workspaces WHERE name = 'Busy'
-- old: INSERT INTO ruled_chats (workspace_id, content) SELECT id, 'ruled' FROM workspaces WHERE name = 'Busy'
-- old: SELECT 1 / count(*) FROM chats WHERE content = 'ruled' AND seq > 0
CREATE VIEW app_messages AS SELECT id, workspace_id::text AS workspace, content AS text FROM chats;
CREATE FUNCTION write_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE TG_OP
  WHEN 'INSERT' THEN INSERT INTO chats (workspace_id, role, content) VALUES (NEW.workspace::uuid, 'user', NEW.text);
  WHEN 'UPDATE' THEN UPDATE chats SET content = NEW.text WHERE id = OLD.id;
  ELSE DELETE FROM chats WHERE id = OLD.id;
    RETURN OLD;
  END CASE;
  RETURN NEW;
END
$$;
CREATE TRIGGER write_message INSTEAD OF INSERT OR UPDATE OR DELETE ON app_messages
  FOR EACH ROW EXECUTE FUNCTION write_message();
CREATE VIEW user_chats AS SELECT * FROM chats WHERE role = 'user' WITH CASCADED CHECK OPTION;
CREATE VIEW ruled_chats AS SELECT workspace_id, content FROM chats;
CREATE RULE insert_ruled AS ON INSERT TO ruled_chats DO INSTEAD
  INSERT INTO chats (workspace_id, role, content) VALUES (NEW.workspace_id, 'assistant', NEW.content);
