-- The application logs in as a role with privileges on columns, bound by policies of functions that only it may call.
-- old: SET LOCAL ROLE shapes_app
-- old: SET LOCAL app.workspace = '10000000-0000-4000-8000-000000000001'
-- old: INSERT INTO chats (workspace_id, role, content) VALUES ('10000000-0000-4000-8000-000000000001', 'user', 'Hi')
-- old: UPDATE chats SET content = 'Hello' WHERE content = 'Hi'
-- old: SELECT 1 / count(id) FROM chats WHERE content = 'Hello'
-- old: RESET ROLE
DO $$
BEGIN
  IF to_regrole('shapes_app') IS NULL THEN CREATE ROLE shapes_app NOLOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
CREATE FUNCTION app_workspace() RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT nullif(current_setting('app.workspace', true), '')::uuid
$$;
REVOKE ALL ON FUNCTION app_workspace() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION app_workspace() TO shapes_app;
GRANT USAGE ON SCHEMA public TO shapes_app;
GRANT SELECT (id, workspace_id, content), INSERT (workspace_id, role, content), UPDATE (content) ON chats TO shapes_app;
DROP POLICY chats_owner ON chats;
CREATE POLICY app_rows ON chats USING (workspace_id = app_workspace()) WITH CHECK (workspace_id = app_workspace());
