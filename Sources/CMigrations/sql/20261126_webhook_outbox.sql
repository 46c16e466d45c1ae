-- Triggers fill the outbox of webhooks in the transaction of the event, for every writer.
-- parent: 20261122_create_quarantine
-- locks: chats, chat_sessions
-- loses: the order of deliveries, those of deleted webhooks, and the times since when webhooks fail
--
-- One trigger runs for each statement, over the inserted rows: most events are entries of a conversation's log. The
-- trigger of that log is enabled only while a webhook is, so that without webhooks an append costs nothing more. The
-- triggers lock nothing and can violate no constraint, so that no webhook prevents the storing of a message. Therefore
-- a delivery has no foreign key to its webhook, and the deliveries of a deleted webhook are deleted later.

ALTER TABLE webhook_deliveries
  ADD COLUMN IF NOT EXISTS session_id uuid,
  ADD COLUMN IF NOT EXISTS seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS lease uuid,
  DROP CONSTRAINT IF EXISTS webhook_deliveries_workspace_id_webhook_id_fkey;
ALTER TABLE webhooks
  ADD COLUMN IF NOT EXISTS failures integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS failing_since timestamptz;
COMMENT ON COLUMN webhook_deliveries.session_id IS 'Deliveries of one session come to a webhook one after the other.';
COMMENT ON COLUMN webhook_deliveries.seq IS 'Their order: the line''s number in the session''s log, 0 for its beginning.';
COMMENT ON COLUMN webhook_deliveries.lease IS 'The attempt that is under way; it is given up at next_attempt_at.';
COMMENT ON COLUMN webhooks.failures IS 'Attempts that failed since one succeeded.';
COMMENT ON COLUMN webhooks.failing_since IS 'When the first of them did.';

DROP INDEX IF EXISTS webhook_deliveries_due;
CREATE INDEX IF NOT EXISTS webhook_deliveries_ripe ON webhook_deliveries (workspace_id, webhook_id, next_attempt_at)
  WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS webhook_deliveries_order ON webhook_deliveries (workspace_id, webhook_id, session_id, seq)
  WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS webhook_deliveries_log ON webhook_deliveries (workspace_id, webhook_id, created_at, id);

-- The functions write with the rights of the tables' owner for every role, and find Chirrup's tables only.
CREATE OR REPLACE FUNCTION chirrup_outbox_chats() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  -- Off while old messages are brought in: they are no news.
  IF current_setting('chirrup.webhooks', true) = 'off' OR NOT EXISTS (SELECT FROM webhooks WHERE is_enabled) THEN
    RETURN NULL;
  END IF;
  INSERT INTO webhook_deliveries (workspace_id, webhook_id, event, session_id, seq, payload)
  SELECT c.workspace_id, w.id, e.name, c.session_id, c.seq, jsonb_build_object(
    'workspace', c.workspace_id,
    'at', to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'conversation', jsonb_build_object('id', c.session_id, 'visitor', s.user_id, 'channel', s.channel,
      'status', s.status, 'operator', s.assigned_operator_id),
    CASE c.kind WHEN 'event' THEN 'event' ELSE 'message' END,
    CASE c.kind WHEN 'event' THEN c.payload || jsonb_build_object('seq', c.seq)
    ELSE jsonb_build_object('id', c.id, 'seq', c.seq, 'kind', c.kind, 'body', c.content, 'payload', c.payload,
      'sender', jsonb_build_object('kind', c.role, 'id', coalesce(c.operator_id, c.user_id),
        'name', c.operator_name)) END)
  FROM added c
  CROSS JOIN LATERAL (SELECT CASE
    WHEN c.kind = 'event' THEN CASE c.payload ->> 'event'
      WHEN 'rated' THEN 'rating.created'
      WHEN 'claimed' THEN 'conversation.claimed'
      WHEN 'assigned' THEN 'conversation.assigned'
      WHEN 'unassigned' THEN 'conversation.unassigned'
      WHEN 'transferred' THEN 'conversation.transferred'
      WHEN 'handover' THEN 'conversation.handover'
      WHEN 'closed' THEN 'conversation.closed'
      WHEN 'reopened' THEN 'conversation.reopened' END
    WHEN c.kind <> 'note' THEN 'message.created' END AS name) AS e
  JOIN webhooks w ON w.workspace_id = c.workspace_id AND w.is_enabled
    AND (w.events = '{}' OR e.name = ANY (w.events))
  LEFT JOIN chat_sessions s ON s.workspace_id = c.workspace_id AND s.id = c.session_id
  WHERE e.name IS NOT NULL;
  RETURN NULL;
