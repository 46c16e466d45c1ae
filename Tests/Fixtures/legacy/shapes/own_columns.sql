-- expect: chats.seq
-- The owner's own columns kind and seq, with values of the application's.
ALTER TABLE chats ADD COLUMN kind text, ADD COLUMN seq bigint;
UPDATE chats SET kind = 'prompt', seq = 7;
