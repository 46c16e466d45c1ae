-- An event trigger tells listeners of changed definitions, as PostgREST's does.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'Hi' FROM workspaces WHERE name = 'Busy'
CREATE FUNCTION tell_change() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('pgrst', 'reload schema');
END
$$;
CREATE EVENT TRIGGER pgrst_ddl_watch ON ddl_command_end EXECUTE FUNCTION tell_change();
