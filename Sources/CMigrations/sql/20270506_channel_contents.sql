-- Contents of messages of channels, such as pictures: which ones are to be fetched, and what became of them. And messages
-- that were refused, and are to be sent again.
-- parent: 20270505_mail_replies
-- compatible: 20261229_gateways
-- locks: channel_events, channel_deliveries IN ACCESS EXCLUSIVE MODE
-- loses: which pictures are still to be fetched, and which messages were to be sent again
--
-- A row is made in the statement that stores its event, and goes with the event, or once the message is in the log.

CREATE TABLE IF NOT EXISTS channel_contents (
  workspace_id uuid NOT NULL,
  channel text NOT NULL,
  event_id text NOT NULL,
  seq bigint NOT NULL,
  address text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'stored', 'omitted', 'missing')),
  due_at timestamptz NOT NULL DEFAULT now(),
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  file_id uuid,
  name text,
  reason text,
  PRIMARY KEY (workspace_id, channel, event_id),
  FOREIGN KEY (workspace_id, channel, event_id) REFERENCES channel_events (workspace_id, channel, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS channel_contents_due ON channel_contents (due_at) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS channel_contents_person ON channel_contents (workspace_id, channel, address, seq);
COMMENT ON TABLE channel_contents IS
  'The content of a message that a platform keeps. Later messages of the person wait while it is waiting.';
COMMENT ON COLUMN channel_contents.seq IS 'That of the event.';
COMMENT ON COLUMN channel_contents.state IS
  'waiting: to be fetched; stored: an attachment; omitted: the rules refuse it; missing: it cannot be fetched.';
COMMENT ON COLUMN channel_contents.due_at IS
  'When to fetch it; while a gateway does, when another one may take over.';
COMMENT ON COLUMN channel_contents.file_id IS 'The attachment, which is bound to the message with its way into the log.';
COMMENT ON COLUMN channel_contents.reason IS 'Why it is missing, or why the last attempt failed.';

ALTER TABLE channel_deliveries ADD COLUMN IF NOT EXISTS again_at timestamptz;
CREATE INDEX IF NOT EXISTS channel_deliveries_again ON channel_deliveries (workspace_id, session_id, seq)
  WHERE again_at IS NOT NULL;
COMMENT ON COLUMN channel_deliveries.again_at IS 'When a member wanted it to be sent again; NULL: it is not to be.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('channel_contents', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down
-- locks: channel_events, channel_deliveries IN ACCESS EXCLUSIVE MODE

DROP INDEX IF EXISTS channel_deliveries_again;
ALTER TABLE channel_deliveries DROP COLUMN IF EXISTS again_at;
DROP TABLE IF EXISTS channel_contents;
