-- Web Push: the browsers to which operators' notifications go, what was pushed to each, and the gateway's key.
-- parent: 20270320_analytics_groups
-- compatible: 20261229_gateways
-- loses: the browsers that get notifications, and the key: operators turn push on again
--
-- A subscription belongs to a login and ends with it. What is to be pushed is found in the conversations' rows (see
-- PushQueue), so no message waits for it and the log has no trigger.

CREATE TABLE IF NOT EXISTS push_keys (
  is_ours boolean PRIMARY KEY DEFAULT true CHECK (is_ours),
  point bytea NOT NULL CHECK (octet_length(point) = 65),
  key_id text NOT NULL,
  ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) >= 28),
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE push_keys IS 'The key with which the gateways identify themselves to push services (VAPID, RFC 8292).';
COMMENT ON COLUMN push_keys.point IS 'The public key: an uncompressed point of P-256.';
COMMENT ON COLUMN push_keys.key_id IS 'Which key of the configuration encrypted the private key.';
COMMENT ON COLUMN push_keys.ciphertext IS 'The private key. AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';

CREATE TABLE IF NOT EXISTS push_subscriptions (
  login_id uuid PRIMARY KEY REFERENCES operator_sessions (id) ON DELETE CASCADE,
  key_id text NOT NULL,
  ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) >= 28),
  waiting boolean NOT NULL,
  messages boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  paused_until timestamptz,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz
);
COMMENT ON TABLE push_subscriptions IS 'The browsers that get push messages, one of each login.';
COMMENT ON COLUMN push_subscriptions.key_id IS 'Which key of the configuration encrypted it.';
COMMENT ON COLUMN push_subscriptions.ciphertext IS
  'Address and keys. AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';
COMMENT ON COLUMN push_subscriptions.waiting IS 'Whether new conversations are pushed.';
COMMENT ON COLUMN push_subscriptions.messages IS 'Whether messages in the operator''s conversations are pushed.';
COMMENT ON COLUMN push_subscriptions.paused_until IS 'The push service has asked for a pause until then.';
COMMENT ON COLUMN push_subscriptions.failures IS 'Attempts that failed since one succeeded.';
COMMENT ON COLUMN push_subscriptions.failing_since IS 'When the first of them did.';

CREATE TABLE IF NOT EXISTS push_notices (
  login_id uuid NOT NULL REFERENCES push_subscriptions (login_id) ON DELETE CASCADE,
  session_id uuid NOT NULL,
  reason text NOT NULL CHECK (reason IN ('waiting', 'message')),
  event_at timestamptz NOT NULL,
  next_attempt_at timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  lease uuid,
  PRIMARY KEY (login_id, session_id)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS push_notices_due ON push_notices (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
COMMENT ON TABLE push_notices IS
  'The newest event of a conversation that a browser was or is to be sent: an outbox, and the mark up to which it was.';
COMMENT ON COLUMN push_notices.session_id IS 'No foreign key: notices of conversations that are gone are deleted later.';
COMMENT ON COLUMN push_notices.event_at IS 'When the conversation entered the queue, or its last message came.';
COMMENT ON COLUMN push_notices.next_attempt_at IS 'NULL: nothing more is to be sent.';
COMMENT ON COLUMN push_notices.lease IS 'The attempt that is under way; it is given up at next_attempt_at.';

-- A missing or invalid setting counts as always open.
CREATE OR REPLACE FUNCTION chirrup_is_open_line(workspace uuid, team uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  given jsonb := (SELECT t.hours FROM chat_teams t WHERE t.workspace_id = workspace AND t.id = team);
BEGIN
  IF given IS NULL THEN
    given := (SELECT value::jsonb FROM system_settings WHERE workspace_id = workspace AND key = 'hours');
  END IF;
  RETURN coalesce(chirrup_is_open('{"always": true, "time_zone": "UTC", "days": [], "holidays": []}' || given, now()), true);
EXCEPTION WHEN data_exception THEN RETURN true;
END
$$;
COMMENT ON FUNCTION chirrup_is_open_line(uuid, uuid) IS
  'Whether it is within the business hours of a team, or of the workspace if the team is NULL or has none.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('push_keys', NULL, NULL, 'INSERT, UPDATE (key_id, ciphertext)');
  PERFORM chirrup_secure('push_subscriptions', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('push_notices', NULL, NULL, 'INSERT, UPDATE, DELETE');
  IF NOT has_function_privilege('chirrup_gateway', 'chirrup_is_open_line(uuid, uuid)', 'EXECUTE') THEN
    GRANT EXECUTE ON FUNCTION chirrup_is_open_line(uuid, uuid) TO chirrup_gateway;
  END IF;
END
$$;

-- step: whether a console of an operator is visible
-- locks: operator_presence

ALTER TABLE operator_presence
  ADD COLUMN IF NOT EXISTS active_at timestamptz,
  ADD COLUMN IF NOT EXISTS hidden_at timestamptz;
COMMENT ON COLUMN operator_presence.active_at IS 'When a console of the operator was last visible.';
COMMENT ON COLUMN operator_presence.hidden_at IS 'When one was hidden or closed. A later active_at: another is visible.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  GRANT UPDATE (active_at, hidden_at) ON operator_presence TO chirrup_gateway;
END
$$;

-- down
-- locks: operator_presence IN ACCESS EXCLUSIVE MODE

ALTER TABLE operator_presence DROP COLUMN IF EXISTS active_at, DROP COLUMN IF EXISTS hidden_at;
DROP FUNCTION IF EXISTS chirrup_is_open_line(uuid, uuid);
DROP TABLE IF EXISTS push_notices, push_subscriptions, push_keys;
