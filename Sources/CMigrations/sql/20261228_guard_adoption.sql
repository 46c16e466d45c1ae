-- Beside an older application: statements that would take away what the gateway needs are refused, messages that the
-- application deletes are counted, and sessions that its messages open are on record as Chirrup's.
-- parent: 20261227_oidc
-- was: 061abcb8bd8db01a
-- locks: chats, chat_sessions
-- loses: how many messages of each session the older application has deleted

-- There is no foreign key to chat_sessions: each one costs every message of every session some instructions.
CREATE TABLE IF NOT EXISTS chirrup_deletions (
  session_id uuid PRIMARY KEY,
  messages bigint NOT NULL
);
COMMENT ON TABLE chirrup_deletions IS
  'How many messages of each session the older application has deleted: so many numbers of its log are free.';
DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('chirrup_deletions', NULL, NULL, '');
END
$$;

-- The messages of a session that is deleted itself are no gap.
CREATE OR REPLACE FUNCTION chirrup_note_deletions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  INSERT INTO chirrup_deletions AS d (session_id, messages)
  SELECT s.id, count(*) FROM gone JOIN chat_sessions s ON s.id = gone.session_id GROUP BY s.id ORDER BY s.id
  ON CONFLICT (session_id) DO UPDATE SET messages = d.messages + excluded.messages;
  DELETE FROM chirrup_deletions d USING (SELECT DISTINCT session_id FROM gone) AS g
  WHERE d.session_id = g.session_id AND NOT EXISTS (SELECT FROM chat_sessions s WHERE s.id = g.session_id);
  RETURN NULL;
END
$f$;

-- As before, and a session that it opens is on record, so that `down` knows it among the sessions of the application.
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

DO $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT p.oid::regprocedure AS name, grantee
    FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE pronamespace = quote_ident(current_schema())::regnamespace AND grantee <> proowner
      AND proname IN ('chirrup_note_deletions', 'chirrup_number_message')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', item.name,
      CASE item.grantee WHEN 0 THEN 'PUBLIC' ELSE item.grantee::regrole::text END);
  END LOOP;
END
$$;

-- A database without an older application needs nothing of this.
DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN
    CREATE OR REPLACE TRIGGER chats_note_deletions AFTER DELETE ON chats REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION chirrup_note_deletions();
    -- Its name is in the error of a DROP without CASCADE. It has no row.
    CREATE OR REPLACE VIEW chirrup_needs_this_until_migrate_down AS
      SELECT s.id, c.session_id FROM chats c JOIN chat_sessions s ON s.id = c.session_id WHERE false;
    COMMENT ON VIEW chirrup_needs_this_until_migrate_down IS
      'Keeps the sessions from being dropped by hand: `chirrup migrate down` gives the tables back as they were.';
    PERFORM chirrup_seal('chirrup_needs_this_until_migrate_down');
  ELSE
    DROP FUNCTION chirrup_note_deletions(), chirrup_number_message();
  END IF;
END
$$;

-- An older application may bring statements that undo its own sessions (the rollback of the usual guide), of which
-- some would succeed and leave the gateway without a policy, an index or the column. They are refused.
DO $do$
DECLARE
  needed text[];
  item record;
