-- Beside an older application: its statements may insert no row after all, move messages to another session or
-- workspace, and empty the table, and the numbers of each session stay right.
-- parent: 20270120_count_by_sets
-- compatible: 20261229_gateways
-- locks: chats, chat_sessions
-- loses: nothing

-- As before, and by two statements more: a message that exists (INSERT … ON CONFLICT) gets its own number again, and
-- what the statement has numbered is noted for chirrup_note_unused.
CREATE OR REPLACE FUNCTION chirrup_next_number(
  workspace uuid, INOUT session uuid, role text, content text, INOUT created timestamptz, OUT seq bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $f$
#variable_conflict use_variable
BEGIN
  IF session IS NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(workspace::text, 0));
    SELECT s.id INTO session FROM chat_sessions s
    WHERE s.workspace_id = workspace AND s.channel = 'legacy' AND s.deleted_at IS NULL
    ORDER BY s.created_at, s.id LIMIT 1;
    IF NOT FOUND THEN
      session := gen_random_uuid();
      INSERT INTO chirrup_adoptions VALUES ('chat_sessions', 'opened', session);
      INSERT INTO chat_sessions (id, workspace_id, title, status, closed_at, waiting_since, channel)
      VALUES (session, workspace, 'Legacy Chat', 'closed', now(), NULL, 'legacy');
    END IF;
  END IF;
  created := coalesce(created, now());
  UPDATE chat_sessions s SET last_seq = s.last_seq + 1, message_count = s.message_count + 1,
    last_message_at = created, last_message_preview = left(content, 120), last_message_role = role,
    status = CASE WHEN is_new THEN 'closed' ELSE s.status END,
    channel = CASE WHEN is_new THEN 'legacy' ELSE s.channel END,
    closed_at = CASE WHEN is_new THEN created ELSE s.closed_at END,
    waiting_since = CASE WHEN is_new THEN NULL WHEN s.status = 'waiting'
      THEN coalesce(s.waiting_since, statement_timestamp()) ELSE s.waiting_since END
  FROM (SELECT n.id, n.status = 'waiting' AND n.last_seq = 0 AND n.channel = 'web' AND NOT EXISTS (
      SELECT FROM visitors v WHERE v.workspace_id = n.workspace_id AND v.id = n.user_id) AS is_new
    FROM chat_sessions n WHERE n.id = session FOR UPDATE) AS locked
  WHERE s.id = locked.id AND s.workspace_id = workspace RETURNING s.last_seq INTO seq;
END
$f$;

CREATE OR REPLACE FUNCTION chirrup_number_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
DECLARE
  setting text := 'chirrup.given_' || pg_trigger_depth();
  given text := coalesce(current_setting(setting, true), '');
  known record;
BEGIN
  -- Another transaction that inserts it holds the lock of the session until its end.
  IF NEW.session_id IS NOT NULL THEN PERFORM FROM chat_sessions WHERE id = NEW.session_id FOR UPDATE; END IF;
  SELECT session_id, seq, content_hash INTO known FROM chats WHERE id = NEW.id;
  IF FOUND THEN
    NEW.session_id := known.session_id;
    NEW.seq := known.seq;
    NEW.content_hash := known.content_hash;
    RETURN NEW;
  END IF;
  SELECT session, created, seq INTO NEW.session_id, NEW.created_at, NEW.seq
  FROM chirrup_next_number(NEW.workspace_id, NEW.session_id, NEW.role, NEW.content, NEW.created_at);
  NEW.content_hash := sha256(convert_to(
    NEW.kind || E'\n' || coalesce(NEW.payload::text, '') || E'\n' || coalesce(NEW.content, ''), 'UTF8'));
  IF NEW.seq IS NOT NULL AND strpos(given, NEW.session_id::text) = 0 THEN
    PERFORM set_config('chirrup.given', 'yes', true),
      set_config(setting, concat_ws(' ', nullif(given, ''), NEW.session_id || ':' || NEW.seq), true);
  END IF;
  RETURN NEW;
END
$f$;

