-- Channels: people who write on another platform, such as LINE, their conversations there, and what was sent to them.
-- parent: 20270502_mail
-- compatible: 20261229_gateways
-- locks: workspaces, chat_sessions, visitors
-- loses: which messages were sent on a channel, which were not, and the events that are not in the log yet
--
-- The log is the outbox: a conversation has the last message that is done, and whatever follows in the log is to be sent.
-- So a message needs no second row until it was sent, and the log has no trigger.

CREATE TABLE IF NOT EXISTS channel_events (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  channel text NOT NULL CHECK (channel ~ '^[a-z][a-z0-9_-]{0,31}$'),
  id text NOT NULL CHECK (length(id) BETWEEN 1 AND 128),
  seq bigint GENERATED ALWAYS AS IDENTITY,
  address text,
  payload text,
  received_at timestamptz NOT NULL DEFAULT now(),
  processed_at timestamptz,
  result text,
  PRIMARY KEY (workspace_id, channel, id)
);
CREATE INDEX IF NOT EXISTS channel_events_new ON channel_events (workspace_id, seq) WHERE processed_at IS NULL;
CREATE INDEX IF NOT EXISTS channel_events_old ON channel_events (received_at);
COMMENT ON TABLE channel_events IS 'What a platform has sent to its webhook. An event that comes again changes nothing.';
COMMENT ON COLUMN channel_events.id IS 'The platform''s id of the event.';
COMMENT ON COLUMN channel_events.address IS 'The platform''s id of the person.';
COMMENT ON COLUMN channel_events.payload IS 'As received. NULL: its content is in the log.';
COMMENT ON COLUMN channel_events.result IS 'What became of it: stored, known, followed, left, blocked, refused, unsupported.';

CREATE TABLE IF NOT EXISTS channel_people (
  workspace_id uuid NOT NULL,
  channel text NOT NULL CHECK (channel ~ '^[a-z][a-z0-9_-]{0,31}$'),
  address text NOT NULL CHECK (length(address) BETWEEN 1 AND 128),
  visitor_id uuid NOT NULL REFERENCES visitors (id) ON DELETE CASCADE,
  left_at timestamptz,
  reply_token text,
  reply_token_at timestamptz,
  profile_due_at timestamptz,
  profile_attempts integer NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, channel, address)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS channel_people_visitor ON channel_people (visitor_id);
CREATE INDEX IF NOT EXISTS channel_people_profile ON channel_people (profile_due_at) WHERE profile_due_at IS NOT NULL;
COMMENT ON TABLE channel_people IS 'A person on a channel.';
COMMENT ON COLUMN channel_people.left_at IS 'The person has blocked the account; NULL: messages reach the person.';
COMMENT ON COLUMN channel_people.reply_token IS 'Answers the last event without using up the quota, once and for a short time.';
COMMENT ON COLUMN channel_people.profile_due_at IS 'When name and picture are to be fetched; NULL: not at all.';

CREATE TABLE IF NOT EXISTS channel_conversations (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  channel text NOT NULL CHECK (channel ~ '^[a-z][a-z0-9_-]{0,31}$'),
  address text NOT NULL CHECK (length(address) BETWEEN 1 AND 128),
  is_imported boolean NOT NULL DEFAULT false,
  is_watched boolean NOT NULL DEFAULT true,
  noted_seq bigint NOT NULL,
  done_seq bigint NOT NULL,
  due_at timestamptz,
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  tried_at timestamptz,
  reply_token text,
  reply_token_at timestamptz,
  last_error text,
  PRIMARY KEY (workspace_id, session_id),
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS channel_conversations_address ON channel_conversations (workspace_id, channel, address);
CREATE INDEX IF NOT EXISTS channel_conversations_due ON channel_conversations (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS channel_conversations_watched ON channel_conversations (workspace_id, session_id)
  WHERE is_watched;
COMMENT ON TABLE channel_conversations IS 'A conversation with a person on a channel, and how far its log was sent.';
COMMENT ON COLUMN channel_conversations.is_imported IS 'The person has not written since the import.';
COMMENT ON COLUMN channel_conversations.is_watched IS
  'New messages are looked for every second; otherwise, after the conversation was closed, once a minute.';
COMMENT ON COLUMN channel_conversations.noted_seq IS 'The last entry of the log that was seen.';
COMMENT ON COLUMN channel_conversations.done_seq IS 'All messages up to this entry are sent, or have failed.';
COMMENT ON COLUMN channel_conversations.due_at IS
  'When to send the next message; while one is being sent, when another gateway may take over. NULL: there is none.';
COMMENT ON COLUMN channel_conversations.attempts IS 'Attempts to send the next message.';
COMMENT ON COLUMN channel_conversations.tried_at IS 'When the first of them was.';
COMMENT ON COLUMN channel_conversations.reply_token IS 'The token with which the next message is sent; NULL: without one.';
COMMENT ON COLUMN channel_conversations.last_error IS 'Why the last attempt failed.';

CREATE TABLE IF NOT EXISTS channel_deliveries (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  seq bigint NOT NULL,
  message_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('sent', 'failed')),
  reason text,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, session_id, seq),
  FOREIGN KEY (workspace_id, session_id) REFERENCES channel_conversations (workspace_id, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE channel_deliveries IS 'What became of the messages that were to be sent on a channel.';
COMMENT ON COLUMN channel_deliveries.reason IS 'Why it has failed, as the platform says.';

-- Imported conversations go on: what was imported is not sent.
INSERT INTO channel_conversations
  (workspace_id, session_id, channel, address, is_imported, is_watched, noted_seq, done_seq)
SELECT s.workspace_id, s.id, 'line', v.external_id, true, s.status <> 'closed', s.last_seq, s.last_seq
FROM chat_sessions s JOIN visitors v ON v.workspace_id = s.workspace_id AND v.id = coalesce(s.merged_from, s.user_id)
WHERE s.channel = 'line' AND length(v.external_id) BETWEEN 1 AND 128
ON CONFLICT DO NOTHING;

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('channel_events', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('channel_people', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('channel_conversations', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('channel_deliveries', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down
-- locks: workspaces, chat_sessions, visitors

DROP TABLE IF EXISTS channel_deliveries, channel_conversations, channel_people, channel_events;
