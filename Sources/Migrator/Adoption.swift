/// The functions with which the migrations adopt a table that the database had before Chirrup: its
/// definition is recorded, what would keep Chirrup from writing is relaxed on record, and names
/// that the owner has taken are left to the owner.
enum Adoption {
  static let functions = AdoptedNames.function + record + names + triggers + privileges

  private static let record = """
    -- Records a table's definition; true if the table existed before Chirrup.
    CREATE OR REPLACE FUNCTION chirrup_adopt(wanted text) RETURNS boolean LANGUAGE plpgsql AS $f$
    DECLARE
      found regclass := to_regclass(format('%I.%I', current_schema(), wanted));
      known text;
    BEGIN
      SELECT kind INTO known FROM chirrup_adoptions WHERE relation = wanted AND name = '';
      IF known IS NOT NULL THEN RETURN known = 'found'; END IF;
      IF found IS NULL THEN
        INSERT INTO chirrup_adoptions VALUES (wanted, 'made', '');
        RETURN false;
      END IF;
      INSERT INTO chirrup_adoptions
      SELECT wanted, 'found', '', obj_description(found)
      UNION ALL SELECT wanted, 'row security', 'enabled', relrowsecurity::text
        FROM pg_class WHERE oid = found
      UNION ALL SELECT wanted, 'options', '', array_to_string(reloptions, ', ')
        FROM pg_class WHERE oid = found AND reloptions IS NOT NULL
      UNION ALL SELECT wanted, 'column', attname, col_description(found, attnum)
        FROM pg_attribute WHERE attrelid = found AND attnum > 0 AND NOT attisdropped
      UNION ALL SELECT wanted, 'not null', attname, NULL
        FROM pg_attribute WHERE attrelid = found AND attnum > 0 AND attnotnull AND NOT attisdropped
      UNION ALL SELECT wanted, 'constraint', conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE conrelid = found
      UNION ALL SELECT wanted, 'constraint comment', conname, obj_description(oid, 'pg_constraint')
        FROM pg_constraint WHERE conrelid = found
        AND obj_description(oid, 'pg_constraint') IS NOT NULL
      UNION ALL SELECT wanted, 'index', relname, pg_get_indexdef(indexrelid)
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = found
      UNION ALL SELECT wanted, 'index comment', relname, obj_description(indexrelid, 'pg_class')
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = found
        AND obj_description(indexrelid, 'pg_class') IS NOT NULL
      UNION ALL SELECT wanted, 'trigger', tgname, NULL
        FROM pg_trigger WHERE tgrelid = found AND NOT tgisinternal
      UNION ALL SELECT wanted, 'policy', polname, NULL FROM pg_policy WHERE polrelid = found;
      RETURN true;
    END
    $f$;

    -- Checks that a column of an adopted table has the type that Chirrup reads and writes.
    CREATE OR REPLACE FUNCTION chirrup_expect(wanted text, col text, VARIADIC types text[])
    RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      actual text := (SELECT format_type(atttypid, NULL) FROM pg_attribute
        WHERE attrelid = wanted::regclass AND attname = col AND NOT attisdropped);
    BEGIN
      IF actual <> ALL (types) THEN
        RAISE EXCEPTION '%.% is % here, and % in Chirrup', wanted, col, actual, types[1]
          USING ERRCODE = 'datatype_mismatch', HINT = format(
            'ALTER TABLE %I ALTER COLUMN %I TYPE %s USING %I::%s;',
            wanted, col, types[1], col, types[1]);
      END IF;
    END
    $f$;

    -- Relaxes on record what the owner demands of every row and Chirrup's rows lack: NOT NULL of
    -- columns other than `given`, and the foreign keys of user_id (visitors are no users).
    CREATE OR REPLACE FUNCTION chirrup_relax(wanted text, VARIADIC given text[])
    RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      item record;
    BEGIN
      IF NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = wanted AND kind = 'found') THEN
        RETURN;
      END IF;
      FOR item IN
        SELECT attname FROM pg_attribute
        WHERE attrelid = wanted::regclass AND attnum > 0 AND attnotnull AND NOT atthasdef
          AND attidentity = '' AND attname <> ALL (given)
          AND attname IN (SELECT name FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'not null')
          AND NOT EXISTS (SELECT FROM pg_constraint
            WHERE conrelid = attrelid AND contype = 'p' AND attnum = ANY (conkey))
      LOOP
        INSERT INTO chirrup_adoptions VALUES (wanted, 'relaxed', item.attname)
        ON CONFLICT DO NOTHING;
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I DROP NOT NULL', wanted, item.attname);
      END LOOP;
      FOR item IN
        SELECT conname FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid
        WHERE conrelid = wanted::regclass AND contype = 'f' AND attname = 'user_id'
          AND conkey = ARRAY[attnum] AND wanted IN ('chats', 'chat_sessions')
      LOOP EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', wanted, item.conname); END LOOP;
    END
    $f$;

    """