-- A number whose message was not inserted (ON CONFLICT, or a trigger that returns NULL) is taken back, or counted as
-- that of a deleted message if a later one was inserted. Nobody has seen it: the session's row is locked.
DO $do$
DECLARE
  demand text := (SELECT string_agg(format('%I IS NULL', name), ' OR ') FROM chirrup_adoptions JOIN pg_attribute
    ON attrelid = to_regclass('chats') AND attname = name WHERE relation = 'chats' AND kind = 'not null'
    AND NOT attnotnull AND NOT atthasdef AND name NOT IN ('id', 'workspace_id', 'session_id', 'role', 'content',
      'created_at'));
BEGIN
  IF to_regprocedure(format('%I.chirrup_note_deletions()', current_schema())) IS NULL THEN RETURN; END IF;
  EXECUTE format($create$
  CREATE OR REPLACE FUNCTION chirrup_note_unused() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $f$
  DECLARE
    setting text := 'chirrup.given_' || pg_trigger_depth();
    given text := coalesce(current_setting(setting, true), '');
    item record;
    found_rows bigint;
    found_last bigint;
    unused bigint;
  BEGIN
    IF given = '' THEN RETURN NULL; END IF;
    PERFORM set_config(setting, '', true);
    FOR item IN
      SELECT s.id, s.last_seq, split_part(part, ':', 2)::bigint AS first
      FROM string_to_table(given, ' ') AS part JOIN chat_sessions s ON s.id = split_part(part, ':', 1)::uuid
    LOOP
      -- NOT NULL is relaxed for the gateway's messages, not for these.
      IF EXISTS (SELECT FROM chats WHERE session_id = item.id AND seq >= item.first AND (%s)) THEN
        RAISE EXCEPTION 'a message of the application lacks a value that its table demands'
          USING ERRCODE = 'not_null_violation', HINT = 'One of these is true: ' || %L;
      END IF;
      SELECT count(*), coalesce(max(seq), item.first - 1) INTO found_rows, found_last
      FROM chats WHERE session_id = item.id AND seq >= item.first;
      unused := item.last_seq - item.first + 1 - found_rows;
      CONTINUE WHEN unused <= 0;
      UPDATE chat_sessions SET last_seq = found_last, message_count = message_count - unused,
        (last_message_at, last_message_preview, last_message_role) = (SELECT created_at, left(content, 120), role
          FROM chats WHERE session_id = item.id AND kind IN ('text', 'card') ORDER BY seq DESC LIMIT 1)
      WHERE id = item.id;
      IF found_last - item.first + 1 > found_rows THEN
        INSERT INTO chirrup_deletions AS d (session_id, messages)
        VALUES (item.id, found_last - item.first + 1 - found_rows)
        ON CONFLICT (session_id) DO UPDATE SET messages = d.messages + excluded.messages;
      END IF;
    END LOOP;
    RETURN NULL;
  END
  $f$
  $create$, coalesce(demand, 'false'), coalesce(demand, ''));
END
$do$;

-- A message that the application moves gets a number in its new session, and its old one is free. Without a session of
-- its new workspace it comes into the legacy one.
CREATE OR REPLACE FUNCTION chirrup_move_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  IF NEW.workspace_id IS DISTINCT FROM OLD.workspace_id AND NEW.session_id = OLD.session_id THEN
    NEW.session_id := NULL;
  END IF;
  SELECT session, seq INTO NEW.session_id, NEW.seq
  FROM chirrup_next_number(NEW.workspace_id, NEW.session_id, NEW.role, NEW.content, NEW.created_at);
  INSERT INTO chirrup_deletions AS d (session_id, messages)
  SELECT id, 1 FROM chat_sessions WHERE id = OLD.session_id
  ON CONFLICT (session_id) DO UPDATE SET messages = d.messages + 1;
  RETURN NEW;
END
$f$;

CREATE OR REPLACE FUNCTION chirrup_note_truncation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  DELETE FROM chirrup_deletions d WHERE NOT EXISTS (SELECT FROM chat_sessions s WHERE s.id = d.session_id);
  INSERT INTO chirrup_deletions (session_id, messages)
  SELECT id, last_seq FROM chat_sessions WHERE last_seq > 0
  ON CONFLICT (session_id) DO UPDATE SET messages = excluded.messages;
  RETURN NULL;
END
$f$;

-- ALWAYS: a session that copies rows with session_replication_role = replica inserts messages, too.
DO $$
DECLARE
  item record;
