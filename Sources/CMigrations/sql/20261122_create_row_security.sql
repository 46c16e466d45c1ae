-- Row security: a role that does not own the tables reads and changes the conversations of one workspace only.
-- parent: 20261122_create_records
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE
-- was: 570981016e86e079 a844629e51e5f0c1
-- loses: nothing; every role with privileges on the tables sees all workspaces again
--
-- The gateway's REST readers run as the role chirrup_reader with the settings chirrup.workspace_id and
-- chirrup.user_id (empty: an operator, who sees the whole workspace). Where a function auth.uid() exists (Supabase),
-- its users see their own sessions. The settings count only for members of chirrup_reader: a user who can run
-- statements cannot select a workspace by a setting.

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NULL THEN
    CREATE ROLE chirrup_reader NOLOGIN;
    COMMENT ON ROLE chirrup_reader IS 'Made by Chirrup: reads one workspace.';
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'The role chirrup_reader could not be made, so the gateway''s readers are not bound by row security '
      '(their statements still name the workspace). A superuser mends it: CREATE ROLE chirrup_reader NOLOGIN; '
      'GRANT chirrup_reader TO %; and then: chirrup migrate repair', quote_ident(current_user);
END
$$;

DO $$
DECLARE
  old record;
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    IF NOT pg_has_role(current_user, 'chirrup_reader', 'MEMBER') THEN
      EXECUTE format('GRANT chirrup_reader TO %I', current_user);
    END IF;
    IF NOT has_schema_privilege('chirrup_reader', current_schema(), 'USAGE') THEN
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO chirrup_reader', current_schema());
    END IF;
    GRANT SELECT ON chat_sessions, chats, visitors, read_marks TO chirrup_reader;
    GRANT SELECT (id, name) ON operators TO chirrup_reader;
    -- Policies of the older application look into its tables: into what these had before Chirrup, and no further.
    FOR old IN
      SELECT relation, string_agg(quote_ident(name), ', ') AS columns FROM chirrup_adoptions
      WHERE kind = 'column' AND relation = 'workspaces' GROUP BY relation
    LOOP EXECUTE format('GRANT SELECT (%s) ON %I TO chirrup_reader', old.columns, old.relation); END LOOP;
  END IF;
EXCEPTION
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'The role chirrup_reader could not be given to %: %. A superuser mends it: GRANT chirrup_reader TO %; '
      'and then: chirrup migrate repair', current_user, SQLERRM, quote_ident(current_user);
END
$$;

CREATE OR REPLACE FUNCTION chirrup_setting(name text) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT nullif(current_setting(name, true), '')::uuid
  WHERE pg_has_role(current_user, to_regrole('chirrup_reader'), 'MEMBER')
$$;
COMMENT ON FUNCTION chirrup_setting(text) IS
  'What the gateway has set for its statement; nothing for whoever is no member of chirrup_reader.';

-- Each function is called once for a statement, since it is in a separate subquery.
DO $do$
DECLARE
  workspace text := 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id''))';
  person text := '(SELECT chirrup_setting(''chirrup.user_id''))';
  own text := ''; own_session text := ''; own_message text := '';
  of_session text := 'EXISTS (SELECT FROM chat_sessions s WHERE s.id = session_id AND s.user_id = %s)';
  item record;
  name text;
