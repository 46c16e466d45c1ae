/// The migrator's own tables and functions: the applied migrations, and for each table whether
/// Chirrup created it or adopted an existing one. Reverting removes only additions.
///
/// Invariant: a table is dropped only if it is recorded as created by Chirrup; an adopted table
/// gets its earlier definition back.
enum Bookkeeping {
  /// Idempotent. Runs under the migrator's lock before every change.
  static let script = """
    SET LOCAL client_min_messages = warning;
    CREATE TABLE IF NOT EXISTS chirrup_migrations (
      revision text PRIMARY KEY,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      duration_ms bigint NOT NULL
    );
    ALTER TABLE chirrup_migrations ADD COLUMN IF NOT EXISTS parent text;
    COMMENT ON TABLE chirrup_migrations IS 'Which migrations of Chirrup this database has.';
    CREATE TABLE IF NOT EXISTS chirrup_adoptions (
      relation text NOT NULL, kind text NOT NULL, name text NOT NULL, definition text,
      PRIMARY KEY (relation, kind, name)
    );
    COMMENT ON TABLE chirrup_adoptions IS
      'Of each table: made by Chirrup, or found, and then what it was like before.';

    -- Records a table's definition; true if the table existed before Chirrup.
    CREATE OR REPLACE FUNCTION chirrup_adopt(wanted text) RETURNS boolean LANGUAGE plpgsql AS $f$
    DECLARE
      found regclass := to_regclass(wanted);
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
      UNION ALL SELECT wanted, 'option', split_part(option, '=', 1), split_part(option, '=', 2)
        FROM pg_class, unnest(reloptions) AS option WHERE oid = found
      UNION ALL SELECT wanted, 'column', attname, col_description(found, attnum)
        FROM pg_attribute WHERE attrelid = found AND attnum > 0 AND NOT attisdropped
      UNION ALL SELECT wanted, 'not null', attname, NULL
        FROM pg_attribute WHERE attrelid = found AND attnum > 0 AND attnotnull AND NOT attisdropped
      UNION ALL SELECT wanted, 'constraint', conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE conrelid = found
      UNION ALL SELECT wanted, 'index', relname, pg_get_indexdef(indexrelid)
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = found
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

    -- Reverts chirrup_adopt: drops the table, or removes the additions to an adopted one.
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
          FROM pg_policy WHERE polrelid = kept AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'policy' AND name = polname)
        UNION ALL SELECT format('DROP TRIGGER %I ON %s', tgname, kept)
          FROM pg_trigger WHERE tgrelid = kept AND NOT tgisinternal
            AND NOT EXISTS (SELECT FROM chirrup_adoptions
              WHERE relation = wanted AND kind = 'trigger' AND name = tgname)
        UNION ALL SELECT format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', kept, conname)
          FROM pg_constraint WHERE conrelid = kept AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'constraint' AND name = conname
              AND definition = pg_get_constraintdef(pg_constraint.oid))
      LOOP EXECUTE item.command; END LOOP;
      FOR item IN
        SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = kept AND NOT EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = wanted AND kind = 'index' AND name = relname)
      LOOP EXECUTE format('DROP INDEX %I', item.name); END LOOP;
      FOR item IN
        SELECT attname AS name FROM pg_attribute
        WHERE attrelid = kept AND attnum > 0 AND NOT attisdropped
          AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = wanted AND kind = 'column' AND name = attname)
      LOOP EXECUTE format('ALTER TABLE %s DROP COLUMN %I', kept, item.name); END LOOP;
      FOR item IN
        SELECT a.* FROM chirrup_adoptions a WHERE relation = wanted AND kind = 'constraint'
          AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = kept AND conname = a.name)
        ORDER BY a.definition LIKE 'FOREIGN KEY%', a.name
      LOOP
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', kept, item.name, item.definition);
      END LOOP;
      FOR item IN
        SELECT attname AS name FROM pg_attribute JOIN chirrup_adoptions ON name = attname
        WHERE attrelid = kept AND NOT attnotnull AND relation = wanted AND kind = 'not null'
      LOOP EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', kept, item.name); END LOOP;
      FOR item IN
        SELECT * FROM chirrup_adoptions WHERE relation = wanted AND kind IN ('column', 'found')
      LOOP
        EXECUTE CASE item.kind
          WHEN 'found' THEN format('COMMENT ON TABLE %s IS %L', kept, item.definition)
          ELSE format('COMMENT ON COLUMN %s.%I IS %L', kept, item.name, item.definition) END;
      END LOOP;
      IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = wanted
          AND kind = 'row security' AND definition = 'false') THEN
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', kept);
      END IF;
      FOR item IN
        SELECT split_part(option, '=', 1) AS name FROM pg_class, unnest(reloptions) AS option
        WHERE oid = kept
      LOOP EXECUTE format('ALTER TABLE %s RESET (%s)', kept, item.name); END LOOP;
      FOR item IN
        SELECT name, definition FROM chirrup_adoptions WHERE relation = wanted AND kind = 'option'
      LOOP EXECUTE format('ALTER TABLE %s SET (%s = %s)', kept, item.name, item.definition);
      END LOOP;
      DELETE FROM chirrup_adoptions WHERE relation = wanted;
    END
    $f$;
    """

  /// Runs after the last migration was reverted: nothing of Chirrup remains.
  static let removal = """
    SET LOCAL client_min_messages = warning;
    DROP FUNCTION IF EXISTS chirrup_adopt(text), chirrup_expect(text, text, text[]),
      chirrup_release(text);
    DROP TABLE IF EXISTS chirrup_adoptions, chirrup_migrations;
    """
}