BEGIN
  IF to_regprocedure(format('%I.chirrup_note_deletions()', current_schema())) IS NULL THEN
    DROP FUNCTION chirrup_number_message(), chirrup_move_message(), chirrup_note_truncation(),
      chirrup_next_number(uuid, uuid, text, text, timestamptz);
    RETURN;
  END IF;
  CREATE OR REPLACE TRIGGER chats_note_unused AFTER INSERT ON chats FOR EACH STATEMENT
    WHEN (current_setting('chirrup.given', true) = 'yes') EXECUTE FUNCTION chirrup_note_unused();
  CREATE OR REPLACE TRIGGER chats_move_message BEFORE UPDATE OF workspace_id, session_id ON chats FOR EACH ROW
    WHEN (NEW.session_id IS DISTINCT FROM OLD.session_id OR NEW.workspace_id IS DISTINCT FROM OLD.workspace_id)
    EXECUTE FUNCTION chirrup_move_message();
  CREATE OR REPLACE TRIGGER chats_note_truncation AFTER TRUNCATE ON chats FOR EACH STATEMENT
    EXECUTE FUNCTION chirrup_note_truncation();
  ALTER TABLE chats ENABLE ALWAYS TRIGGER chats_number_message, ENABLE ALWAYS TRIGGER chats_note_unused,
    ENABLE ALWAYS TRIGGER chats_move_message, ENABLE ALWAYS TRIGGER chats_note_deletions,
    ENABLE ALWAYS TRIGGER chats_note_truncation;
  FOR item IN
    SELECT p.oid::regprocedure AS name, grantee
    FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE pronamespace = quote_ident(current_schema())::regnamespace AND grantee <> proowner
      AND proname IN ('chirrup_next_number', 'chirrup_number_message', 'chirrup_note_unused', 'chirrup_move_message', 'chirrup_note_truncation')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', item.name,
      CASE item.grantee WHEN 0 THEN 'PUBLIC' ELSE item.grantee::regrole::text END);
  END LOOP;
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  -- Where auth.uid() exists, Chirrup's policies bind the application's roles, also those with privileges on columns
  -- alone: they read two columns of chat_sessions.
  FOR item IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role, grantee
    FROM (SELECT relowner, (aclexplode(relacl)).grantee FROM pg_class WHERE oid = 'chats'::regclass
      UNION SELECT relowner, (aclexplode(attacl)).grantee FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
      WHERE attrelid = 'chats'::regclass) AS granted
    WHERE to_regprocedure('auth.uid()') IS NOT NULL AND grantee <> relowner
      AND grantee NOT IN ('chirrup_gateway'::regrole, 'chirrup_reader'::regrole)
  LOOP
    CONTINUE WHEN item.grantee <> 0 AND has_column_privilege(item.grantee, 'chat_sessions', 'id', 'SELECT')
      AND has_column_privilege(item.grantee, 'chat_sessions', 'user_id', 'SELECT');
    EXECUTE format('GRANT SELECT (id, user_id) ON chat_sessions TO %s', item.role);
    INSERT INTO chirrup_adoptions VALUES ('chats', 'granted', format('SELECT (id, user_id) ON chat_sessions FROM %s',
      item.role)) ON CONFLICT DO NOTHING;
  END LOOP;
  -- Chirrup's roles are bound by the application's policies of all roles, and insert rows with the defaults of its
  -- columns.
  FOR item IN
    WITH needed (class, id, refclass, refid) AS (
      SELECT d.classid, d.objid, d.refclassid, d.refobjid FROM pg_class t JOIN pg_depend d
        ON d.classid = 'pg_attrdef'::regclass AND d.objid IN (SELECT oid FROM pg_attrdef WHERE adrelid = t.oid)
        OR d.classid = 'pg_policy'::regclass AND d.objid IN (SELECT oid FROM pg_policy WHERE polrelid = t.oid
          AND polroles = '{0}')
      WHERE t.relnamespace = quote_ident(current_schema())::regnamespace
        AND t.relname IN ('workspaces', 'chats', 'chat_sessions')
    )
    SELECT DISTINCT format('USAGE ON SEQUENCE %s', c.oid::regclass) AS privilege, 'chirrup_gateway' AS receivers
    FROM needed JOIN pg_class c ON refclass = 'pg_class'::regclass AND refid = c.oid
    WHERE CASE relkind WHEN 'S' THEN NOT has_sequence_privilege('chirrup_gateway', c.oid, 'USAGE') END
    UNION
    SELECT format('EXECUTE ON FUNCTION %s', p.oid::regprocedure), 'chirrup_gateway, chirrup_reader'
    FROM needed JOIN pg_proc p ON refclass = 'pg_proc'::regclass AND refid = p.oid
    WHERE proname NOT LIKE 'chirrup\_%' AND NOT (has_function_privilege('chirrup_gateway', p.oid, 'EXECUTE')
      AND has_function_privilege('chirrup_reader', p.oid, 'EXECUTE'))
  LOOP
    BEGIN
      EXECUTE format('GRANT %s TO %s', item.privilege, item.receivers);
      INSERT INTO chirrup_adoptions VALUES ('chats', 'granted',
        format('%s FROM %s', item.privilege, item.receivers)) ON CONFLICT DO NOTHING;
    EXCEPTION WHEN insufficient_privilege THEN
      RAISE NOTICE 'Chirrup''s roles lack a privilege that a policy or default needs. As its owner: GRANT % TO %;',
        item.privilege, item.receivers;
    END;
  END LOOP;