  private static let names = """
    -- Drops an index of the owner's that has our name and another definition; `chirrup_release`
    -- creates it again.
    CREATE OR REPLACE FUNCTION chirrup_yield(wanted text, index text, definition text)
    RETURNS void LANGUAGE plpgsql AS $f$
    BEGIN
      IF EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = wanted AND kind = 'index' AND name = index)
        AND pg_get_indexdef(to_regclass(index)) NOT LIKE definition
      THEN EXECUTE format('DROP INDEX %I', index); END IF;
    END
    $f$;

    -- Keeps updated_at by a trigger, under another name where the owner has one of this name, and
    -- by another function where the owner's update_updated_at() does something else.
    CREATE OR REPLACE FUNCTION chirrup_touch(wanted text, condition text DEFAULT '')
    RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      trigger_name text := wanted || '_updated_at';
      touch text := format('%I.chirrup_updated_at()', current_schema());
    BEGIN
      IF EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = wanted AND kind = 'trigger' AND name = trigger_name) THEN
        trigger_name := 'chirrup_' || trigger_name;
      END IF;
      IF to_regprocedure(touch) IS NULL THEN
        touch := format('%I.update_updated_at()', current_schema());
      END IF;
      EXECUTE format('CREATE OR REPLACE TRIGGER %I BEFORE UPDATE ON %I FOR EACH ROW %s '
        'EXECUTE FUNCTION %s', trigger_name, wanted, condition, touch);
    END
    $f$;

    """

  private static let triggers = """
    -- Until `chirrup_loud` in the same transaction, changes of the rows of an adopted table fire no
    -- trigger. Writers wait for the transaction, readers do not.
    CREATE OR REPLACE FUNCTION chirrup_quiet(wanted text) RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      item record;
    BEGIN
      IF NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = wanted AND kind = 'found') THEN
        RETURN;
      END IF;
      -- A table with deferred checks of changed rows cannot be altered.
      SET CONSTRAINTS ALL IMMEDIATE;
      FOR item IN
        SELECT tgname, tgenabled FROM pg_trigger
        WHERE tgrelid = wanted::regclass AND NOT tgisinternal AND tgenabled <> 'D'
      LOOP
        INSERT INTO chirrup_adoptions VALUES (wanted, 'quiet', item.tgname, item.tgenabled)
        ON CONFLICT (relation, kind, name) DO UPDATE SET definition = excluded.definition;
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER %I', wanted, item.tgname);
      END LOOP;
    END
    $f$;

    CREATE OR REPLACE FUNCTION chirrup_loud(wanted text) RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      item record;
    BEGIN
      FOR item IN
        SELECT name, definition FROM chirrup_adoptions
        JOIN pg_trigger ON tgrelid = wanted::regclass AND tgname = name
        WHERE relation = wanted AND kind = 'quiet'
      LOOP
        EXECUTE format('ALTER TABLE %I ENABLE %s TRIGGER %I', wanted,
          CASE item.definition WHEN 'A' THEN 'ALWAYS' WHEN 'R' THEN 'REPLICA' ELSE '' END,
          item.name);
      END LOOP;
      DELETE FROM chirrup_adoptions WHERE relation = wanted AND kind = 'quiet';
    END
    $f$;

    """

