-- Row security on every table, forced on the owner too; the gateway's role owns nothing, analysts read one workspace.
-- parent: 20261218_describe_logins
-- was: be95b01ebd902dce 5ab038c599bd56b4
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE
-- loses: which workspace each analyst's login may read
--
-- chirrup_gateway writes: it may do what the gateway's statements do, and no more. Its policy is constant, so that it
-- costs nothing. chirrup_reader reads one workspace, and no secret. config/DATABASE.md has the table of both.

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN
    CREATE ROLE chirrup_gateway NOLOGIN NOINHERIT;
    COMMENT ON ROLE chirrup_gateway IS 'Made by Chirrup: gateways log in as a member of it.';
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'The role chirrup_gateway could not be created, so the gateway needs the owner of the tables as its '
      'user. A superuser mends it: CREATE ROLE chirrup_gateway NOLOGIN NOINHERIT; GRANT chirrup_reader TO '
      'chirrup_gateway; GRANT chirrup_gateway TO %; and then: chirrup migrate repair --yes', quote_ident(current_user);
END
$$;

-- Membership of the gateway in the readers' role, which it only changes into, and of the owner in the gateway's, since
-- row security binds both.
DO $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT * FROM (VALUES ('chirrup_reader', 'chirrup_gateway', 'MEMBER'),
      ('chirrup_gateway', current_user::text, 'USAGE')) AS t (given, receiver, kind)
    WHERE to_regrole(given) IS NOT NULL AND to_regrole(receiver) IS NOT NULL
      AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = receiver AND rolsuper)
      AND NOT pg_has_role(receiver, given, kind)
  LOOP
    BEGIN
      EXECUTE format('GRANT %I TO %I', item.given, item.receiver);
    EXCEPTION
      WHEN unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE NOTICE 'The role % could not be given to %, so row security is incomplete. A superuser mends it: '
          'GRANT % TO %; and then: chirrup migrate repair --yes',
          item.given, quote_ident(item.receiver), item.given, quote_ident(item.receiver);
    END;
  END LOOP;
END
$$;

-- These functions of triggers run as the owner. A role that may execute one could attach it to a table of its own, even
-- a temporary one, and so write Chirrup's. The triggers themselves need no privilege.
DO $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT DISTINCT p.oid::regprocedure AS name, grantee
    FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE pronamespace = quote_ident(current_schema())::regnamespace AND proname LIKE 'chirrup\_%' AND prosecdef
      AND grantee <> proowner
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', item.name,
      CASE item.grantee WHEN 0 THEN 'PUBLIC' ELSE item.grantee::regrole::text END);
  END LOOP;
END
$$;

-- PostgreSQL parses the condition of a trigger in each statement that may fire it. That of chat_sessions_figures was a
-- tenth of a message's instructions; without the columns that a message leaves alone it is a third of that. This pays
-- for the privileges that are now checked for each function in a statement (a superuser's never were).
CREATE OR REPLACE TRIGGER chat_sessions_figures AFTER UPDATE OF status, assigned_operator_id, closed_at ON chat_sessions
  FOR EACH ROW WHEN (OLD.status <> NEW.status
    OR OLD.assigned_operator_id IS DISTINCT FROM NEW.assigned_operator_id
    OR OLD.closed_at IS DISTINCT FROM NEW.closed_at)
  EXECUTE FUNCTION chirrup_note_figures();
CREATE OR REPLACE TRIGGER chat_sessions_message_figures AFTER UPDATE OF message_count, first_response_at
  ON chat_sessions FOR EACH ROW WHEN (OLD.first_response_at IS DISTINCT FROM NEW.first_response_at
    OR OLD.message_count <> NEW.message_count AND (OLD.message_count = 0 OR NEW.status = 'closed'))
  EXECUTE FUNCTION chirrup_note_figures();

CREATE TABLE IF NOT EXISTS chirrup_analysts (
  role_name name NOT NULL PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE
);
COMMENT ON TABLE chirrup_analysts IS 'Which workspace a login that is a member of chirrup_reader may read.';

-- The settings count for the gateway and for the owner of the tables. Whoever else is a member of chirrup_reader reads
-- the workspace that is on record for the login: the name with which the session began, which nobody can change. All
-- names are resolved here and not by the caller's search_path.
DO $do$
BEGIN
  EXECUTE format($create$
    CREATE OR REPLACE FUNCTION chirrup_setting(name text) RETURNS uuid LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp AS $f$
    BEGIN
      IF pg_has_role(current_user, to_regrole('chirrup_reader'), 'MEMBER') IS NOT TRUE THEN RETURN NULL; END IF;
      IF pg_has_role(session_user, to_regrole('chirrup_gateway'), 'MEMBER')
        OR pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = %2$L::regclass), 'MEMBER')
      THEN RETURN nullif(current_setting(name, true), '')::uuid; END IF;
      IF name <> 'chirrup.workspace_id' THEN RETURN NULL; END IF;
      RETURN (SELECT a.workspace_id FROM %1$I.chirrup_analysts a WHERE a.role_name = session_user);
    END
    $f$
  $create$, current_schema(), format('%I.chirrup_analysts', current_schema()));
