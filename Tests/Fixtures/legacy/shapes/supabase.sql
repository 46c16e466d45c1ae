-- Supabase: three roles that get every privilege on every new table, users in auth.users, row security.
-- old: INSERT INTO workspaces (user_id, name) VALUES ('a0000000-0000-4000-8000-000000000001', 'Mine')
-- old: INSERT INTO chats (workspace_id, user_id, role, content) SELECT id, user_id, 'user', 'Hi' FROM workspaces WHERE name = 'Mine'
-- old: SET LOCAL ROLE authenticated
-- old: SET LOCAL request.jwt.claim.sub = 'a0000000-0000-4000-8000-000000000001'
-- old: INSERT INTO chats (workspace_id, user_id, role, content) SELECT id, user_id, 'user', 'Hi' FROM workspaces WHERE name = 'Mine'
-- old: SELECT 1 / count(*) FROM chats
-- old: RESET ROLE
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['anon', 'authenticated', 'service_role'] LOOP
    -- Another database of the server may create it at the same time.
    BEGIN
      IF to_regrole(name) IS NULL THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN%s', name, CASE name WHEN 'service_role' THEN ' BYPASSRLS' END);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
  END LOOP;
END
$$;
CREATE TABLE auth.users (id uuid PRIMARY KEY, email text);
INSERT INTO auth.users SELECT DISTINCT user_id, 'someone@example.org' FROM workspaces;
UPDATE chats SET user_id = w.user_id FROM workspaces w WHERE w.id = chats.workspace_id;
ALTER TABLE workspaces ADD FOREIGN KEY (user_id) REFERENCES auth.users (id) ON DELETE CASCADE;
ALTER TABLE chats ALTER COLUMN user_id SET NOT NULL,
  ADD FOREIGN KEY (user_id) REFERENCES auth.users (id) ON DELETE CASCADE;
GRANT USAGE ON SCHEMA public, auth TO anon, authenticated, service_role;
GRANT ALL ON ALL TABLES IN SCHEMA public TO anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON SEQUENCES TO anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role;
