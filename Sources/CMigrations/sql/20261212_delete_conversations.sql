-- Deleted conversations: their author, their notifications, and the time of their erasure. A conversation enters the
-- queue with its first message, whichever application has created its row.
-- parent: 20261206_seal_tables
-- loses: the authors of deletions; conversations that wait for their erasure stay deleted, and nothing erases them

ALTER TABLE chat_sessions
  ADD COLUMN IF NOT EXISTS deleted_by uuid,
  ADD COLUMN IF NOT EXISTS deleted_via text
    CONSTRAINT chat_sessions_deleted_via_check CHECK (deleted_via IN ('operator', 'api_key', 'command'));
COMMENT ON COLUMN chat_sessions.deleted_by IS 'The operator or API key that deleted it; NULL for the command line.';
COMMENT ON COLUMN chat_sessions.deleted_via IS
  'How it was deleted. NULL: by another application, whose rows are never erased by a deadline.';

-- For the list of deleted conversations, and for the search by their deadline.
CREATE INDEX IF NOT EXISTS idx_chat_sessions_deleted ON chat_sessions (workspace_id, deleted_at, id)
  WHERE deleted_at IS NOT NULL;

-- A row without a time used to enter the queue before its first message.
ALTER TABLE chat_sessions ALTER COLUMN waiting_since DROP DEFAULT;
SELECT chirrup_quiet('chat_sessions');
UPDATE chat_sessions SET waiting_since = NULL
WHERE status = 'waiting' AND last_seq = 0 AND waiting_since IS NOT NULL;
SELECT chirrup_loud('chat_sessions');

-- The setting “retention” of a workspace. A missing or invalid one counts as the default.
CREATE OR REPLACE FUNCTION chirrup_deleted_days(workspace uuid) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
  given jsonb;
BEGIN
  BEGIN
    SELECT value::jsonb INTO given FROM system_settings WHERE workspace_id = workspace AND key = 'retention';
  EXCEPTION WHEN invalid_text_representation THEN NULL;
  END;
  RETURN coalesce(CASE WHEN given ->> 'deleted_days' ~ '^[1-9][0-9]{0,3}$'
    THEN least((given ->> 'deleted_days')::integer, 3650) END, 30);
END
$$;
COMMENT ON FUNCTION chirrup_deleted_days(uuid) IS 'For how many days a deleted conversation can be restored.';

-- After a deletion or restoration by any writer, every gateway reads the conversation again, and webhooks get an event
-- after those of its log. The notification names no gateway as its sender, so every gateway handles it.
CREATE OR REPLACE FUNCTION chirrup_note_deletion() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
DECLARE
  name text := CASE WHEN NEW.deleted_at IS NULL THEN 'conversation.restored' ELSE 'conversation.deleted' END;
BEGIN
  PERFORM pg_notify('chirrup', format('00000000-0000-0000-0000-000000000000 w%s s%s q', NEW.workspace_id, NEW.id));
  IF current_setting('chirrup.webhooks', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO webhook_deliveries (workspace_id, webhook_id, event, session_id, seq, payload)
  SELECT NEW.workspace_id, w.id, name, NEW.id, NEW.last_seq, jsonb_build_object(
    'workspace', NEW.workspace_id,
    'at', to_char(coalesce(NEW.deleted_at, clock_timestamp()) AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'conversation', jsonb_build_object('id', NEW.id, 'visitor', NEW.user_id, 'channel', NEW.channel,
      'status', NEW.status, 'operator', NEW.assigned_operator_id))
  FROM webhooks w
  WHERE w.workspace_id = NEW.workspace_id AND w.is_enabled AND (w.events = '{}' OR name = ANY (w.events));
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_note_deletion() IS 'A conversation was deleted or restored: gateways and webhooks get to know.';
CREATE OR REPLACE TRIGGER chat_sessions_note_deletion AFTER UPDATE OF deleted_at ON chat_sessions
  FOR EACH ROW WHEN ((OLD.deleted_at IS NULL) IS DISTINCT FROM (NEW.deleted_at IS NULL))
  EXECUTE FUNCTION chirrup_note_deletion();

-- Announces a title that the command line or another application has changed.
CREATE OR REPLACE FUNCTION chirrup_note_title() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
  PERFORM pg_notify('chirrup', format('00000000-0000-0000-0000-000000000000 w%s s%s', NEW.workspace_id, NEW.id));
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_note_title() IS 'A conversation has another title: gateways read it again.';
CREATE OR REPLACE TRIGGER chat_sessions_note_title AFTER UPDATE OF title ON chat_sessions
  FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title) EXECUTE FUNCTION chirrup_note_title();

-- down

DROP TRIGGER IF EXISTS chat_sessions_note_title ON chat_sessions;
DROP FUNCTION IF EXISTS chirrup_note_title();
DROP TRIGGER IF EXISTS chat_sessions_note_deletion ON chat_sessions;
DROP FUNCTION IF EXISTS chirrup_note_deletion();
DROP FUNCTION IF EXISTS chirrup_deleted_days(uuid);
ALTER TABLE chat_sessions ALTER COLUMN waiting_since SET DEFAULT now();
DROP INDEX IF EXISTS idx_chat_sessions_deleted;
ALTER TABLE chat_sessions DROP COLUMN IF EXISTS deleted_by, DROP COLUMN IF EXISTS deleted_via;
