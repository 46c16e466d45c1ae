-- E-mail: the outbox, the addresses that want none, and one-time links for passwords.
-- parent: 20270501_attachments
-- compatible: 20261229_gateways
-- locks: workspaces, chat_sessions, operators
-- loses: what is to be sent, who wants no e-mail, and links that were sent
--
-- What a visitor is to be sent is found in the conversations' rows (see MailDigest), so no message waits for it and the
-- log has no trigger.

CREATE TABLE IF NOT EXISTS mail_outbox (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  kind text NOT NULL
    CHECK (kind IN ('answers', 'offline', 'transcript', 'invitation', 'password_reset', 'alert', 'test')),
  session_id uuid,
  first_seq bigint,
  last_seq bigint,
  address_hash bytea NOT NULL CHECK (octet_length(address_hash) = 32),
  recipient text NOT NULL,
  key_id text,
  ciphertext bytea CHECK (octet_length(ciphertext) >= 28),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed', 'stopped')),
  reason text NOT NULL DEFAULT '',
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  lease uuid,
  ended_at timestamptz,
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS mail_outbox_due ON mail_outbox (created_at, id) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS mail_outbox_recent ON mail_outbox (workspace_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS mail_outbox_session ON mail_outbox (workspace_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS mail_outbox_address ON mail_outbox (address_hash, created_at);
CREATE UNIQUE INDEX IF NOT EXISTS mail_outbox_answers ON mail_outbox (session_id, last_seq) WHERE kind = 'answers';
COMMENT ON TABLE mail_outbox IS
  'E-mail to be sent, and what became of it. Rows of answers are also the mark up to which a conversation was sent.';
COMMENT ON COLUMN mail_outbox.id IS 'The first part of Message-ID, at each attempt.';
COMMENT ON COLUMN mail_outbox.last_seq IS 'The last message of the conversation that it contains.';
COMMENT ON COLUMN mail_outbox.address_hash IS 'SHA-256 of the recipient''s address in lower case, as in mail_stops.';
COMMENT ON COLUMN mail_outbox.recipient IS 'The address in a form that people recognise: a…@example.com.';
COMMENT ON COLUMN mail_outbox.key_id IS 'Which key of the configuration encrypted the content.';
COMMENT ON COLUMN mail_outbox.ciphertext IS
  'Addresses, subject and text. AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes. NULL: it is settled.';
COMMENT ON COLUMN mail_outbox.reason IS 'Of the last failed attempt: what the mail server said, without addresses.';
COMMENT ON COLUMN mail_outbox.lease IS 'The attempt that is under way; it is given up at next_attempt_at.';

CREATE TABLE IF NOT EXISTS mail_stops (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  address_hash bytea NOT NULL CHECK (octet_length(address_hash) = 32),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, address_hash)
);
COMMENT ON TABLE mail_stops IS 'The addresses that get no more answers by e-mail, since their owner has ended that.';
COMMENT ON COLUMN mail_stops.address_hash IS 'SHA-256 of the address in lower case: it stays when a visitor is erased.';

CREATE TABLE IF NOT EXISTS password_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS password_links_operator ON password_links (operator_id);
CREATE INDEX IF NOT EXISTS password_links_workspace ON password_links (workspace_id);
COMMENT ON TABLE password_links IS 'Links that were sent to members, with which they set a password once.';

-- A missing or invalid setting counts as the default.
CREATE OR REPLACE FUNCTION chirrup_mail_quiet(workspace uuid) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  given jsonb;
BEGIN
  given := (SELECT value::jsonb FROM system_settings WHERE workspace_id = workspace AND key = 'mail');
  IF given IS NULL THEN RETURN 300; END IF;
  IF given ->> 'answers' = 'false' THEN RETURN NULL; END IF;
  RETURN coalesce((given ->> 'answers_after_seconds')::bigint, 300);
EXCEPTION WHEN data_exception THEN RETURN 300;
END
$$;
COMMENT ON FUNCTION chirrup_mail_quiet(uuid) IS
  'Seconds after which answers that a visitor has not read are sent by e-mail; NULL: they are not.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('mail_outbox', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('mail_stops', NULL, NULL, 'INSERT, DELETE');
  PERFORM chirrup_secure('password_links', NULL, NULL, 'INSERT, DELETE');
  IF NOT has_function_privilege('chirrup_gateway', 'chirrup_mail_quiet(uuid)', 'EXECUTE') THEN
    GRANT EXECUTE ON FUNCTION chirrup_mail_quiet(uuid) TO chirrup_gateway;
  END IF;
END
$$;

-- down
-- locks: workspaces, chat_sessions, operators

DROP FUNCTION IF EXISTS chirrup_mail_quiet(uuid);
DROP TABLE IF EXISTS password_links, mail_stops, mail_outbox;