END
$do$;
COMMENT ON FUNCTION chirrup_setting(text) IS
  'The workspace or visitor to which row security restricts the statement; NULL for no member of chirrup_reader.';

-- Secures one table, for this migration and for later ones: `visible` are the rows that chirrup_reader sees, `readable`
-- the columns (`*`: all; NULL: the table stays closed to it), `writes` the privileges that the gateway has besides
-- SELECT. The roles of an application to which an adopted table belongs see what they saw, and its owner is not bound.
CREATE OR REPLACE FUNCTION chirrup_secure(wanted text, visible text, readable text, writes text) RETURNS void
LANGUAGE plpgsql AS $f$
DECLARE
  is_found boolean := EXISTS (SELECT FROM chirrup_adoptions WHERE relation = wanted AND kind = 'found');
  is_owner_bound boolean := (SELECT NOT (rolsuper OR rolbypassrls OR pg_has_role(r.oid, 'chirrup_gateway', 'USAGE'))
    FROM pg_class c JOIN pg_roles r ON r.oid = relowner WHERE c.oid = wanted::regclass);
  item record;
BEGIN
  FOR item IN SELECT * FROM (VALUES
    ('chirrup_gateway', 'ALL', 'chirrup_gateway', 'true', true),
    ('chirrup_reader', 'SELECT', 'chirrup_reader', visible, visible IS NOT NULL),
    ('chirrup_application', 'ALL', 'PUBLIC',
      '(SELECT NOT coalesce(pg_has_role(to_regrole(''chirrup_reader''), ''MEMBER''), false))',
      is_found AND EXISTS (SELECT FROM chirrup_adoptions
        WHERE relation = wanted AND kind = 'row security' AND definition = 'false'))
  ) AS t (name, command, role, condition, is_wanted)
  LOOP
    EXECUTE format('DROP POLICY IF EXISTS %I ON %I', item.name, wanted);
    IF item.is_wanted THEN
      EXECUTE format('CREATE POLICY %I ON %I FOR %s TO %s USING (%s)',
        item.name, wanted, item.command, item.role, item.condition);
    END IF;
  END LOOP;
  IF readable IS NOT NULL THEN
    EXECUTE format('GRANT SELECT %s ON %I TO chirrup_reader',
      CASE readable WHEN '*' THEN '' ELSE format('(%s)', readable) END, wanted);
  END IF;
  EXECUTE format('GRANT %s ON %I TO chirrup_gateway', concat_ws(', ', 'SELECT', nullif(writes, '')), wanted);
  EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', wanted);
  IF NOT is_found AND NOT is_owner_bound THEN EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', wanted); END IF;
END
$f$;
COMMENT ON FUNCTION chirrup_secure(text, text, text, text) IS
  'Binds the roles of Chirrup to the rows and privileges that they need of one table.';

