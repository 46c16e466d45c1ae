-- Replies by e-mail: what the gateway's mailbox has received, and who reads it.
-- parent: 20270504_channel_menus
-- compatible: 20261229_gateways
-- locks: workspaces, chat_sessions
-- loses: which messages were received, and replies that are not in the log yet
--
-- A message is stored here before it is moved out of the mailbox's folder, so a gateway that crashes in between fetches
-- it again and finds it stored. Its messages in the log have ids that follow from its own.

CREATE TABLE IF NOT EXISTS mail_received (
  key bytea PRIMARY KEY CHECK (octet_length(key) = 32),
  seq bigint GENERATED ALWAYS AS IDENTITY,
  workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
  session_id uuid,
  stored_in uuid,
  state text NOT NULL CHECK (state IN ('pending', 'stored', 'refused')),
  reason text NOT NULL DEFAULT '',
  message_id uuid,
  author text,
  is_verified boolean NOT NULL DEFAULT false,
  verdict text NOT NULL DEFAULT '' CHECK (length(verdict) <= 100),
  key_id text,
  ciphertext bytea CHECK (octet_length(ciphertext) >= 28),
  received_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, stored_in) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS mail_received_pending ON mail_received (workspace_id, seq) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS mail_received_session ON mail_received (workspace_id, session_id, received_at)
  WHERE session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS mail_received_stored ON mail_received (workspace_id, stored_in, seq)
  WHERE stored_in IS NOT NULL;
CREATE INDEX IF NOT EXISTS mail_received_old ON mail_received (received_at) WHERE state = 'refused';
COMMENT ON TABLE mail_received IS
  'What the mailbox for replies has received. A message that comes again changes nothing.';
COMMENT ON COLUMN mail_received.key IS 'SHA-256 of its Message-ID, or of its place in the mailbox.';
COMMENT ON COLUMN mail_received.workspace_id IS 'NULL: it belongs to no conversation.';
COMMENT ON COLUMN mail_received.session_id IS 'The conversation to which it replies.';
COMMENT ON COLUMN mail_received.stored_in IS
  'The conversation that has its messages: another one, if that to which it replies was closed.';
COMMENT ON COLUMN mail_received.reason IS 'Why it was refused.';
COMMENT ON COLUMN mail_received.message_id IS 'Its first message in the log.';
COMMENT ON COLUMN mail_received.author IS 'The author''s address in a form that people recognise: a…@example.com.';
COMMENT ON COLUMN mail_received.is_verified IS
  'DMARC confirms the author, whose address is that of the visitor. Payloads of messages do not prove that.';
COMMENT ON COLUMN mail_received.verdict IS
  'What the receiving mail server says of the author: spf=pass dkim=pass dmarc=pass. Empty: nothing.';
COMMENT ON COLUMN mail_received.key_id IS 'Which key of the configuration encrypted the content.';
COMMENT ON COLUMN mail_received.ciphertext IS
  'Its text. AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes. NULL: it is settled.';

CREATE TABLE IF NOT EXISTS mail_readers (
  mailbox bytea PRIMARY KEY CHECK (octet_length(mailbox) = 32),
  lease uuid NOT NULL,
  ends_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE mail_readers IS 'Which gateway reads a mailbox: one at a time, so that none is asked twice.';
COMMENT ON COLUMN mail_readers.mailbox IS 'SHA-256 of its URL and user.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('mail_received', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('mail_readers', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down
-- locks: workspaces, chat_sessions

DROP TABLE IF EXISTS mail_readers, mail_received;