  private static let privileges = """
    -- Takes back what default privileges gave to other roles on a table that Chirrup has created.
    CREATE OR REPLACE FUNCTION chirrup_seal(wanted text) RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      target oid := to_regclass(wanted);
      item record;
    BEGIN
      IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = wanted AND kind = 'found') THEN
        RETURN;
      END IF;
      -- The table, and the sequences that belong to it.
      FOR item IN
        SELECT DISTINCT c.oid::regclass AS name, c.relkind, acl.grantee
        FROM (SELECT target AS oid UNION ALL SELECT objid FROM pg_depend
            WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
              AND refobjid = target AND deptype IN ('a', 'i')) AS made
        JOIN pg_class c USING (oid) CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE (c.oid = target OR c.relkind = 'S')
          AND acl.grantee NOT IN (c.relowner, coalesce(to_regrole('chirrup_reader')::oid, 0),
            coalesce(to_regrole('chirrup_gateway')::oid, 0))
          OR c.oid = target AND acl.grantee = 0
      LOOP
        EXECUTE format('REVOKE ALL ON %s %s FROM %s',
          CASE item.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, item.name,
          CASE item.grantee WHEN 0 THEN 'PUBLIC' ELSE item.grantee::regrole::text END);
      END LOOP;
    END
    $f$;

    """

