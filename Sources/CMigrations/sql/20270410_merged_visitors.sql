-- Two visitors who are one person are merged: one goes on as the other's browser.
-- parent: 20270405_assist
-- compatible: 20261229_gateways
-- locks: visitors, chat_sessions IN ACCESS EXCLUSIVE MODE
-- loses: which visitors were merged: their browsers begin new conversations, the others stay with the surviving visitor
--
-- A merged visitor keeps the row, the refresh tokens and the events of its browsers, so every token goes on. Its
-- conversations belong to the surviving visitor, and note whose browsers continue them: what an operator merges gives
-- no browser access to conversations of another one.

ALTER TABLE visitors
  ADD COLUMN IF NOT EXISTS merged_into uuid REFERENCES visitors (id) ON DELETE CASCADE,
  ADD COLUMN IF NOT EXISTS merged_at timestamptz;
COMMENT ON COLUMN visitors.merged_into IS
  'The visitor who has its conversations now. That one is not merged itself. NULL: not merged.';
COMMENT ON COLUMN visitors.merged_at IS 'When it was merged.';
CREATE INDEX IF NOT EXISTS visitors_merged_into ON visitors (merged_into) WHERE merged_into IS NOT NULL;

ALTER TABLE chat_sessions ADD COLUMN IF NOT EXISTS merged_from uuid;
COMMENT ON COLUMN chat_sessions.merged_from IS
  'The merged visitor whose browsers continue it; NULL: those of its visitor (user_id).';

CREATE OR REPLACE FUNCTION chirrup_outbox_merge() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  IF current_setting('chirrup.webhooks', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO webhook_deliveries (workspace_id, webhook_id, event, payload)
  SELECT v.workspace_id, w.id, 'visitor.merged', jsonb_build_object(
    'workspace', v.workspace_id,
    'at', to_char(NEW.merged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'visitor', jsonb_build_object('id', v.id, 'external_id', v.external_id, 'name', v.name, 'email', v.email),
    'merged', NEW.id)
  FROM visitors v JOIN webhooks w ON w.workspace_id = v.workspace_id AND w.is_enabled
    AND (w.events = '{}' OR 'visitor.merged' = ANY (w.events))
  WHERE v.workspace_id = NEW.workspace_id AND v.id = NEW.merged_into;
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_outbox_merge() IS 'Writes the event visitor.merged for the webhooks.';
DO $$
DECLARE
  item record;
BEGIN
  -- PUBLIC, and whoever default privileges name.
  FOR item IN
    SELECT p.oid::regprocedure AS name, grantee
    FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE p.oid = to_regprocedure(format('%I.chirrup_outbox_merge()', current_schema())) AND grantee <> proowner
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', item.name,
      CASE item.grantee WHEN 0 THEN 'PUBLIC' ELSE item.grantee::regrole::text END);
  END LOOP;
END
$$;
CREATE OR REPLACE TRIGGER visitors_merged AFTER UPDATE OF merged_into ON visitors FOR EACH ROW
  WHEN (OLD.merged_into IS NULL AND NEW.merged_into IS NOT NULL) EXECUTE FUNCTION chirrup_outbox_merge();

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('visitors', 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id'')) '
    'AND ((SELECT chirrup_setting(''chirrup.user_id'')) IS NULL OR id = (SELECT chirrup_setting(''chirrup.user_id'')) '
    'OR merged_into = (SELECT chirrup_setting(''chirrup.user_id'')))', '*', 'UPDATE (merged_into, merged_at)');
END
$$;

-- down
-- locks: visitors, chat_sessions IN ACCESS EXCLUSIVE MODE

DROP TRIGGER IF EXISTS visitors_merged ON visitors;
DROP FUNCTION IF EXISTS chirrup_outbox_merge();
DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('visitors', 'workspace_id = (SELECT chirrup_setting(''chirrup.workspace_id'')) '
    'AND ((SELECT chirrup_setting(''chirrup.user_id'')) IS NULL OR id = (SELECT chirrup_setting(''chirrup.user_id'')))',
    '*', '');
END
$$;
DROP INDEX IF EXISTS visitors_merged_into;
ALTER TABLE visitors DROP COLUMN IF EXISTS merged_at, DROP COLUMN IF EXISTS merged_into;
ALTER TABLE chat_sessions DROP COLUMN IF EXISTS merged_from;