DO $$
DECLARE
  -- Each function stands in a subquery of its own, so that it is called once for a statement.
  ours text := 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id''))';
  person text := '(SELECT chirrup_setting(''chirrup.user_id''))';
  staff text := ours || ' AND ' || person || ' IS NULL';
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  -- In the order of an application's transactions: its insertion of a message updates the session by trigger.
  LOCK TABLE chats, chat_sessions IN ACCESS EXCLUSIVE MODE;
  -- Other roles that an administrator let read a table now need a policy.
  FOR item IN
    SELECT role, string_agg(relname, ', ' ORDER BY relname) AS tables FROM (
      SELECT DISTINCT grantee::regrole::text AS role, relname
      FROM pg_class c, aclexplode(relacl) AS acl JOIN pg_roles r ON r.oid = acl.grantee
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p') AND NOT relrowsecurity
        AND privilege_type = 'SELECT' AND NOT rolsuper AND NOT rolbypassrls AND rolname NOT LIKE 'chirrup\_%'
        AND NOT pg_has_role(r.oid, relowner, 'USAGE')
        AND relname IN ('operators', 'memberships', 'visitors', 'read_marks', 'friend_events', 'chat_analytics',
          'csat_responses', 'tags', 'session_tags', 'audit_log')
        AND NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = relname AND kind = 'found')) AS granted
    GROUP BY role
  LOOP
    RAISE NOTICE 'Row security now hides the rows of % from %. To let the role read one workspace: GRANT chirrup_reader '
      'TO %; and its login in chirrup_analysts. To let it read all: CREATE POLICY … TO % USING (true) on each table',
      item.tables, item.role, item.role, item.role;
  END LOOP;
  IF NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    RAISE NOTICE 'Row security binds the owner % too. pg_dump as this user needs --enable-row-security', current_user;
  END IF;
  FOR item IN SELECT * FROM (VALUES
    ('chat_sessions', NULL, '*', 'INSERT, UPDATE, DELETE'),
    ('chats', NULL, '*', 'INSERT, UPDATE (content, payload, content_hash, user_id)'),
    ('workspaces', format('id = (SELECT chirrup_setting(''chirrup.workspace_id'')) AND %s IS NULL', person),
      'id, name, created_at, updated_at', 'INSERT, UPDATE (allowed_origins)'),
    ('operators', format('%s IS NULL AND EXISTS (SELECT FROM memberships m WHERE m.operator_id = operators.id AND m.%s)',
      person, ours), 'id, name', 'INSERT, DELETE, UPDATE (name, password_hash, must_change_password, disabled_at)'),
    ('memberships', staff, '*', 'INSERT, DELETE, UPDATE (role)'),
    ('visitors', format('%s AND (%s IS NULL OR id = %2$s)', ours, person), '*',
      'INSERT, DELETE, UPDATE (external_id, name, email, attributes, banned_at, last_seen_at)'),
    ('read_marks', format('%s AND (%s IS NULL OR EXISTS (SELECT FROM chat_sessions s WHERE s.id = session_id '
      'AND s.user_id = %2$s))', ours, person), '*', 'INSERT, UPDATE, DELETE'),
    ('session_tags', staff, '*', 'INSERT, DELETE'),
    ('tags', staff, '*', 'INSERT, DELETE, UPDATE (colour)'),
    ('csat_responses', staff, '*', 'INSERT, UPDATE'),
    ('closed_counts', staff, '*', ''),
    ('friend_events', staff, '*', 'INSERT, DELETE'),
    ('chat_analytics', staff, '*', 'INSERT, UPDATE, DELETE'),
    ('chat_analytics_buckets', staff, '*', 'INSERT, UPDATE, DELETE'),
    ('chat_session_figures', staff, '*', 'INSERT, DELETE'),
    ('chat_analytics_pending', NULL, NULL, 'INSERT, DELETE'),
    ('operator_presence', NULL, NULL, 'INSERT, UPDATE (is_available, seen_at, given_at)'),
    ('bot_progress', NULL, NULL, 'INSERT, UPDATE'),
    ('system_settings', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('intents', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('reply_objects', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('rich_menus', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('credentials', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('api_keys', NULL, NULL, 'INSERT, UPDATE (last_used_at, revoked_at)'),
    ('webhooks', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('webhook_deliveries', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('refresh_tokens', NULL, NULL, 'INSERT, DELETE, UPDATE (rotated_at, revoked_at, expires_at)'),
    ('operator_sessions', NULL, NULL, 'INSERT, DELETE, UPDATE (credential, last_seen_at, address)'),
    ('idempotency_keys', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('quarantine', NULL, NULL, 'INSERT, DELETE'),
    ('revocations', NULL, NULL, 'DELETE, UPDATE (at)'),
    ('audit_log', NULL, NULL, 'INSERT'),
    ('signing_keys', NULL, NULL, 'INSERT, UPDATE (id)'),
    ('gateways', NULL, NULL, 'INSERT, UPDATE, DELETE'),
    ('database_epoch', 'true', '*', 'UPDATE'),
    ('chirrup_analysts', 'role_name = session_user', '*', '')
  ) AS t (relation, visible, readable, writes)
  LOOP PERFORM chirrup_secure(item.relation, item.visible, item.readable, item.writes); END LOOP;
  -- Whether migrations are pending.
  GRANT SELECT ON chirrup_migrations, chirrup_begun TO chirrup_gateway;
  IF NOT has_schema_privilege('chirrup_gateway', current_schema(), 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO chirrup_gateway', current_schema());
  END IF;
  FOR item IN
    SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname LIKE 'chirrup\_%' AND NOT prosecdef AND NOT has_function_privilege('chirrup_gateway', oid, 'EXECUTE')
  LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chirrup_gateway', item.name); END LOOP;
END
$$;

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT format('DROP POLICY %I ON %s', polname, polrelid::regclass) AS command, 1 AS place
    FROM pg_policy JOIN pg_class c ON c.oid = polrelid
    WHERE relnamespace = quote_ident(current_schema())::regnamespace
      AND polname IN ('chirrup_gateway', 'chirrup_reader', 'chirrup_application')
    UNION ALL
    SELECT format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', c.oid::regclass), 2
    FROM pg_class c
    WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
      AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname = 'chirrup_gateway')
      AND NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = relname AND kind = 'found')
    UNION ALL
    SELECT format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', c.oid::regclass), 2
    FROM pg_class c
    WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
      AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname = 'chirrup_gateway')
      AND relname NOT IN ('chats', 'chat_sessions') AND NOT EXISTS (SELECT FROM chirrup_adoptions
        WHERE relation = relname AND kind = 'row security' AND definition = 'true')
    UNION ALL
    SELECT format('REVOKE ALL ON %s FROM chirrup_gateway', c.oid::regclass), 3
    FROM pg_class c, aclexplode(relacl) AS acl
    WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
      AND acl.grantee = to_regrole('chirrup_gateway')
    UNION
    SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM chirrup_gateway', p.oid::regprocedure), 3
    FROM pg_proc p, aclexplode(proacl) AS acl
    WHERE pronamespace = quote_ident(current_schema())::regnamespace AND acl.grantee = to_regrole('chirrup_gateway')
    UNION ALL
    SELECT format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', p.oid::regprocedure), 3
    FROM pg_proc p
    WHERE pronamespace = quote_ident(current_schema())::regnamespace AND proname LIKE 'chirrup\_%' AND prosecdef
    UNION ALL
    SELECT format('REVOKE USAGE ON SCHEMA %I FROM chirrup_gateway', nspname), 3
    FROM pg_namespace, aclexplode(nspacl) AS acl
    WHERE oid = quote_ident(current_schema())::regnamespace AND acl.grantee = to_regrole('chirrup_gateway')
    ORDER BY place
  LOOP EXECUTE item.command; END LOOP;
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    REVOKE ALL ON tags, friend_events, chat_analytics, chat_analytics_buckets, chat_session_figures, memberships,
      csat_responses FROM chirrup_reader;
    GRANT SELECT (workspace_id, session_id, rating, comment) ON csat_responses TO chirrup_reader;
    IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'workspaces' AND kind = 'made') THEN
      REVOKE ALL ON workspaces FROM chirrup_reader;
      REVOKE SELECT (id, name, created_at, updated_at) ON workspaces FROM chirrup_reader;
    ELSE
      REVOKE SELECT (created_at, updated_at) ON workspaces FROM chirrup_reader;
    END IF;
  END IF;
END
$$;
DROP TRIGGER IF EXISTS chat_sessions_message_figures ON chat_sessions;
CREATE OR REPLACE TRIGGER chat_sessions_figures AFTER UPDATE ON chat_sessions FOR EACH ROW
  WHEN (OLD.message_count = 0 AND NEW.message_count > 0
    OR OLD.status <> NEW.status
    OR OLD.message_count <> NEW.message_count AND NEW.status = 'closed'
    OR OLD.assigned_operator_id IS DISTINCT FROM NEW.assigned_operator_id
    OR OLD.first_response_at IS DISTINCT FROM NEW.first_response_at
    OR OLD.closed_at IS DISTINCT FROM NEW.closed_at)
  EXECUTE FUNCTION chirrup_note_figures();
DROP FUNCTION IF EXISTS chirrup_secure(text, text, text, text);
CREATE OR REPLACE FUNCTION chirrup_setting(name text) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT nullif(current_setting(name, true), '')::uuid
  WHERE pg_has_role(current_user, to_regrole('chirrup_reader'), 'MEMBER')
$$;
COMMENT ON FUNCTION chirrup_setting(text) IS
  'What the gateway has set for its statement; nothing for whoever is no member of chirrup_reader.';
DROP TABLE IF EXISTS chirrup_analysts;