  /// The way back.
  static let release = """
    -- Makes the rows that were written while a foreign key was relaxed obey it again: they belong
    -- to people who are no users of the owner's. Chirrup's rows alone can break it.
    CREATE OR REPLACE FUNCTION chirrup_readmit(wanted text) RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      item record;
    BEGIN
      FOR item IN
        SELECT c.conname, a.attname, a.attnotnull, c.confrelid::regclass AS target,
          t.attname AS key, EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'not null' AND name = a.attname) AS is_demanded
        FROM pg_constraint c
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
        JOIN pg_attribute t ON t.attrelid = c.confrelid AND c.confkey = ARRAY[t.attnum]
        WHERE c.conrelid = wanted::regclass AND c.contype = 'f' AND NOT c.convalidated
      LOOP
        EXECUTE format(CASE WHEN item.is_demanded THEN 'DELETE FROM %1$I c'
            ELSE 'UPDATE %1$I c SET %2$I = NULL' END
          || ' WHERE %2$I IS NOT NULL AND NOT EXISTS (SELECT FROM %3$s p WHERE p.%4$I = c.%2$I)',
          wanted, item.attname, item.target, item.key);
      END LOOP;
    END
    $f$;

    -- Gives a table its storage parameters back, in their order: pg_dump prints them in it. Those
    -- that the application has set since then stay.
    CREATE OR REPLACE FUNCTION chirrup_reset_options(wanted text) RETURNS void LANGUAGE plpgsql
    AS $f$
    DECLARE
      options text[] := (SELECT reloptions FROM pg_class WHERE oid = wanted::regclass);
      -- Older versions of Chirrup recorded a row for each parameter.
      recorded text[] := string_to_array((SELECT
          coalesce(max(definition) FILTER (WHERE kind = 'options'),
            string_agg(name || '=' || definition, ', ') FILTER (WHERE kind = 'option'))
        FROM chirrup_adoptions WHERE relation = wanted), ', ');
      given text;
    BEGIN
      IF wanted <> 'chat_sessions' OR options IS NOT DISTINCT FROM recorded THEN RETURN; END IF;
      IF ARRAY(SELECT o FROM unnest(options) AS o WHERE o NOT LIKE 'fillfactor=%' ORDER BY o)
        <> ARRAY(SELECT o FROM unnest(recorded) AS o WHERE o NOT LIKE 'fillfactor=%' ORDER BY o)
      THEN
        SELECT o INTO given FROM unnest(recorded) AS o WHERE o LIKE 'fillfactor=%';
        EXECUTE format('ALTER TABLE %s %s', wanted::regclass,
          CASE WHEN given IS NULL THEN 'RESET (fillfactor)' ELSE 'SET (' || given || ')' END);
        RETURN;
      END IF;
      IF options IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s RESET (%s)', wanted::regclass,
          (SELECT string_agg(split_part(option, '=', 1), ', ') FROM unnest(options) AS option));
      END IF;
      IF recorded IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s SET (%s)', wanted::regclass,
          array_to_string(recorded, ', '));
      END IF;
    END
    $f$;

    -- Whether `chirrup_relax` took NOT NULL from a column. Older versions did not record it.
    CREATE OR REPLACE FUNCTION chirrup_is_relaxed(wanted text, col name) RETURNS boolean
    LANGUAGE sql STABLE AS $f$
      SELECT EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = wanted AND kind = 'not null' AND name = col)
        AND (EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'relaxed' AND name = col)
          OR wanted = 'chats' AND col = 'session_id'
          OR col <> ALL (CASE wanted WHEN 'workspaces' THEN ARRAY['id', 'name']
              WHEN 'chats' THEN ARRAY['id', 'workspace_id', 'role', 'content', 'created_at']
              WHEN 'chat_sessions' THEN ARRAY['id', 'workspace_id']
              WHEN 'system_settings' THEN ARRAY['key', 'value']
              WHEN 'intents' THEN ARRAY['name', 'keyword']
              ELSE ARRAY['object_id', 'object_type', 'payload'] END)
            AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = wanted::regclass
              AND attname = col AND NOT atthasdef AND attidentity = ''))
    $f$;

    -- Reverts chirrup_adopt: drops the table, or removes the additions to an adopted one. What the
    -- application has added, changed or dropped since then stays as it is.
    CREATE OR REPLACE FUNCTION chirrup_release(wanted text) RETURNS void LANGUAGE plpgsql AS $f$
    DECLARE
      kept regclass := to_regclass(wanted);
      known text;
      item record;
    BEGIN
      SELECT kind INTO known FROM chirrup_adoptions WHERE relation = wanted AND name = '';
      IF kept IS NULL THEN
        DELETE FROM chirrup_adoptions WHERE relation = wanted;
        RETURN;
      ELSIF known IS NULL THEN
        RAISE EXCEPTION 'it is not on record whether Chirrup made the table %', wanted
          USING HINT = format(
            'INSERT INTO chirrup_adoptions VALUES (%L, ''made'', '''');  -- if it may be dropped',
            wanted);
      ELSIF known = 'made' THEN
        EXECUTE format('DROP TABLE %s', kept);
        DELETE FROM chirrup_adoptions WHERE relation = wanted;
        RETURN;
      END IF;
      FOR item IN
        SELECT format('DROP POLICY %I ON %s', polname, kept) AS command
          FROM pg_policy WHERE polrelid = kept AND chirrup_is_given(wanted, 'policy', polname)
            AND NOT EXISTS (SELECT FROM chirrup_adoptions
              WHERE relation = wanted AND kind = 'policy' AND name = polname)
        UNION ALL SELECT format('DROP TRIGGER %I ON %s', tgname, kept)
          FROM pg_trigger WHERE tgrelid = kept AND NOT tgisinternal
            AND chirrup_is_given(wanted, 'trigger', tgname)
            AND NOT EXISTS (SELECT FROM chirrup_adoptions
              WHERE relation = wanted AND kind = 'trigger' AND name = tgname)
        UNION ALL SELECT format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', kept, conname)
          FROM pg_constraint WHERE conrelid = kept
            AND chirrup_is_given(wanted, 'constraint', conname)
            AND NOT EXISTS (SELECT FROM chirrup_adoptions
              WHERE relation = wanted AND kind = 'constraint' AND name = conname
              AND definition = pg_get_constraintdef(pg_constraint.oid))
      LOOP EXECUTE item.command; END LOOP;
      PERFORM chirrup_quiet(wanted);
      FOR item IN
        SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = kept AND chirrup_is_given(wanted, 'index', relname)
          AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'index' AND name = relname
            AND definition = pg_get_indexdef(indexrelid))
      LOOP EXECUTE format('DROP INDEX %I', item.name); END LOOP;
      FOR item IN
        SELECT attname AS name FROM pg_attribute
        WHERE attrelid = kept AND attnum > 0 AND NOT attisdropped
          AND chirrup_is_given(wanted, 'column', attname)
          AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'column' AND name = attname)
      LOOP EXECUTE format('ALTER TABLE %s DROP COLUMN %I', kept, item.name); END LOOP;
      -- Foreign keys come last, and are checked after the rows that break them are gone.
      FOR item IN
        SELECT a.*, definition LIKE 'FOREIGN KEY%' AND definition NOT LIKE '%NOT VALID' AS is_late
        FROM chirrup_adoptions a WHERE relation = wanted AND kind = 'constraint'
          -- Those that migrations drop. The application has dropped others.
          AND (chirrup_is_given(wanted, 'constraint', name)
            OR definition ~ '^FOREIGN KEY \\([^)]*\\m(user_id|session_id)\\M'
            OR definition ~ '^CHECK .*\\mrole\\M')
          AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = kept AND conname = a.name)
        ORDER BY a.definition LIKE 'FOREIGN KEY%', a.name
      LOOP
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', kept, item.name, item.definition,
          CASE WHEN item.is_late THEN ' NOT VALID' END);
        IF item.is_late THEN
          PERFORM chirrup_readmit(wanted);
          EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', kept, item.name);
        END IF;
      END LOOP;
      FOR item IN
        SELECT name, definition FROM chirrup_adoptions a WHERE relation = wanted AND kind = 'index'
          AND chirrup_is_given(wanted, 'index', name)
          AND to_regclass(format('%I.%I', current_schema(), name)) IS NULL
          AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'constraint' AND name = a.name)
      LOOP EXECUTE item.definition; END LOOP;
      -- While NOT NULL was relaxed, Chirrup alone wrote rows without a value.
      FOR item IN
        SELECT attname AS name FROM pg_attribute JOIN chirrup_adoptions ON name = attname
        WHERE attrelid = kept AND NOT attnotnull AND relation = wanted AND kind = 'not null'
          AND chirrup_is_relaxed(wanted, attname)
      LOOP
        EXECUTE format('DELETE FROM %s WHERE %I IS NULL', kept, item.name);
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', kept, item.name);
      END LOOP;
      FOR item IN
        SELECT attname AS name FROM pg_attribute
        WHERE attrelid = kept AND wanted = 'chats' AND attname = 'session_id' AND attnotnull
          AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'not null' AND name = attname)
      LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', kept, item.name);
      END LOOP;
      FOR item IN
        SELECT format('COMMENT ON TABLE %s IS %L', kept, definition) AS command
          FROM chirrup_adoptions
          WHERE relation = wanted AND kind = 'found' AND wanted = 'chat_sessions'
        UNION ALL SELECT format('COMMENT ON COLUMN %s.%I IS %L', kept, name, definition)
          FROM chirrup_adoptions JOIN pg_attribute ON attrelid = kept AND attname = name
            AND NOT attisdropped
          WHERE relation = wanted AND kind = 'column' AND chirrup_is_given(wanted, kind, name)
            AND name NOT IN ('content', 'created_at', 'updated_at', 'title', 'name')
        UNION ALL SELECT format('COMMENT ON CONSTRAINT %I ON %s IS %L', name, kept, definition)
          FROM chirrup_adoptions JOIN pg_constraint c ON conrelid = kept AND conname = name
          WHERE relation = wanted AND kind = 'constraint comment'
            AND obj_description(c.oid, 'pg_constraint') IS NULL
        UNION ALL SELECT format('COMMENT ON INDEX %I IS %L', name, definition)
          FROM chirrup_adoptions JOIN pg_class c ON relname = name
            AND relnamespace = quote_ident(current_schema())::regnamespace
          WHERE relation = wanted AND kind = 'index comment'
            AND obj_description(c.oid, 'pg_class') IS NULL
      LOOP EXECUTE item.command; END LOOP;
      IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = wanted
          AND kind = 'row security' AND definition = 'false') THEN
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', kept);
      END IF;
      PERFORM chirrup_reset_options(wanted);
      PERFORM chirrup_loud(wanted);
      DELETE FROM chirrup_adoptions WHERE relation = wanted;
    END
    $f$;
    """
}
