-- The queue: the order of waiting conversations, the capacity of operators, and their presence.
-- parent: 20261126_webhook_outbox
-- was: 7d44064dd1682253
-- loses: the presence of operators, and the queue positions of assigned conversations
--
-- A conversation is in the queue from its first message on (waiting_since); one without a message is behind all
-- others. A batch of messages changes none of these columns, except once by the first message, so the batches' updates
-- stay HOT.

ALTER TABLE chat_sessions
  ADD COLUMN IF NOT EXISTS queued_at timestamptz,
  ADD COLUMN IF NOT EXISTS returned_by uuid;
COMMENT ON COLUMN chat_sessions.waiting_since IS
  'Since when it stands in line; NULL when somebody has it, or nobody has written yet.';
COMMENT ON COLUMN chat_sessions.queued_at IS
  'The place in line that it had when it was taken: it gets it back when it returns.';
COMMENT ON COLUMN chat_sessions.returned_by IS
  'Who gave it back to the queue: it is not given to the same operator again by itself.';

SELECT chirrup_quiet('chat_sessions');
UPDATE chat_sessions SET waiting_since = NULL
WHERE status = 'waiting' AND last_seq = 0 AND waiting_since IS NOT NULL;
SELECT chirrup_loud('chat_sessions');

-- The next conversation, the load of an operator, and the recent rate of claims are queried under a lock or for every
-- waiting visitor. Without its index, each query would read all open conversations, or all that ever existed.
CREATE INDEX IF NOT EXISTS idx_chat_sessions_line ON chat_sessions (workspace_id, waiting_since, id)
  WHERE status = 'waiting' AND deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS idx_chat_sessions_load ON chat_sessions (workspace_id, assigned_operator_id)
  WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS idx_chat_sessions_claimed_at ON chat_sessions (workspace_id, claimed_at)
  WHERE claimed_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS operator_presence (
  workspace_id uuid NOT NULL,
  operator_id uuid NOT NULL,
  is_available boolean NOT NULL DEFAULT true,
  seen_at timestamptz NOT NULL DEFAULT now(),
  given_at timestamptz,
  PRIMARY KEY (workspace_id, operator_id),
  FOREIGN KEY (workspace_id, operator_id) REFERENCES memberships (workspace_id, operator_id) ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE operator_presence IS
  'Operators whose console is open on any gateway: each gateway writes every few seconds whom it sees.';
COMMENT ON COLUMN operator_presence.is_available IS 'Takes new conversations; what the operator has said.';
COMMENT ON COLUMN operator_presence.seen_at IS 'Online is who was seen within the last 15 seconds.';
COMMENT ON COLUMN operator_presence.given_at IS 'When a conversation was last given to the operator by itself.';

-- A missing or invalid setting counts as its default.
CREATE OR REPLACE FUNCTION chirrup_queue(workspace uuid, OUT capacity integer, OUT is_automatic boolean,
  OUT reassign_after interval, OUT shows_position boolean) LANGUAGE plpgsql STABLE AS $$
DECLARE
  given jsonb;
  seconds integer;
BEGIN
  BEGIN
    SELECT value::jsonb INTO given FROM system_settings WHERE workspace_id = workspace AND key = 'queue';
  EXCEPTION WHEN invalid_text_representation THEN NULL;
  END;
  capacity := coalesce(CASE WHEN given ->> 'capacity' ~ '^[1-9][0-9]{0,3}$'
    THEN (given ->> 'capacity')::integer END, 5);
  is_automatic := coalesce(given ->> 'assign' = 'least_busy', false);
  seconds := coalesce(CASE WHEN given ->> 'reassign_after_seconds' ~ '^[0-9]{1,5}$'
    THEN (given ->> 'reassign_after_seconds')::integer END, 60);
  reassign_after := CASE WHEN seconds > 0 THEN make_interval(secs => greatest(15, seconds)) END;
  shows_position := coalesce(given ->> 'show_position' <> 'false', true);
END
$$;
COMMENT ON FUNCTION chirrup_queue(uuid) IS 'The workspace''s setting “queue”, with its defaults.';

-- down

DROP FUNCTION IF EXISTS chirrup_queue(uuid);
DROP TABLE IF EXISTS operator_presence;
DROP INDEX IF EXISTS idx_chat_sessions_line, idx_chat_sessions_load, idx_chat_sessions_claimed_at;
SELECT chirrup_quiet('chat_sessions');
UPDATE chat_sessions SET waiting_since = created_at WHERE status = 'waiting' AND waiting_since IS NULL;
SELECT chirrup_loud('chat_sessions');
ALTER TABLE chat_sessions DROP COLUMN IF EXISTS queued_at, DROP COLUMN IF EXISTS returned_by;
COMMENT ON COLUMN chat_sessions.waiting_since IS 'Since when nobody has claimed it; NULL when somebody has.';
