-- A statement of the gateway has one policy, its constant one: those of the readers bind chirrup_reader alone, and
-- chirrup_gateway no longer inherits that role.
-- parent: 20261229_gateways
-- was: ba83c4d61d9be49a
-- compatible: 20261229_gateways
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE
-- loses: nothing
--
-- PostgreSQL walks through a prepared statement again at each execution if one of its policies has a subquery, even if
-- a constant one makes it superfluous. That was 3 to 4 % of a message's instructions.

-- Where auth.uid() exists, the application's roles see their own rows by these policies: there they bind everybody.
DO $$
DECLARE
  command text;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  -- A message that was refused before is counted in its row.
  GRANT UPDATE (refusals, sqlstate, reason, refused_at) ON quarantine TO chirrup_gateway;
  FOR command IN
    SELECT format('ALTER POLICY %I ON %s TO chirrup_reader', polname, polrelid::regclass)
    FROM pg_policy p JOIN pg_class c ON c.oid = polrelid
    WHERE polrelid IN (to_regclass('chats'), to_regclass('chat_sessions'))
      AND polname ~ ('^(chirrup_)?' || relname || '_(select|insert|update|delete)$')
      AND NOT EXISTS (SELECT FROM chirrup_adoptions
        WHERE relation = relname AND kind = 'policy' AND name = polname)
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_policy'::regclass AND objid = p.oid
        AND refclassid = 'pg_proc'::regclass AND refobjid = to_regprocedure('auth.uid()'))
  LOOP EXECUTE command; END LOOP;
END
$$;

-- The gateway's role gets what it had through the readers', and then can only change into it.
DO $$
DECLARE
  is_by_grant boolean := current_setting('server_version_num')::integer >= 160000;
  remedy text := CASE WHEN is_by_grant THEN 'GRANT chirrup_reader TO chirrup_gateway WITH INHERIT FALSE'
    ELSE 'ALTER ROLE chirrup_gateway NOINHERIT' END;
  reason text := 'only a superuser, or a role that may administer it, can change this';
  losses text;
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  IF EXISTS (SELECT FROM pg_namespace, aclexplode(nspacl) AS acl
      WHERE oid = quote_ident(current_schema())::regnamespace AND acl.grantee = to_regrole('chirrup_reader')) THEN
    BEGIN
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO chirrup_gateway', current_schema());
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
  END IF;
  IF NOT pg_has_role('chirrup_gateway', 'chirrup_reader', 'USAGE') THEN RETURN; END IF;
  -- The roles belong to the server. What an administrator, or an older version in another database, has given to the
  -- readers' role alone would be lost; before PostgreSQL 16 also what the gateway's role inherits from other roles.
  WITH privileges AS (
    SELECT dbid, classid, objid, refobjid FROM pg_shdepend
    WHERE refclassid = 'pg_authid'::regclass AND deptype = 'a'
  )
  SELECT string_agg(DISTINCT name, ', ' ORDER BY name) INTO losses FROM (
    SELECT CASE WHEN dbid = 0 OR datname = current_database() THEN pg_describe_object(classid, objid, 0)
      ELSE format('the database %s', quote_ident(datname)) END AS name
    FROM privileges p LEFT JOIN pg_database d ON d.oid = dbid
    WHERE refobjid = 'chirrup_reader'::regrole
      AND NOT EXISTS (SELECT FROM privileges o WHERE (o.dbid, o.classid, o.objid) = (p.dbid, p.classid, p.objid)
        AND o.refobjid = 'chirrup_gateway'::regrole)
      AND (dbid = 0 OR EXISTS (SELECT FROM privileges o
        WHERE o.dbid = p.dbid AND o.refobjid = 'chirrup_gateway'::regrole))
    UNION ALL
    SELECT format('the role %s', roleid::regrole) FROM pg_auth_members
    WHERE member = 'chirrup_reader'::regrole
      OR member = 'chirrup_gateway'::regrole AND roleid <> 'chirrup_reader'::regrole AND NOT is_by_grant
  ) AS lost;
  BEGIN
    IF losses IS NOT NULL THEN
      reason := 'the gateway may need what it inherits: ' || losses;
    ELSIF is_by_grant THEN
      FOR item IN EXECUTE 'SELECT grantor::regrole AS name FROM pg_auth_members WHERE inherit_option '
        'AND roleid = ''chirrup_reader''::regrole AND member = ''chirrup_gateway''::regrole'
      LOOP EXECUTE format('%s GRANTED BY %s', remedy, item.name); END LOOP;
    ELSE
      EXECUTE remedy;
    END IF;
  EXCEPTION
    -- An internal error, if another database of the server migrates at the same time and has done it.
    WHEN insufficient_privilege OR internal_error THEN NULL;
  END;
  IF pg_has_role('chirrup_gateway', 'chirrup_reader', 'USAGE') THEN
    RAISE NOTICE 'The role chirrup_gateway inherits chirrup_reader, so a message costs PostgreSQL some 3 %% more: %. '
      'A superuser mends it%: %', reason,
      CASE WHEN losses IS NULL THEN '' ELSE ', once chirrup_gateway has these privileges itself' END, remedy;
  END IF;
END
$$;

-- down
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  item record;
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  REVOKE UPDATE (refusals, sqlstate, reason, refused_at) ON quarantine FROM chirrup_gateway;
  FOR item IN
    SELECT format('ALTER POLICY %I ON %s TO PUBLIC', polname, polrelid::regclass) AS command
    FROM pg_policy p JOIN pg_class c ON c.oid = polrelid
    WHERE polrelid IN (to_regclass('chats'), to_regclass('chat_sessions'))
      AND polname ~ ('^(chirrup_)?' || relname || '_(select|insert|update|delete)$')
      AND polroles = ARRAY[to_regrole('chirrup_reader')::oid]
      AND NOT EXISTS (SELECT FROM chirrup_adoptions
        WHERE relation = relname AND kind = 'policy' AND name = polname)
  LOOP EXECUTE item.command; END LOOP;
END
$$;
-- The version before demands this when it verifies. It costs the newer databases of a server time, and harms none.
DO $$
DECLARE
  name text;
BEGIN
  IF pg_has_role(to_regrole('chirrup_gateway'), to_regrole('chirrup_reader'), 'USAGE') IS NOT FALSE
    OR NOT pg_has_role('chirrup_gateway', 'chirrup_reader', 'MEMBER')
    OR EXISTS (SELECT FROM pg_shdepend JOIN pg_database d ON d.oid = dbid
      WHERE refclassid = 'pg_authid'::regclass AND refobjid = to_regrole('chirrup_gateway')
        AND datname <> current_database()) THEN RETURN; END IF;
  IF current_setting('server_version_num')::integer < 160000 THEN
    ALTER ROLE chirrup_gateway INHERIT;
  ELSE
    FOR name IN SELECT grantor::regrole FROM pg_auth_members
      WHERE roleid = to_regrole('chirrup_reader') AND member = to_regrole('chirrup_gateway')
    LOOP EXECUTE format('GRANT chirrup_reader TO chirrup_gateway WITH INHERIT TRUE GRANTED BY %s', name); END LOOP;
  END IF;
EXCEPTION
  WHEN insufficient_privilege OR internal_error THEN NULL;
END
$$;
