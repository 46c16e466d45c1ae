-- A message is written without looking at the rules for a conversation's status and for how it was deleted.
-- parent: 20270325_web_push
-- compatible: 20261229_gateways
-- locks: chat_sessions
-- loses: nothing
--
-- PostgreSQL reads a CHECK from the catalogue in each statement that writes a row, also if it changes no column of it:
-- a tenth of the instructions of a batch of one message. A trigger of a column counts only in statements that name the
-- column, as all of Chirrup's do that change it. The error is that of the CHECK.
-- A check of the owner's with another definition stays as it is.

CREATE OR REPLACE FUNCTION chirrup_refuse_row() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
  RAISE EXCEPTION 'new row for relation "%" violates check constraint "%"', TG_TABLE_NAME, TG_NAME
    USING ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END
$f$;
COMMENT ON FUNCTION chirrup_refuse_row() IS 'For triggers that take the place of a CHECK, with its name.';

DO $$
DECLARE
  rule record;
BEGIN
  FOR rule IN
    SELECT name, field, definition FROM (VALUES
      ('chat_sessions_status_check', 'status', 'status = ANY (''{waiting,active,closed}''::text[])'),
      ('chat_sessions_deleted_via_check', 'deleted_via',
        'deleted_via = ANY (''{operator,api_key,command}''::text[])')
    ) AS r (name, field, definition)
    JOIN pg_constraint ON conrelid = to_regclass('chat_sessions') AND conname = name
      AND pg_get_constraintdef(oid) = format('CHECK ((%s))', definition) AND convalidated
    WHERE NOT EXISTS (SELECT FROM chirrup_adoptions a
      WHERE a.relation = 'chat_sessions' AND a.kind = 'exempt' AND a.name = r.name)
  LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER INSERT OR UPDATE OF %I ON chat_sessions '
      'FOR EACH ROW WHEN (NOT (NEW.%s)) EXECUTE FUNCTION chirrup_refuse_row()',
      rule.name, rule.field, rule.definition);
    EXECUTE format('ALTER TABLE chat_sessions DROP CONSTRAINT %I', rule.name);
  END LOOP;
END
$$;

-- down
-- locks: chat_sessions IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  rule record;
BEGIN
  FOR rule IN
    SELECT name, definition FROM (VALUES
      ('chat_sessions_status_check', 'status = ANY (''{waiting,active,closed}''::text[])'),
      ('chat_sessions_deleted_via_check', 'deleted_via = ANY (''{operator,api_key,command}''::text[])')
    ) AS r (name, definition)
    JOIN pg_trigger ON tgrelid = to_regclass('chat_sessions') AND tgname = name
      AND tgfoid = to_regprocedure(format('%I.chirrup_refuse_row()', current_schema()))
  LOOP
    EXECUTE format('ALTER TABLE chat_sessions ADD CONSTRAINT %I CHECK (%s)', rule.name, rule.definition);
    EXECUTE format('DROP TRIGGER %I ON chat_sessions', rule.name);
  END LOOP;
END
$$;
DROP FUNCTION IF EXISTS chirrup_refuse_row();
