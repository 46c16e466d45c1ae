-- Operators may have the texts of messages in their push messages, on each device by its own choice.
-- parent: 20270420_automatic_answers
-- compatible: 20261229_gateways
-- locks: push_subscriptions IN ACCESS EXCLUSIVE MODE
-- loses: who has chosen it

ALTER TABLE push_subscriptions ADD COLUMN IF NOT EXISTS texts boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN push_subscriptions.texts IS 'Whether push messages have the text of the visitor''s message.';

-- down
-- locks: push_subscriptions IN ACCESS EXCLUSIVE MODE

ALTER TABLE push_subscriptions DROP COLUMN IF EXISTS texts;
