-- expect: chats.id
-- Ids that are numbers.
ALTER TABLE chats DROP COLUMN id;
ALTER TABLE chats ADD COLUMN id bigserial PRIMARY KEY;
