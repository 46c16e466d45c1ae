-- Channels whose platforms take a message in several requests, and recognise none that is repeated.
-- parent: 20270506_channel_contents
-- compatible: 20261229_gateways
-- locks: channel_conversations, channel_deliveries
-- loses: which messages may have been sent although no answer came
--
-- Older gateways know no such platform: they write neither parts_done nor the status unknown.

ALTER TABLE channel_conversations ADD COLUMN IF NOT EXISTS parts_done integer NOT NULL DEFAULT 0
  CHECK (parts_done >= 0);
COMMENT ON COLUMN channel_conversations.parts_done IS 'The requests of the next message that the platform has taken.';
ALTER TABLE channel_deliveries ADD COLUMN IF NOT EXISTS parts_done integer NOT NULL DEFAULT 0
  CHECK (parts_done >= 0);
COMMENT ON COLUMN channel_deliveries.parts_done IS
  'The requests of a message that has failed which the platform had taken: sent again, it goes on with the next.';

ALTER TABLE channel_deliveries DROP CONSTRAINT IF EXISTS channel_deliveries_status_check,
  ADD CONSTRAINT channel_deliveries_status_check CHECK (status IN ('sent', 'failed', 'unknown'));
COMMENT ON COLUMN channel_deliveries.status IS 'unknown: the platform may have it, but its answer is missing.';

-- down
-- locks: channel_conversations, channel_deliveries

UPDATE channel_deliveries SET status = 'failed' WHERE status = 'unknown';
ALTER TABLE channel_deliveries DROP CONSTRAINT IF EXISTS channel_deliveries_status_check,
  ADD CONSTRAINT channel_deliveries_status_check CHECK (status IN ('sent', 'failed'));
COMMENT ON COLUMN channel_deliveries.status IS NULL;
ALTER TABLE channel_deliveries DROP COLUMN IF EXISTS parts_done;
ALTER TABLE channel_conversations DROP COLUMN IF EXISTS parts_done;