BEGIN
  IF to_regprocedure('auth.uid()') IS NOT NULL THEN
    own := ' OR user_id = (SELECT auth.uid())';
    own_session := ' OR kind <> ''note'' AND ' || format(of_session, '(SELECT auth.uid())');
    own_message := ' OR user_id = (SELECT auth.uid()) AND ' || format(of_session, '(SELECT auth.uid())');
  END IF;
  FOR item IN SELECT * FROM (VALUES
    ('chat_sessions', 'chat_sessions_select', 'SELECT',
      format('%s AND (%s IS NULL OR user_id = %2$s)', workspace, person) || own),
    ('chat_sessions', 'chat_sessions_insert', 'INSERT',
      format('%s AND (%s IS NULL OR user_id = %2$s)', workspace, person) || own),
    ('chat_sessions', 'chat_sessions_update', 'UPDATE',
      format('%s AND (%s IS NULL OR user_id = %2$s)', workspace, person) || own),
    ('chat_sessions', 'chat_sessions_delete', 'DELETE',
      format('%s AND %s IS NULL', workspace, person) || own),
    ('chats', 'chats_select', 'SELECT',
      format('%s AND (%s IS NULL OR kind <> ''note'' AND %s)', workspace, person, format(of_session, person))
        || own_session),
    ('chats', 'chats_insert', 'INSERT',
      format('%s AND (%s IS NULL OR role = ''visitor'' AND user_id = %2$s AND %s)', workspace, person,
        format(of_session, person)) || own_message),
    ('chats', 'chats_update', 'UPDATE', format('%s AND %s IS NULL', workspace, person) || own_message),
    ('chats', 'chats_delete', 'DELETE', format('%s AND %s IS NULL', workspace, person) || own_message)
  ) AS t (relation, name, command, condition)
  LOOP
    -- A policy of the owner's that has this name stays as it is.
    SELECT CASE WHEN count(*) > 0 THEN 'chirrup_' ELSE '' END || item.name INTO name FROM chirrup_adoptions a
    WHERE a.relation = item.relation AND a.kind = 'policy' AND a.name = item.name;
    EXECUTE format('DROP POLICY IF EXISTS %I ON %I', name, item.relation);
    EXECUTE format('CREATE POLICY %I ON %I FOR %s %s', name, item.relation, item.command,
      CASE item.command
        WHEN 'INSERT' THEN format('WITH CHECK (%s)', item.condition)
        WHEN 'UPDATE' THEN format('USING (%s) WITH CHECK (%1$s)', item.condition)
        ELSE format('USING (%s)', item.condition) END);
  END LOOP;
END
$do$;
-- The policies of chats read chat_sessions with the privileges of the reading role, also of older applications' roles.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
    FROM pg_class, aclexplode(relacl)
    WHERE oid = 'chats'::regclass AND privilege_type = 'SELECT' AND grantee <> relowner
      AND EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found')
      AND EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chat_sessions' AND kind = 'made')
  LOOP EXECUTE format('GRANT SELECT ON chat_sessions TO %s', reader); END LOOP;
END
$$;
ALTER TABLE chat_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE chats ENABLE ROW LEVEL SECURITY;

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  ours record;
BEGIN
  FOR ours IN
    SELECT polname, polrelid::regclass AS relation FROM pg_policy JOIN pg_class c ON c.oid = polrelid
    WHERE polrelid IN (to_regclass('chats'), to_regclass('chat_sessions'))
      AND polname ~ ('^(chirrup_)?' || relname || '_(select|insert|update|delete)$')
      AND NOT EXISTS (SELECT FROM chirrup_adoptions
        WHERE relation = relname AND kind = 'policy' AND name = polname)
  LOOP EXECUTE format('DROP POLICY %I ON %s', ours.polname, ours.relation); END LOOP;
END
$$;
DROP FUNCTION IF EXISTS chirrup_setting(text);
DO $$
DECLARE
  secured text;
  old record;
BEGIN
  FOREACH secured IN ARRAY ARRAY['chat_sessions', 'chats'] LOOP
    IF NOT EXISTS (SELECT FROM chirrup_adoptions
        WHERE relation = secured AND kind = 'row security' AND definition = 'true') THEN
      EXECUTE format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY', secured);
    END IF;
  END LOOP;
  -- The role belongs to the whole server, and other databases may use it: it stays.
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    REVOKE ALL ON chat_sessions, chats, visitors, read_marks, operators FROM chirrup_reader;
    REVOKE SELECT (id, name) ON operators FROM chirrup_reader;
    FOR old IN
      SELECT relation, string_agg(quote_ident(name), ', ') AS columns FROM chirrup_adoptions
      WHERE kind = 'column' AND relation = 'workspaces' GROUP BY relation
    LOOP EXECUTE format('REVOKE SELECT (%s) ON %I FROM chirrup_reader', old.columns, old.relation); END LOOP;
    IF EXISTS (SELECT FROM pg_namespace, aclexplode(nspacl) AS acl
        WHERE nspname = current_schema() AND acl.grantee = to_regrole('chirrup_reader')) THEN
      EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM chirrup_reader', current_schema());
    END IF;
  END IF;
END
$$;