END
$$;

-- down
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  item record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'chats'::regclass AND tgname = 'chats_note_unused')
  THEN RETURN; END IF;
  DROP TRIGGER chats_note_unused ON chats;
  DROP TRIGGER chats_move_message ON chats;
  DROP TRIGGER chats_note_truncation ON chats;
  ALTER TABLE chats ENABLE TRIGGER chats_number_message, ENABLE TRIGGER chats_note_deletions;
  FOR item IN SELECT name FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'granted' LOOP
    BEGIN
      EXECUTE format('REVOKE %s', item.name);
    EXCEPTION WHEN undefined_object OR undefined_table OR undefined_function THEN NULL;
    END;
  END LOOP;
  DELETE FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'granted';
  CREATE OR REPLACE FUNCTION chirrup_number_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $f$
  BEGIN
    IF NEW.session_id IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtextextended(NEW.workspace_id::text, 0));
      SELECT id INTO NEW.session_id FROM chat_sessions
      WHERE workspace_id = NEW.workspace_id AND channel = 'legacy' AND deleted_at IS NULL
      ORDER BY created_at, id LIMIT 1;
      IF NOT FOUND THEN
        NEW.session_id := gen_random_uuid();
        INSERT INTO chirrup_adoptions VALUES ('chat_sessions', 'opened', NEW.session_id);
        INSERT INTO chat_sessions (id, workspace_id, title, status, closed_at, waiting_since, channel)
        VALUES (NEW.session_id, NEW.workspace_id, 'Legacy Chat', 'closed', now(), NULL, 'legacy');
      END IF;
    END IF;
    NEW.created_at := coalesce(NEW.created_at, now());
    UPDATE chat_sessions s SET last_seq = s.last_seq + 1, message_count = s.message_count + 1,
      last_message_at = NEW.created_at, last_message_preview = left(NEW.content, 120),
      last_message_role = NEW.role,
      status = CASE WHEN is_new THEN 'closed' ELSE s.status END,
      channel = CASE WHEN is_new THEN 'legacy' ELSE s.channel END,
      closed_at = CASE WHEN is_new THEN NEW.created_at ELSE s.closed_at END,
      waiting_since = CASE WHEN is_new THEN NULL WHEN s.status = 'waiting'
        THEN coalesce(s.waiting_since, statement_timestamp()) ELSE s.waiting_since END
    FROM (SELECT id, status = 'waiting' AND last_seq = 0 AND channel = 'web' AND NOT EXISTS (SELECT FROM visitors v
        WHERE v.workspace_id = n.workspace_id AND v.id = n.user_id) AS is_new
      FROM chat_sessions n WHERE id = NEW.session_id FOR UPDATE) AS session
    WHERE s.id = session.id AND s.workspace_id = NEW.workspace_id RETURNING s.last_seq INTO NEW.seq;
    NEW.content_hash := sha256(convert_to(
      NEW.kind || E'\n' || coalesce(NEW.payload::text, '') || E'\n' || coalesce(NEW.content, ''), 'UTF8'));
    RETURN NEW;
  END
  $f$;
END
$$;
DROP FUNCTION IF EXISTS chirrup_note_unused(), chirrup_move_message(), chirrup_note_truncation(),
  chirrup_next_number(uuid, uuid, text, text, timestamptz);