BEGIN
  IF NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found') THEN RETURN; END IF;
  WITH tables AS (
    SELECT oid, relname::text AS relation FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace
      AND relname IN ('workspaces', 'chats', 'chat_sessions')
  ), parts (kind, relation, name, definition, class, id, place) AS (
    SELECT 'column', relation, attname::text, NULL, 'pg_class'::regclass, oid, attnum::int
    FROM tables JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT 'index', relation, c.relname, pg_get_indexdef(c.oid), 'pg_class'::regclass, c.oid, 0
    FROM tables t JOIN pg_index ON indrelid = t.oid JOIN pg_class c ON c.oid = indexrelid
    UNION ALL SELECT 'policy', relation, polname, NULL, 'pg_policy'::regclass, p.oid, 0
    FROM tables t JOIN pg_policy p ON polrelid = t.oid
    UNION ALL SELECT 'trigger', relation, tgname, NULL, 'pg_trigger'::regclass, g.oid, 0
    FROM tables t JOIN pg_trigger g ON tgrelid = t.oid AND NOT tgisinternal
    UNION ALL SELECT 'constraint', relation, conname, pg_get_constraintdef(c.oid), 'pg_constraint'::regclass, c.oid, 0
    FROM tables t JOIN pg_constraint c ON conrelid = t.oid AND contype = 'f'
  )
  SELECT array_agg(identity ORDER BY identity) INTO needed FROM (
    SELECT o.identity FROM pg_class c CROSS JOIN LATERAL pg_identify_object('pg_class'::regclass, c.oid, 0) AS o
    WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'v')
      AND (relname IN ('workspaces', 'chats', 'chat_sessions') OR relname LIKE 'chirrup\_%')
    UNION ALL
    SELECT o.identity FROM parts p CROSS JOIN LATERAL pg_identify_object(class, id, place) AS o
    WHERE NOT EXISTS (SELECT FROM chirrup_adoptions a
        WHERE a.relation = p.relation AND a.kind = p.kind AND a.name = p.name
          AND (p.definition IS NULL OR a.definition = p.definition))
      OR p.kind = 'column' AND p.name IN ('id', 'workspace_id', 'session_id', 'user_id', 'role', 'content', 'title',
        'name', 'created_at', 'updated_at', 'deleted_at')
      -- The guide's, where they are what Chirrup needs.
      OR p.kind = 'index' AND p.name ~ '^idx_(chats_session|chat_sessions)_'
  ) AS known;
  EXECUTE format($create$
    CREATE OR REPLACE FUNCTION chirrup_guard() RETURNS event_trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $f$
    DECLARE
      lost text;
    BEGIN
      IF TG_EVENT = 'sql_drop' THEN
        SELECT object_type || ' ' || object_identity INTO lost FROM pg_event_trigger_dropped_objects()
        WHERE object_identity = ANY (%1$L::text[]) ORDER BY original DESC LIMIT 1;
      ELSE
        SELECT CASE WHEN relrowsecurity THEN 'column session_id, NOT NULL, of ' ELSE 'row security of ' END
          || c.oid::regclass INTO lost
        FROM pg_event_trigger_ddl_commands() JOIN pg_class c ON c.oid = objid
        WHERE classid = 'pg_class'::regclass AND c.oid IN (to_regclass(%2$L), to_regclass(%3$L))
          AND (NOT relrowsecurity OR c.oid = to_regclass(%2$L) AND NOT EXISTS (SELECT FROM pg_attribute
            WHERE attrelid = c.oid AND attname = 'session_id' AND attnotnull)) LIMIT 1;
      END IF;
      -- A session that runs migrations holds their lock.
      IF lost IS NULL OR EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'
          AND objsubid = 1 AND classid::bigint << 32 | objid::bigint = 27988542884475248) THEN RETURN; END IF;
      RAISE EXCEPTION 'Chirrup needs the %%, so this statement is refused', lost
        USING ERRCODE = 'dependent_objects_still_exist', HINT = 'To remove Chirrup and to get the tables back as they '
          'were: chirrup migrate down --to none --yes. To run the statement nevertheless, as a superuser: '
          'ALTER EVENT TRIGGER ' || (SELECT string_agg(format('%%I DISABLE;', evtname), ' ALTER EVENT TRIGGER ')
            FROM pg_event_trigger WHERE evtfoid = %4$L::regproc);
    END
    $f$
  $create$, needed,
    format('%I.chats', current_schema()), format('%I.chat_sessions', current_schema()),
    format('%I.chirrup_guard', current_schema()));
  COMMENT ON FUNCTION chirrup_guard() IS
    'Refuses statements that would drop what the gateway needs, unless migrations run them.';
  FOR item IN
    SELECT format('CREATE EVENT TRIGGER %I ON %s%s EXECUTE FUNCTION %I.chirrup_guard();',
      concat_ws('_', 'chirrup_guard', kind, current_schema()), event, condition, current_schema()) AS command
    FROM (VALUES ('drops', 'sql_drop', ''), ('changes', 'ddl_command_end', ' WHEN TAG IN (''ALTER TABLE'')'))
      AS e (kind, event, condition)
    WHERE NOT EXISTS (SELECT FROM pg_event_trigger WHERE evtfoid = 'chirrup_guard'::regproc AND evtevent = event)
  LOOP
    BEGIN
      EXECUTE item.command;
    EXCEPTION WHEN insufficient_privilege THEN
      RAISE NOTICE 'Only a superuser may create event triggers. Until then, not every statement is refused that takes '
        'away what the gateway needs: undo Chirrup by `chirrup migrate down` only. A superuser mends it: %',
        item.command;
    END;
  END LOOP;
END
$do$;

-- down
-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  item record;
BEGIN
  FOR item IN SELECT evtname FROM pg_event_trigger WHERE evtfoid = to_regproc('chirrup_guard') LOOP
    EXECUTE format('DROP EVENT TRIGGER %I', item.evtname);
  END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE EXCEPTION 'the event triggers of Chirrup belong to a superuser' USING ERRCODE = 'insufficient_privilege',
    HINT = (SELECT 'as a superuser: ' || string_agg(format('DROP EVENT TRIGGER %I;', evtname), ' ')
      FROM pg_event_trigger WHERE evtfoid = to_regproc('chirrup_guard'));
END
$$;
DROP FUNCTION IF EXISTS chirrup_guard();
DROP VIEW IF EXISTS chirrup_needs_this_until_migrate_down;
DROP TRIGGER IF EXISTS chats_note_deletions ON chats;
DROP FUNCTION IF EXISTS chirrup_note_deletions();
DROP TABLE IF EXISTS chirrup_deletions;