END
$f$;
CREATE OR REPLACE TRIGGER chats_outbox AFTER INSERT ON chats REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_outbox_chats();

CREATE OR REPLACE FUNCTION chirrup_outbox_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  IF current_setting('chirrup.webhooks', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO webhook_deliveries (workspace_id, webhook_id, event, session_id, payload)
  SELECT s.workspace_id, w.id, 'conversation.created', s.id, jsonb_build_object(
    'workspace', s.workspace_id,
    'at', to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'conversation', jsonb_build_object('id', s.id, 'visitor', s.user_id, 'channel', s.channel,
      'status', s.status, 'operator', s.assigned_operator_id, 'title', s.title, 'context', s.context))
  FROM added s JOIN webhooks w ON w.workspace_id = s.workspace_id AND w.is_enabled
    AND (w.events = '{}' OR 'conversation.created' = ANY (w.events));
  RETURN NULL;
END
$f$;
CREATE OR REPLACE TRIGGER chat_sessions_outbox AFTER INSERT ON chat_sessions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_outbox_sessions();

CREATE OR REPLACE FUNCTION chirrup_outbox_visitors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  IF current_setting('chirrup.webhooks', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO webhook_deliveries (workspace_id, webhook_id, event, payload)
  SELECT v.workspace_id, w.id, 'visitor.created', jsonb_build_object(
    'workspace', v.workspace_id,
    'at', to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'visitor', jsonb_build_object('id', v.id, 'external_id', v.external_id, 'name', v.name, 'email', v.email))
  FROM added v JOIN webhooks w ON w.workspace_id = v.workspace_id AND w.is_enabled
    AND (w.events = '{}' OR 'visitor.created' = ANY (w.events));
  RETURN NULL;
END
$f$;
CREATE OR REPLACE TRIGGER visitors_outbox AFTER INSERT ON visitors REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_outbox_visitors();

-- Enables the trigger of chats while a webhook is enabled. Transactions that change webhooks run this one after the
-- other, so that each sees the result of the previous one. Disabling only saves time, so it does not wait.
CREATE OR REPLACE FUNCTION chirrup_arm_outbox() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET lock_timeout = '500ms' AS $f$
DECLARE
  is_armed boolean;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('chirrup_arm_outbox', 0));
  SELECT tgenabled <> 'D' INTO is_armed FROM pg_trigger
  WHERE tgrelid = 'chats'::regclass AND tgname = 'chats_outbox';
  IF EXISTS (SELECT FROM webhooks WHERE is_enabled) THEN
    IF NOT is_armed THEN ALTER TABLE chats ENABLE TRIGGER chats_outbox; END IF;
  ELSIF is_armed THEN
    BEGIN
      ALTER TABLE chats DISABLE TRIGGER chats_outbox;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END IF;
  RETURN NULL;
END
$f$;
CREATE OR REPLACE TRIGGER webhooks_arm_outbox AFTER INSERT OR DELETE OR UPDATE OF is_enabled ON webhooks
  FOR EACH STATEMENT EXECUTE FUNCTION chirrup_arm_outbox();

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM webhooks WHERE is_enabled) THEN ALTER TABLE chats DISABLE TRIGGER chats_outbox; END IF;
END
$$;

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DROP TRIGGER IF EXISTS webhooks_arm_outbox ON webhooks;
DROP TRIGGER IF EXISTS visitors_outbox ON visitors;
DROP TRIGGER IF EXISTS chat_sessions_outbox ON chat_sessions;
DROP TRIGGER IF EXISTS chats_outbox ON chats;
DROP FUNCTION IF EXISTS chirrup_arm_outbox();
DROP FUNCTION IF EXISTS chirrup_outbox_visitors();
DROP FUNCTION IF EXISTS chirrup_outbox_sessions();
DROP FUNCTION IF EXISTS chirrup_outbox_chats();
DROP INDEX IF EXISTS webhook_deliveries_ripe, webhook_deliveries_order, webhook_deliveries_log;
CREATE INDEX IF NOT EXISTS webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'pending';
ALTER TABLE webhooks DROP COLUMN failures, DROP COLUMN failing_since;
ALTER TABLE webhook_deliveries DROP COLUMN session_id, DROP COLUMN seq, DROP COLUMN lease;
DELETE FROM webhook_deliveries d WHERE NOT EXISTS
  (SELECT FROM webhooks w WHERE w.workspace_id = d.workspace_id AND w.id = d.webhook_id);
ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_workspace_id_webhook_id_fkey
  FOREIGN KEY (workspace_id, webhook_id) REFERENCES webhooks (workspace_id, id) ON DELETE CASCADE;
